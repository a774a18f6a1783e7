"""How to reproduce the results: command, versions, digests."""

from __future__ import annotations

from fivefold.study.formatting import format_count
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Block, Code, Paragraph, Section, TableBlock, text_cells


def reproduction_section(results: Results) -> Section:
    """How to reproduce the results."""
    rows = tuple(text_cells((name, text)) for name, text in results.environment.items())
    digest = results.plan.data.digest
    known = [
        *rows,
        text_cells(("plan", results.plan.digest[:16])),
        *([text_cells(("data, SHA-256", digest[:16]))] if digest else []),
    ]
    time = sum(float(session.get("seconds", 0.0)) for session in results.sessions)
    blocks: list[Block] = [Paragraph("The same data, command and versions give the same results, except for times.")]
    if results.command:
        blocks.append(Code(results.command))
    if time:
        jobs = max(int(session.get("jobs", 1)) for session in results.sessions)
        blocks.append(Paragraph(f"The folds took {time:.0f} s with {format_count(jobs, 'worker')}."))
    blocks.append(TableBlock("Environment", ("what", "version"), tuple(known)))
    return Section("reproduce", "How to reproduce it", tuple(blocks), folded=True, summary="command and versions")

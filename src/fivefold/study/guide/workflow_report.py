"""The report of a workflow in Markdown: a section per phase, and the earlier rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fivefold.study.formatting import escape_markdown
from fivefold.study.guide.workflow import PHASE_TITLES, PHASES, Phase, Workflow

PhaseOutcome = Mapping[str, Any]


def render_report(work: Workflow) -> str:
    """The whole report."""
    parts = [f"# {_one_line(work.problem.task)}"]
    for i, phase in enumerate(PHASES, 1):
        done = work.outcomes.get(phase)
        parts.append(f"## {i} {PHASE_TITLES[phase]}")
        parts.append("Not done yet." if done is None else PHASE_WRITERS[phase](done))
    if work.rounds:
        parts.append("## Earlier rounds")
        parts.append("\n".join(_round_line(finished) for finished in work.rounds))
    return "\n\n".join(parts) + "\n"


def _task(done: PhaseOutcome) -> str:
    return "\n".join(f"- {_one_line(line)}" for line in done["card"])


def _data(done: PhaseOutcome) -> str:
    kinds = list(done["columns"].values())
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    lines = [
        f"{_one_line(done['name'])}: {done['rows']:,} rows, {len(kinds)} columns ({counts}); {done['problem']}.",
        f"{done['test_rows']:,} rows are locked away for the evaluation; no phase before it sees them.",
    ]
    if done["classes"]:
        lines.append(
            "Rows of each class: " + ", ".join(f"{_one_line(k)} {n:,}" for k, n in done["classes"].items()) + "."
        )
    if done["missing"]:
        lines.append("Missing values: " + ", ".join(f"{_one_line(k)} {n:,}" for k, n in done["missing"].items()) + ".")
    return "\n".join([*lines, *(f"- {_one_line(note)}" for note in done["notes"])])


def _features(done: PhaseOutcome) -> str:
    lines = [f"{done['count']} features: {_one_line(', '.join(done['names']))}."]
    lines += [f"- added {_one_line(name)} = {_one_line(how)}" for name, how in done["add"].items()]
    lines += [f"- dropped {_one_line(name)}" for name in done["drop"]]
    return "\n".join([*lines, *(f"- warning: {_one_line(text)}" for text in done["warnings"])])


def _models(done: PhaseOutcome) -> str:
    lines = [f"Learners: {', '.join(done['learners'])}."]
    lines += [f"- {name} is left out: {_one_line(why)}" for name, why in done["left_out"].items()]
    return "\n".join([*lines, "", *(f"    {_one_line(line)}" for line in done["advice"])])


def _training(done: PhaseOutcome) -> str:
    lines = [
        f"Nested cross-validation, {done['splits']} splits of the rows outside the test set; p-values are those of the "
        "difference from the best, corrected for overlapping training rows and the number of "
        f"learners.\n\n{_leaderboard(done['leaderboard'], done['score'])}"
    ]
    for title, key in (("Practically equal to the best", "equal"), ("Undecided", "undecided")):
        if done.get(key):
            lines.append(f"{title}: {', '.join(done[key])}.")
    lines += [f"{name} failed: {_one_line(str(why))}." for name, why in done["failed"].items()]
    return "\n\n".join([*lines, *_weakness_lines(done)])


def _evaluation(done: PhaseOutcome) -> str:
    scores = ", ".join(f"{name} {value:.4g}" for name, value in done["scores"].items())
    lines = [
        f"{done['learner']}, fitted on all other rows, on {done['rows']:,} test rows that no choice was based on: "
        f"{scores}.",
        f"Its validation score was {done['validation']:.4g}.",
    ]
    if done["per_class"]:
        found = ", ".join(f"{_one_line(k)} {v:.0%}" for k, v in done["per_class"].items())
        lines.append(f"Recall of each class: {found}.")
    return "\n\n".join([*lines, *_weakness_lines(done)])


PHASE_WRITERS: dict[Phase, Callable[[PhaseOutcome], str]] = {
    "task": _task,
    "data": _data,
    "features": _features,
    "models": _models,
    "training": _training,
    "evaluation": _evaluation,
}


def _leaderboard(rows: list[PhaseOutcome], score: str) -> str:
    lines = [f"| learner | {score} | interval | on training rows | p |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['learner']}{' (baseline)' if row['baseline'] else ''} | {row['mean']:.4g} | {row['low']:.4g} to "
        f"{row['high']:.4g} | {row['training']:.4g} | {row['p_value']:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)


def _weakness_lines(done: PhaseOutcome) -> list[str]:
    return [f"Go back to {PHASE_TITLES[w['phase']].lower()}: {_one_line(w['why'])}." for w in done["weaknesses"]]


def _round_line(finished: PhaseOutcome) -> str:
    result = "" if finished["best"] is None else f"{finished['best']} had {finished['validation']:.4g}; "
    why = f": {_one_line(finished['why'])}" if finished["why"] else ""
    return (
        f"- round {finished['round']}, {finished['features']} features: {result}revised "
        f"{PHASE_TITLES[finished['revised']].lower()}{why}"
    )


def _one_line(text: str) -> str:
    """Text without line breaks or control characters, in which no character is taken for markup."""
    return escape_markdown("".join(c if c.isprintable() else " " for c in str(text)))

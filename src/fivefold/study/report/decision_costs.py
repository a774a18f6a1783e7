"""What decisions cost: the cost matrix, and the decisions of the winner on unseen rows; empty without costs."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_count, format_number
from fivefold.study.judging.cost_summary import DecisionCosts, cost_sentences, decision_costs
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Cell, Paragraph, Section, TableBlock


def costs_section(results: Results) -> Section:
    """The costs of decisions, if the study has a cost matrix."""
    found = decision_costs(results)
    if found is None:
        return Section("costs", "What the decisions cost", ())
    rule = (
        "For every row the decision of least expected cost is taken: the costs of each decision, weighted by the "
        "probabilities of the classes. Learners are ranked and tuned by the mean cost of these decisions."
    )
    blocks = (Paragraph(" ".join([rule, *cost_sentences(results)])), _matrix_table(found), _decision_table(found))
    return Section("costs", "What the decisions cost", blocks)


def _matrix_table(found: DecisionCosts) -> TableBlock:
    losses, matrix = found.matrix.losses, found.matrix
    rows = tuple(
        (Cell(name), *(Cell(f"{losses[a, k]:g}", float(losses[a, k])) for a in range(len(losses))))
        for k, name in enumerate(matrix.classes)
    )
    header = ("true class", *(_decision_name(name) for name in matrix.decisions))
    return TableBlock("What each decision costs, by true class", header, rows, name="costs")


def _decision_table(found: DecisionCosts) -> TableBlock:
    """Counts of decisions by true class, and what the rows of the class cost."""
    matrix, losses = found.matrix, found.matrix.losses
    rows = []
    for k, name in enumerate(matrix.classes):
        counts = found.counts[k]
        mean = float(counts @ losses[:, k] / max(1, counts.sum()))
        shares = [Cell(f"{n:,.0f} ({n / max(1, counts.sum()):.0%})", float(n)) for n in counts]
        rows.append((Cell(name), *shares, Cell(format_number(mean, decimals_for(mean)), mean)))
    total = format_count(int(found.counts.sum()), "decision")
    header = ("true class", *(_decision_name(name) for name in matrix.decisions), "mean cost")
    caption = f"Decisions of {found.learner} on unseen rows: {total} over all splits"
    return TableBlock(caption, header, tuple(rows), name="decisions")


def _decision_name(name: str) -> str:
    return name if name == "reject" else f"decide {name}"

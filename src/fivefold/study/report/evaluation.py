"""Phase 6: pairs of learners compared, the best ones examined, and the certificate of the saved model."""

from __future__ import annotations

import numpy as np

from fivefold.evaluation.protocols import Label
from fivefold.evaluation.thresholds import ChosenThreshold, Costs
from fivefold.study.formatting import (
    decimals_for,
    format_count,
    format_number,
    format_p_value,
    format_range,
    join_names,
)
from fivefold.study.judging.inspection import (
    MAX_SHUFFLED_COLUMNS,
    affordable_inspections,
    learning_curve,
    permutation_importances,
)
from fivefold.study.judging.results import Results
from fivefold.study.report import figures
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    Code,
    CollapsedBlocks,
    FigureRow,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
    text_cells,
)
from fivefold.study.report.figures import OutOfFoldPredictions
from fivefold.study.report.headline import FIT_VERDICTS, learner_fit

MAX_LEARNERS_SHOWN = 3  # learners with figures of their own
MAX_ROWS_LISTED = 8  # rows with the largest errors
COST_RATIOS = (Costs(1, 1), Costs(1, 5), Costs(1, 20), Costs(5, 1), Costs(20, 1))


def evaluation_section(results: Results) -> Section:
    """Significance, curves, errors, certificate, and what to look at next."""
    blocks: list[Block] = []
    if results.judged:
        blocks += [*_pair_blocks(results), *_best_learners(results), *_inspection_blocks(results)]
    blocks += [*_certificate(results), *_next_steps(results)]
    return Section("evaluation", "6 · Evaluation", tuple(blocks))


def _pair_blocks(results: Results) -> list[Block]:
    if results.pairs is None:
        return [Paragraph("There is only one learner, so there is nothing to compare.")]
    score, pairs = results.score, results.pairs.pairs
    digits = decimals_for(results.judged[0].estimates[score.name].mean)
    rows = tuple(
        (
            Cell(pair.a),
            Cell(pair.b),
            Cell(format_number(pair.comparison.estimate, digits), pair.comparison.estimate),
            Cell(format_range(*pair.comparison.interval, digits)),
            Cell(format_p_value(pair.comparison.p_value), pair.comparison.p_value),
            Cell(format_p_value(pair.adjusted_p), pair.adjusted_p, "best" if pair.rejected else ""),
            Cell(f"{pair.equivalence.within:.0%}", pair.equivalence.within),
            Cell("differ" if pair.rejected else "no significant difference", None, "" if pair.rejected else "soft"),
        )
        for pair in pairs
    )
    header = ("A", "B", f"A - B, {score.title}", "95 % interval", "p", "p, Holm", "P(same)", "verdict")
    table = TableBlock(f"All pairs of learners, by {score.title}", header, rows, name="pairs")
    explanation = (
        "The corrected resampled t-test allows for the training rows that splits share, and Holm's adjustment for the "
        "number of pairs. P(same) is the probability that the two differ by less than "
        f"{pairs[0].equivalence.rope:.3g}, too little to matter in practice."
    )
    assumed = CollapsedBlocks("What the test assumes", (BulletList(results.pairs.assumptions),))
    many = len(pairs) > 15
    shown: Block = CollapsedBlocks(f"All {len(pairs)} pairs", (table,)) if many else table
    return [SubHeading("Which differences are real?"), Paragraph(explanation), shown, assumed]


def _best_learners(results: Results) -> list[Block]:
    """The winner and the next best learners, on rows that their models had not seen."""
    first, *rest = results.judged
    chosen = [first, *(j for j in rest if not j.outcome.learner.baseline)][:MAX_LEARNERS_SHOWN]
    best = [OutOfFoldPredictions.of(judged, results.plan) for judged in chosen]
    said = Paragraph(
        f"{join_names([one.name for one in best])}: every figure shows predictions for unseen rows, from all folds "
        "of the first repeat."
    )
    parts = _regression_blocks(best, results) if results.plan.classes is None else _class_blocks(best, results)
    return [SubHeading("The best learners in detail" if len(best) > 1 else "The best learner in detail"), said, *parts]


def _class_blocks(best: list[OutOfFoldPredictions], results: Results) -> list[Block]:
    classes = results.plan.classes
    assert classes is not None
    winner = best[0]
    blocks: list[Block] = []
    positive = None
    labels, sizes = np.unique(winner.y, return_counts=True)
    if len(labels) == 1:
        blocks.append(Paragraph(f"Every test row is of class {labels[0]}, so there is no ROC curve."))
    elif len(classes) == 2:
        positive = labels[int(np.argmin(sizes))]  # the rarer one
        cuts = [(costs, figures.best_threshold(winner, positive, costs)) for costs in COST_RATIOS]
        blocks += [
            SubHeading("ROC, precision and recall"),
            FigureRow(figures.roc_figures(best, positive, cuts[0][1])),
            _threshold_table(winner, positive, cuts),
            Paragraph(
                f"The mark on the curves of {winner.name} is the threshold of equal costs. Thresholds are chosen on "
                "the rows that they are tested on, so their costs are a little optimistic. To use one, compare it with "
                "the probability that fivefold predict writes."
            ),
        ]
    else:
        blocks += [SubHeading("ROC, precision and recall"), FigureRow(figures.class_roc_figures(winner))]
    blocks += [SubHeading("Confusion"), *_confusion_blocks(best, len(classes)), _common_mistakes(winner)]
    if winner.proba is not None:
        blocks += [SubHeading("Calibration"), FigureRow(figures.calibration_figures(best, positive))]
    return [*blocks, _worst_labels(winner, results)]


def _confusion_blocks(best: list[OutOfFoldPredictions], classes: int) -> list[Block]:
    """Small matrices side by side; if they are large, the winner's, with the others collapsed."""
    made = figures.confusion_figures(best)
    if classes <= figures.MAX_SMALL_MATRIX or not made:
        return [FigureRow(made)] if made else []
    first, *others = made
    return [first, *([CollapsedBlocks("Confusion matrices of the other learners", tuple(others))] if others else [])]


def _regression_blocks(best: list[OutOfFoldPredictions], results: Results) -> list[Block]:
    return [
        SubHeading("Predictions and residuals"),
        FigureRow(figures.regression_figures(best, results.plan.data.target)),
        _worst_numbers(best[0], results),
    ]


def _inspection_blocks(results: Results) -> list[Block]:
    """Which columns the winner uses, and whether more rows would help."""
    plan, best = results.plan, results.judged[0]
    if best.outcome.learner.baseline:
        return []
    for_columns, for_rows = affordable_inspections(plan, best)
    blocks: list[Block] = [SubHeading("Which columns matter?")]
    if for_columns:
        found = permutation_importances(plan, best)
        many = (
            f" The first {MAX_SHUFFLED_COLUMNS} columns were tried."
            if len(plan.data.columns) > MAX_SHUFFLED_COLUMNS
            else ""
        )
        said = (
            f"How much the {results.score.title} of {best.name} worsens on unseen rows when the values of a column are "
            "shuffled. Columns that carry the same information can replace one another, so each of them may look "
            "unimportant."
        )
        blocks += [Paragraph(said + many), figures.importance_figure(found, results.score.title)]
    else:
        blocks.append(Paragraph("Not computed: shuffling every column would take too long."))
    blocks.append(SubHeading("Would more rows help?"))
    curve = learning_curve(plan, best) if for_rows else None
    if curve is not None:
        blocks.append(figures.learning_figure(curve, best.name, results.score))
    else:
        why = "small parts of the rows cannot be learned from" if for_rows else "the fits would take too long"
        blocks.append(Paragraph(f"There is no learning curve: {why}."))
    return blocks


def _threshold_table(
    one: OutOfFoldPredictions, positive: Label, cuts: list[tuple[Costs, ChosenThreshold]]
) -> TableBlock:
    n = len(one.y)
    rows = tuple(
        (
            Cell(f"{costs.fn:g}\u00a0:\u00a0{costs.fp:g}"),
            Cell(format_number(cut.threshold, 3), cut.threshold),
            Cell(f"{float(cut.counts.recall):.1%}", float(cut.counts.recall)),
            Cell(f"{float(cut.counts.precision):.1%}", float(cut.counts.precision)),
            Cell(f"{cut.counts.fn:g}", float(cut.counts.fn)),
            Cell(f"{cut.counts.fp:g}", float(cut.counts.fp)),
            Cell(f"{-cut.value / n:.3f}", -cut.value / n),
        )
        for costs, cut in cuts
    )
    header = (
        "cost of a miss : a false alarm",
        "threshold",
        "recall",
        "precision",
        "missed",
        "false alarms",
        "cost per row",
    )
    return TableBlock(
        f"Thresholds for the probability of {positive}, by the costs of errors ({one.name})", header, rows
    )


def _common_mistakes(one: OutOfFoldPredictions) -> Block:
    """The pairs of classes that are confused most often."""
    wrong = one.predicted != one.y
    pairs, counts = np.unique(np.array([one.y[wrong], one.predicted[wrong]]).astype(str), axis=1, return_counts=True)
    if not len(counts):
        return Paragraph(f"{one.name} made no mistake.")
    order = np.argsort(-counts, kind="stable")[:3]
    said = [f"{pairs[0, i]} taken for {pairs[1, i]} ({format_count(int(counts[i]), 'time')})" for i in order]
    return Paragraph(f"Most frequent mistakes of {one.name}: {join_names(said)}.")


def _worst_labels(one: OutOfFoldPredictions, results: Results) -> Block:
    """The rows whose true class was given the least probability."""
    assert one.proba is not None and one.classes is not None
    given = one.proba[np.arange(len(one.y)), np.searchsorted(one.classes, one.y)]
    order = [i for i in np.argsort(given, kind="stable")[:MAX_ROWS_LISTED] if one.predicted[i] != one.y[i]]
    rows = tuple(
        (
            _row_number(results, one.rows[i]),
            Cell(str(one.y[i])),
            Cell(str(one.predicted[i])),
            Cell(format_number(given[i], 4), given[i]),
        )
        for i in order
    )
    if not rows:
        return Paragraph("No row was given a wrong class.")
    table = TableBlock(
        f"Largest mistakes of {one.name}", ("row", "true", "predicted", "probability of the true class"), rows
    )
    return CollapsedBlocks(
        "The rows with the largest errors", (table, Paragraph("Wrong labels and unusual rows are often among these."))
    )


def _worst_numbers(one: OutOfFoldPredictions, results: Results) -> Block:
    error = one.y - one.predicted
    digits = decimals_for(float(np.std(one.y)))
    rows = tuple(
        (
            _row_number(results, one.rows[i]),
            Cell(format_number(one.y[i], digits), float(one.y[i])),
            Cell(format_number(one.predicted[i], digits), float(one.predicted[i])),
            Cell(format_number(error[i], digits), float(error[i])),
        )
        for i in np.argsort(-np.abs(error), kind="stable")[:MAX_ROWS_LISTED]
    )
    table = TableBlock(f"Largest residuals of {one.name}", ("row", "true", "predicted", "residual"), rows)
    return CollapsedBlocks(
        "The rows with the largest errors", (table, Paragraph("Wrong values and unusual rows are often among these."))
    )


def _row_number(results: Results, row: int) -> Cell:
    """The line or number of a row in its source, from 1."""
    known = results.plan.data.rows
    return Cell(str(int(row) + 1 if known is None else int(known[row])))


def _certificate(results: Results) -> list[Block]:
    """What is certain about the saved model on new rows."""
    title, found = SubHeading("Certificate"), results.holdout
    if not len(results.plan.holdout):
        return [
            title,
            Paragraph(
                "There is no certificate, because no rows were held out. With --holdout 0.2 a fifth of the rows is "
                "locked away and opened once, to judge the model that is saved."
            ),
        ]
    if found is None:
        return [title, Paragraph("There is no certificate yet: the hold-out has not been opened.")]
    scores = {score.name: score.title for score in results.plan.scores}
    judged = tuple(
        (Cell(scores.get(name, name)), Cell(format_number(v, decimals_for(v)), v)) for name, v in found.scores.items()
    )
    table = TableBlock(
        f"{found.learner} on the hold-out of {format_count(found.rows, 'row')}", ("score", "value"), judged
    )
    if found.certificate is None:
        why = "Regression errors have no bound, so there is no certificate. Scores on rows that no choice was based on:"
        return [title, Paragraph(why), table]
    known = found.certificate
    said = (
        f"The saved model, {found.learner} fitted on all rows outside the hold-out, is wrong on less than "
        f"{known.bound:.2%} of new rows, with probability {1 - known.delta:.0%}. On the {format_count(known.n, 'row')} "
        f"held out it was wrong on {known.risk:.2%}."
    )
    parts = tuple((Cell(name), Cell(f"{value:.2%}", value)) for name, value in known.parts.items())
    bounds = TableBlock(
        f"Upper bounds of the error rate, each with probability {1 - known.delta:.0%}", ("bound", "error below"), parts
    )
    assumed = CollapsedBlocks("What the certificate assumes", (BulletList(known.assumptions),))
    return [title, Paragraph(said), bounds, table, assumed]


def _next_steps(results: Results) -> list[Block]:
    """Weaknesses that earlier phases can remedy."""
    found = list(results.plan.warnings)
    over, under = ([j.name for j in results.judged if learner_fit(results, j) == which] for which in ("over", "under"))
    if over:
        found.append(
            f"{join_names(over)} {FIT_VERDICTS['over'] if len(over) == 1 else 'overfit'}: more rows, fewer columns or "
            "stronger regularisation may help."
        )
    if under:
        found.append(
            f"{join_names(under)} {FIT_VERDICTS['under'] if len(under) == 1 else 'underfit'}: the model is too simple, "
            "or the columns say little about the target."
        )
    if results.failed:
        found.append(f"{format_count(len(results.failed), 'learner')} did not finish; see Training for the reasons.")
    return [SubHeading("What to look at next"), BulletList(tuple(found))] if found else []


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
    return Section("reproduce", "How to reproduce it", tuple(blocks))

"""Phase 6: pairs of learners compared, the best ones looked at closely, what is certain of the one that is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.evaluation.thresholds import Costs, Threshold
from fivefold.study.inspection import COLUMNS, affordable, importances, learning_curve
from fivefold.study.report import drawings
from fivefold.study.report.blocks import Block, Cell, Code, Figures, Folded, Points, Section, Table, Text, Title, cells
from fivefold.study.report.drawings import Unseen
from fivefold.study.report.headline import READING, fit_of
from fivefold.study.report.words import between, both, count, decimals, number, p
from fivefold.study.results import Results

BEST = 3  # learners that are looked at closely
WORST = 8  # rows that are listed
COSTS = (Costs(1, 1), Costs(1, 5), Costs(1, 20), Costs(5, 1), Costs(20, 1))


def evaluated(results: Results) -> Section:
    """Significance, curves, errors, certificate, and what to look at next."""
    blocks: list[Block] = []
    if results.judged:
        blocks += [*_pairs(results), *_closely(results), *_inside(results)]
    blocks += [*_certificate(results), *_next(results)]
    return Section("evaluation", "6 · Evaluation", tuple(blocks))


def _pairs(results: Results) -> list[Block]:
    if results.pairs is None:
        return [Text("There is one learner only: nothing to compare.")]
    score, pairs = results.score, results.pairs.pairs
    digits = decimals(results.judged[0].estimates[score.name].mean)
    rows = tuple(
        (
            Cell(pair.a),
            Cell(pair.b),
            Cell(number(pair.comparison.estimate, digits), pair.comparison.estimate),
            Cell(between(*pair.comparison.interval, digits)),
            Cell(p(pair.comparison.p_value), pair.comparison.p_value),
            Cell(p(pair.adjusted_p), pair.adjusted_p, "best" if pair.rejected else ""),
            Cell(f"{pair.equivalence.within:.0%}", pair.equivalence.within),
            Cell("differ" if pair.rejected else "not told apart", None, "" if pair.rejected else "soft"),
        )
        for pair in pairs
    )
    header = ("A", "B", f"A - B, {score.title}", "95 % interval", "p", "p, Holm", "P(same)", "verdict")
    table = Table(f"All pairs of learners, by {score.title}", header, rows, name="pairs")
    said = (
        "The corrected resampled t allows for training rows that splits share, Holm's adjustment for how many pairs "
        "there are. P(same) is the probability that the two differ by less than "
        f"{pairs[0].equivalence.rope:.3g}, too little to matter in practice."
    )
    assumed = Folded("What the test assumes", (Points(results.pairs.assumptions),))
    many = len(pairs) > 15
    shown: Block = Folded(f"All {len(pairs)} pairs", (table,)) if many else table
    return [Title("Which differences are real?"), Text(said), shown, assumed]


def _closely(results: Results) -> list[Block]:
    """The winner and the best others, on rows that their models had not seen."""
    first, *rest = results.judged
    chosen = [first, *(j for j in rest if not j.outcome.learner.baseline)][:BEST]
    best = [Unseen.of(judged, results.plan) for judged in chosen]
    said = Text(
        f"{both([one.name for one in best])}: every figure shows predictions for rows that training did not see, the "
        "folds of the first repeat together."
    )
    parts = _of_numbers(best, results) if results.plan.classes is None else _of_classes(best, results)
    return [Title("The best learners, closely" if len(best) > 1 else "The best learner, closely"), said, *parts]


def _of_classes(best: list[Unseen], results: Results) -> list[Block]:
    classes = results.plan.classes
    assert classes is not None
    winner = best[0]
    blocks: list[Block] = []
    positive = None
    labels, sizes = np.unique(winner.y, return_counts=True)
    if len(labels) == 1:
        blocks.append(Text(f"All rows that judge are of class {labels[0]}: there is no ROC curve."))
    elif len(classes) == 2:
        positive = labels[int(np.argmin(sizes))]  # the rarer one
        cuts = [(costs, drawings.cut_of(winner, positive, costs)) for costs in COSTS]
        blocks += [
            Title("ROC, precision and recall"),
            Figures(drawings.rocs(best, positive, cuts[0][1])),
            _thresholds(winner, positive, cuts),
            Text(
                f"The mark on the curves of {winner.name} is the threshold of equal costs. Thresholds are chosen on "
                "the rows they are judged on, so their costs are a little optimistic. To use one, compare the "
                "probability that fivefold predict writes with it."
            ),
        ]
    else:
        blocks += [Title("ROC, precision and recall"), Figures(drawings.rocs_of_classes(winner))]
    blocks += [Title("Confusion"), *_matrices(best, len(classes)), _mistaken(winner)]
    if winner.proba is not None:
        blocks += [Title("Calibration"), Figures(drawings.calibrations(best, positive))]
    return [*blocks, _worst_labels(winner, results)]


def _matrices(best: list[Unseen], classes: int) -> list[Block]:
    """Small matrices side by side; of large ones that of the winner, and the others folded away."""
    made = drawings.confusions(best)
    if classes <= drawings.FEW or not made:
        return [Figures(made)] if made else []
    first, *others = made
    return [first, *([Folded("The same of the others", tuple(others))] if others else [])]


def _of_numbers(best: list[Unseen], results: Results) -> list[Block]:
    return [
        Title("Predictions and residuals"),
        Figures(drawings.fits(best, results.plan.data.target)),
        _worst_numbers(best[0], results),
    ]


def _inside(results: Results) -> list[Block]:
    """Which columns the winner uses, and what more rows would bring."""
    plan, best = results.plan, results.judged[0]
    if best.outcome.learner.baseline:
        return []
    for_columns, for_rows = affordable(plan, best)
    blocks: list[Block] = [Title("Which columns matter?")]
    if for_columns:
        found = importances(plan, best)
        many = f" The first {COLUMNS} columns were tried." if len(plan.data.columns) > COLUMNS else ""
        said = (
            f"By how much {results.score.title} of {best.name} worsens on unseen rows when the values of a column are "
            "shuffled. Columns that carry the same news stand in for one another, and each looks unimportant."
        )
        blocks += [Text(said + many), drawings.importance(found, results.score.title)]
    else:
        blocks.append(Text("Left out: shuffling every column would take too long."))
    blocks.append(Title("Would more rows help?"))
    curve = learning_curve(plan, best) if for_rows else None
    if curve is not None:
        blocks.append(drawings.learning(curve, best.name, results.score))
    else:
        why = "a small part of the rows cannot be learned from" if for_rows else "learning again would take too long"
        blocks.append(Text(f"No learning curve: {why}."))
    return blocks


def _thresholds(one: Unseen, positive: Any, cuts: list[tuple[Costs, Threshold]]) -> Table:
    n = len(one.y)
    rows = tuple(
        (
            Cell(f"{costs.fn:g}\u00a0:\u00a0{costs.fp:g}"),
            Cell(number(cut.threshold, 3), cut.threshold),
            Cell(f"{float(cut.counts.recall):.1%}", float(cut.counts.recall)),
            Cell(f"{float(cut.counts.precision):.1%}", float(cut.counts.precision)),
            Cell(f"{cut.counts.fn:g}", cut.counts.fn),
            Cell(f"{cut.counts.fp:g}", cut.counts.fp),
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
        "cost a row",
    )
    return Table(f"Where to cut the probability of {positive}, by what errors cost ({one.name})", header, rows)


def _mistaken(one: Unseen) -> Block:
    """The pairs of classes that are mixed up most often."""
    wrong = one.predicted != one.y
    pairs, counts = np.unique(np.array([one.y[wrong], one.predicted[wrong]]).astype(str), axis=1, return_counts=True)
    if not len(counts):
        return Text(f"{one.name} made no mistake.")
    order = np.argsort(-counts, kind="stable")[:3]
    said = [f"{pairs[0, i]} taken for {pairs[1, i]} ({count(int(counts[i]), 'time')})" for i in order]
    return Text(f"Most often {one.name} errs by {both(said)}.")


def _worst_labels(one: Unseen, results: Results) -> Block:
    """Rows whose true class was given the least probability."""
    assert one.proba is not None and one.classes is not None
    given = one.proba[np.arange(len(one.y)), np.searchsorted(one.classes, one.y)]
    order = [i for i in np.argsort(given, kind="stable")[:WORST] if one.predicted[i] != one.y[i]]
    rows = tuple(
        (
            _line(results, one.rows[i]),
            Cell(str(one.y[i])),
            Cell(str(one.predicted[i])),
            Cell(number(given[i], 4), given[i]),
        )
        for i in order
    )
    if not rows:
        return Text("No row was given a wrong class.")
    table = Table(f"Rows that surprise {one.name} most", ("row", "true", "predicted", "probability of the true"), rows)
    return Folded(
        "The rows it gets most wrong", (table, Text("Wrong labels and odd rows are often found among these."))
    )


def _worst_numbers(one: Unseen, results: Results) -> Block:
    error = one.y - one.predicted
    digits = decimals(float(np.std(one.y)))
    rows = tuple(
        (
            _line(results, one.rows[i]),
            Cell(number(one.y[i], digits), float(one.y[i])),
            Cell(number(one.predicted[i], digits), float(one.predicted[i])),
            Cell(number(error[i], digits), float(error[i])),
        )
        for i in np.argsort(-np.abs(error), kind="stable")[:WORST]
    )
    table = Table(f"Largest residuals of {one.name}", ("row", "true", "predicted", "residual"), rows)
    return Folded(
        "The rows it gets most wrong", (table, Text("Wrong values and odd rows are often found among these."))
    )


def _line(results: Results, row: int) -> Cell:
    """Where a row stands in the source, from 1."""
    known = results.plan.data.rows
    return Cell(str(int(row) + 1 if known is None else int(known[row])))


def _certificate(results: Results) -> list[Block]:
    """What holds for the saved model on new rows."""
    title, found = Title("Certificate"), results.holdout
    if not len(results.plan.holdout):
        return [
            title,
            Text(
                "There is no certificate: no rows were held out. With --holdout 0.2 a fifth of the rows is locked away "
                "and opened once, for the model that is kept."
            ),
        ]
    if found is None:
        return [title, Text("There is no certificate yet: the hold-out has not been opened.")]
    scores = {score.name: score.title for score in results.plan.scores}
    judged = tuple((Cell(scores.get(name, name)), Cell(number(v, decimals(v)), v)) for name, v in found.scores.items())
    table = Table(f"{found.learner} on the hold-out of {count(found.rows, 'row')}", ("score", "value"), judged)
    if found.certificate is None:
        why = "Errors of numbers have no limit: there is no certificate. The scores on rows that nothing was chosen on:"
        return [title, Text(why), table]
    known = found.certificate
    said = (
        f"The saved model, {found.learner} fitted on all rows outside the hold-out, is wrong on less than "
        f"{known.bound:.2%} of new rows, with probability {1 - known.delta:.0%}. On the {count(known.n, 'row')} held "
        f"out it was wrong on {known.risk:.2%}."
    )
    parts = tuple((Cell(name), Cell(f"{value:.2%}", value)) for name, value in known.parts.items())
    bounds = Table(
        f"Upper limits of the error, each with probability {1 - known.delta:.0%}", ("bound", "error below"), parts
    )
    assumed = Folded("What the certificate assumes", (Points(known.assumptions),))
    return [title, Text(said), bounds, table, assumed]


def _next(results: Results) -> list[Block]:
    """Weaknesses that earlier phases can mend."""
    found = list(results.plan.warnings)
    over, under = ([j.name for j in results.judged if fit_of(results, j) == which] for which in ("over", "under"))
    if over:
        found.append(
            f"{both(over)} {READING['over'] if len(over) == 1 else 'overfit'}: more rows, fewer columns or stronger "
            "regularisation may help."
        )
    if under:
        found.append(
            f"{both(under)} {READING['under'] if len(under) == 1 else 'underfit'}: the model class is too simple, or "
            "the columns say little about the target."
        )
    if results.failed:
        found.append(f"{count(len(results.failed), 'learner')} did not finish; the reasons stand under training.")
    return [Title("What to look at next"), Points(tuple(found))] if found else []


def closing(results: Results) -> Section:
    """How to do it again."""
    rows = tuple(cells((name, text)) for name, text in results.environment.items())
    digest = results.plan.data.digest
    known = [
        *rows,
        cells(("plan", results.plan.digest[:16])),
        *([cells(("data, SHA-256", digest[:16]))] if digest else []),
    ]
    time = sum(float(session.get("seconds", 0.0)) for session in results.sessions)
    blocks: list[Block] = [Text("The same data, command and versions give the same table, times apart.")]
    if results.command:
        blocks.append(Code(results.command))
    if time:
        jobs = max(int(session.get("jobs", 1)) for session in results.sessions)
        blocks.append(Text(f"The folds took {time:.0f} s with {count(jobs, 'worker')}."))
    blocks.append(Table("Environment", ("what", "version"), tuple(known)))
    return Section("reproduce", "To do it again", tuple(blocks))

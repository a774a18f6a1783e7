"""A learner looked into, on rows it did not learn from: which columns it uses, and what more rows would bring.

    importance of a column    rise of the loss on test rows when the values of the column are shuffled among them
    learning curve            score on test rows after learning from a part of the training rows

The splits are those of the first repeat and the settings those chosen there; the column is shuffled before it is made
ready, so all that is derived from it goes with it. Columns that carry the same news stand in for one another: each may
look unimportant though together they are not.

Breiman (2001); Fisher, Rudin & Dominici (2019).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.evaluation.compare import Estimate, corrected_t
from fivefold.evaluation.curves import Curve
from fivefold.evaluation.scores import Answers, Score
from fivefold.study.fold import Fold, build
from fivefold.study.plan import Plan
from fivefold.study.prepare import USABLE
from fivefold.study.results import Judged
from fivefold.study.splits import Split, state_of, thinned

SHARES = (0.1, 0.2, 0.4, 0.7)  # of the training rows
SHUFFLES = 3
ROWS = 1_000  # test rows of a split that are shuffled, at most
COLUMNS = 60  # of a table, at most
PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Importance:
    """A column, and how much worse the learner does without its news."""

    column: str
    rise: Estimate  # of the loss


def affordable(plan: Plan, judged: Judged) -> tuple[bool, bool]:
    """Is there time for the importances, and for the learning curve? By what the folds took."""
    folds, width = plan.folds, min(COLUMNS, len(plan.data.columns))
    rows = min(1.0, ROWS / max(1, len(plan.splits[0].test)))
    shuffling = folds * (judged.fit_seconds + width * SHUFFLES * judged.predict_seconds * rows)
    return shuffling <= PATIENCE, folds * judged.fit_seconds * sum(SHARES) <= PATIENCE


def importances(plan: Plan, judged: Judged) -> tuple[Importance, ...]:
    """Every column that can be used, or the first of many, the most important first."""
    names = [column.name for column in plan.data.columns if column.kind in USABLE][:COLUMNS]
    rises = np.array([_rises(plan, judged, split, fold, names) for split, fold in _first(plan, judged)])  # (folds, d)
    ratio = float(np.mean([len(split.test) / len(split.train) for split, _ in _first(plan, judged)]))
    found = [Importance(name, corrected_t(rises[:, j].tolist(), ratio)) for j, name in enumerate(names)]
    return tuple(sorted(found, key=lambda one: -one.rise.mean))


def learning_curve(plan: Plan, judged: Judged) -> Curve | None:
    """The deciding score over the size of the training set; None where too small a part cannot be learned from."""
    score, pairs = plan.scores[0], _first(plan, judged)
    parts = [_partial(plan, judged, pairs, share) for share in SHARES]
    done = [(share, part) for share, part in zip(SHARES, parts, strict=True) if part is not None]
    if len(done) < 2:
        return None
    n = float(np.mean([len(split.train) for split, _ in pairs]))
    whole = np.array([(fold.train_score[score.name], fold.scores[score.name]) for _, fold in pairs])  # (folds, 2)
    table = np.array([*(part for _, part in done), whole])  # (sizes, folds, 2)
    sizes = [round(share * n) for share, _ in done] + [round(n)]
    return Curve("training rows", np.array(sizes), table[:, :, 0], table[:, :, 1])


def _first(plan: Plan, judged: Judged) -> list[tuple[Split, Fold]]:
    """The splits of the first repeat with what came of them."""
    both = zip(plan.splits, judged.outcome.folds, strict=True)
    return [(split, fold) for split, fold in both if split.repeat == 0]


def _fitted(plan: Plan, judged: Judged, fold: Fold, rows: np.ndarray) -> Any:
    data, state = plan.coded(plan.data), state_of(plan.seed, fold.repeat, fold.fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were heard when the fold ran
        return build(data, judged.outcome.learner, fold.parameters, state).fit(data.X[rows], data.y[rows])


def _rises(plan: Plan, judged: Judged, split: Split, fold: Fold, names: Sequence[str]) -> list[float]:
    """Of each column: loss with its values shuffled, less the loss as it is; means over several shuffles."""
    score, y = plan.scores[0], plan.coded(plan.data).y
    rng = np.random.default_rng(state_of(plan.seed, split.repeat, split.fold))
    model = _fitted(plan, judged, fold, split.train)
    rows = split.test if len(split.test) <= ROWS else np.sort(rng.choice(split.test, ROWS, replace=False))
    X, orders = plan.data.X[rows], [rng.permutation(len(rows)) for _ in range(SHUFFLES)]
    least = _loss(score, model, X, y[rows])
    shuffled = [[X.with_columns(X[name][order]) for order in orders] for name in names]
    return [float(np.mean([_loss(score, model, Z, y[rows]) for Z in several])) - least for several in shuffled]


def _loss(score: Score, model: Any, X: Any, y: np.ndarray) -> float:
    return score.loss(score.judge(Answers(model, X), y))


def _partial(plan: Plan, judged: Judged, pairs: list[tuple[Split, Fold]], share: float) -> np.ndarray | None:
    """Scores on training and test rows, (folds, 2), after learning from a share of the training rows."""
    score, data, found = plan.scores[0], plan.coded(plan.data), []
    for split, fold in pairs:
        rows = thinned(data, split.train, share, state_of(plan.seed, fold.repeat, fold.fold))
        try:
            model = _fitted(plan, judged, fold, rows)
            found.append([score.judge(Answers(model, data.X[part]), data.y[part]) for part in (rows, split.test)])
        except Exception:  # too few rows for the method
            return None
    scores = np.array(found)
    return scores if np.isfinite(scores).all() else None

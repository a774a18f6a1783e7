"""Samples with a known true error for the bounds of capacity, margins, compression and stability.

Where the true error is 1/2, labels are fair coins, and learners do what makes the training error most misleading: they
choose the member of their family with the fewest errors, or the largest margins, on the rows.
"""

from dataclasses import dataclass

import numpy as np

from fivefold.theory.bounds import BOUNDS, Case
from fivefold.theory.capacity import compression, margin_bound, stability, vc_bounds  # noqa: F401  registers bounds
from fivefold.theory.capacity.compression import CompressionSet, compression_set
from fivefold.theory.capacity.margins import ScaledMargins, scaled_margins, vote_margins
from fivefold.theory.capacity.model_capacity import Capacity, capacity
from fivefold.theory.capacity.stability import answer_stability, leave_one_out_error, uniform_stability

DELTA = 0.05
CELLS = 30  # a table of answers, one per cell: 2^30 members
DIMENSIONS = 200  # of the linear classifier, as many as rows: it separates any labels, with a large margin
FLIPPED = 0.1  # share of labels that are not what x says


@dataclass(frozen=True)
class TableOfAnswers:
    """Any answer in any of the cells."""


@dataclass(frozen=True)
class MeanOfRows:
    """w = sum of y x, which has the largest margins on rows that are almost orthogonal."""

    w: np.ndarray


@dataclass(frozen=True)
class BestOfColumns:
    """A vote of columns of signs, each with the weight of its success on the rows."""

    weights: np.ndarray


@dataclass(frozen=True)
class ChosenRow:
    """Whatever one row says; that of the row whose answers have the fewest errors."""

    row: int


@dataclass(frozen=True)
class SignRidge:
    """Ridge with the kernel sign(x) sign(z): f(x) = c sign(x)."""

    c: float
    penalty: float


@dataclass(frozen=True)
class NearestOnLine:
    """The nearest of rows on a line, ascending."""

    x: np.ndarray
    y: np.ndarray


@capacity.register
def _(model: TableOfAnswers):
    return Capacity("tables", CELLS, lambda m: min(m, CELLS) * np.log(2))


@scaled_margins.register
def _(model: MeanOfRows, X, y):
    return ScaledMargins(y * (X @ model.w), float(np.sqrt(model.w @ model.w)), float(len(y)), True)


@vote_margins.register
def _(model: BestOfColumns, X, y):
    columns = X.shape[1]
    return y * (X @ model.weights), Capacity("columns and their opposites", 1, lambda m: np.log(2 * columns))


@compression_set.register
def _(model: ChosenRow):
    return CompressionSet(np.array([model.row]), np.array([[float(model.row)]]), "rows")


@scaled_margins.register
def _(model: SignRidge, X, y):
    return ScaledMargins(y * np.sign(X[:, 0]) * model.c, abs(model.c), float(len(y)), True)


@leave_one_out_error.register
def _(model: NearestOnLine):
    before, after = np.r_[np.inf, np.diff(model.x)], np.r_[np.diff(model.x), np.inf]
    others = np.arange(len(model.x)) + np.where(before < after, -1, 1)
    return 1, float(np.mean(model.y[others] != model.y))


@answer_stability.register
def _(model: SignRidge, n):
    return uniform_stability(2 * (1 + 1 / np.sqrt(model.penalty)), 1.0, model.penalty, n)


def bound(name, model, X, y, wrong):
    return BOUNDS[name](Case(model, X, y, np.asarray(wrong, dtype=float), "training"), DELTA).value


def table_of_answers(name, n):
    """The answer of each cell is that of most of its rows."""

    def trial(rng):
        cell, y = rng.integers(CELLS, size=n), rng.integers(2, size=n)
        ones = np.bincount(cell, y, CELLS)
        answer = 2 * ones > np.bincount(cell, minlength=CELLS)
        return bound(name, TableOfAnswers(), np.empty((n, 0)), y, answer[cell] != y), 0.5

    return trial


def linear(rng):
    n = DIMENSIONS
    X, y = rng.normal(size=(n, DIMENSIONS)), rng.choice([-1.0, 1.0], size=n)
    X /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    model = MeanOfRows(y @ X)
    return bound("margin", model, X, y, y * (X @ model.w) <= 0), 0.5


def vote(rng):
    n, columns = 200, 200
    X, y = 2.0 * rng.integers(2, size=(n, columns)) - 1.0, rng.choice([-1.0, 1.0], size=n)
    weights = y @ X
    model = BestOfColumns(weights / np.abs(weights).sum())
    return bound("margin of a vote", model, X, y, y * (X @ weights) <= 0), 0.5


def flipped(rng, n, columns=1):
    """Signs, the first of which is the label except where that is flipped."""
    X = 2.0 * rng.integers(2, size=(n, columns)) - 1.0
    return X, X[:, 0] * np.where(rng.random(n) < FLIPPED, -1.0, 1.0)


def line(rng):
    X, y = flipped(rng, 1000)
    model = MeanOfRows(y @ X)
    return bound("margin", model, X, y, y * (X @ model.w) <= 0), FLIPPED if model.w[0] > 0 else 1 - FLIPPED


def best_column(rng):
    X, y = flipped(rng, 1000, 4)
    best = int((y @ X).argmax())
    model = BestOfColumns(np.eye(4)[best])
    return bound("margin of a vote", model, X, y, y * X[:, best] <= 0), FLIPPED if best == 0 else 0.5


def chosen_row(rng):
    """Each row says something about the n - 1 others, right with probability 1/2: the best of n such rows."""
    n = 40
    right = rng.integers(2, size=(n, n))
    np.fill_diagonal(right, 1)
    best = int(right.sum(axis=1).argmax())
    X = np.arange(n, dtype=float)[:, None]
    return bound("sample compression", ChosenRow(best), X, np.zeros(n), right[best] == 0), 0.5


def neighbours(rng):
    """A label is 1 with a small probability, wherever x is; a row answers for its cell, up to halfway to the next."""
    n = 400
    x, y = np.sort(rng.random(n)), (rng.random(n) < FLIPPED).astype(int)
    widths = np.diff(np.concatenate([[0.0], (x[1:] + x[:-1]) / 2, [1.0]]))
    error = float(widths @ np.where(y == 1, 1 - FLIPPED, FLIPPED))
    return bound("leave-one-out, neighbours", NearestOnLine(x, y), x[:, None], y, np.zeros(n)), error


def ridge(rng):
    n, penalty = 4000, 4.0
    X, y = flipped(rng, n)
    model = SignRidge(float(y @ X[:, 0]) / (n * (1 + penalty)), penalty)
    error = FLIPPED if model.c > 0 else 1 - FLIPPED
    return bound("uniform stability", model, X, y, y * X[:, 0] * model.c <= 0), error


SIMULATIONS = {
    "VC, hypergeometric tail": table_of_answers("VC, hypergeometric tail", 100),
    "VC, growth function": table_of_answers("VC, growth function", 100),
    "margin": linear,
    "margin, of flipped labels": line,
    "margin of a vote": vote,
    "margin of a vote, of flipped labels": best_column,
    "sample compression": chosen_row,
    "leave-one-out, neighbours": neighbours,
    "uniform stability": ridge,
}

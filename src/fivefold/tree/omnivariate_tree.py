"""Omnivariate trees: each node asks the simplest kind of question that no other kind beats.

    univariate   x_j <= c                           the best cut of a single column
    linear       w'x <= c                           the hyperplane of tree.discriminant_tree
    quadratic    (x - m)'W(x - m) + w'(x - m) <= c  the same hyperplane among the columns and their products

In a node the kinds are learned on parts of its rows and tested on the rest: a question answers with the commonest class
of each branch. From simple to complex, a kind takes the place of the one chosen so far only if its held-out error is
lower and a test rejects at the level alpha that both err alike:

    resampled_t     five folds, twice; t corrected for the rows that the folds share
    five_by_two_f   five halvings; F of the ten differences

Both are those of fivefold.evaluation.comparison. Where a node has more than 2,000 rows, 2,000 are drawn for each split;
a kind that is no better on the first folds is not tried on the others, which can only make rejections rarer. The chosen
kind is then learned from all rows of the node. With alpha zero no kind passes, and the tree is univariate. Copies of a
row stay on one side of every split, so that a weight means repetition, and no row is tested that was learned from.

Yildiz & Alpaydin (2001), Omnivariate decision trees; Alpaydin (1999); Nadeau & Bengio (2003).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.params import Fraction
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Mask, Matrix, Rng
from fivefold.inference.paired_tests import corrected_standard_error, halving_f_test, t_test
from fivefold.partition.row_questions.hyperplanes import best_axis
from fivefold.partition.row_questions.nodes import (
    AxisQuestion,
    LinearQuestion,
    Node,
    QuadraticQuestion,
    Question,
    sum_statistics,
)
from fivefold.partition.row_questions.quadrics import quadric, with_products
from fivefold.tree.discriminant_tree import HyperplaneFinder, or_single_column
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier, Finder

MIN_ROWS_TO_TEST = 30  # distinct rows: a node with fewer asks about a single column, untested
MAX_ROWS_COMPARED = 2000  # distinct rows that kinds are compared on, at most
ROWS_PER_TERM = 2  # distinct rows per column or product of columns, at least

Find = Callable[[Node], Question | None]

KINDS: dict[str, type[Question]] = {
    "univariate": AxisQuestion,
    "linear": LinearQuestion,
    "quadratic": QuadraticQuestion,
}


@dataclass(frozen=True)
class RepeatedSplits:
    """How rows are split repeatedly, and the test of the differences of errors that result."""

    repeats: int
    folds: int
    p_value: Callable[[Matrix], float]  # of differences (repeats, folds) whose mean is positive


def _resampled_t(p: Matrix) -> float:
    d = p.ravel()
    return t_test(float(d.mean()), corrected_standard_error(d, shared=1 / (p.shape[1] - 1)), len(d) - 1)[1][1]


def _five_by_two_f(p: Matrix) -> float:
    return halving_f_test(p)[1]


TESTS = {"resampled_t": RepeatedSplits(2, 5, _resampled_t), "five_by_two_f": RepeatedSplits(5, 2, _five_by_two_f)}


@dataclass(frozen=True)
class QuadricFinder:
    """Learns a quadratic question: a hyperplane among columns and products of columns."""

    find: HyperplaneFinder

    def __call__(self, node: Node) -> QuadraticQuestion | None:
        plane = self.find(with_products(node))
        return None if plane is None else quadric(node, plane)


@dataclass(frozen=True)
class KindChooser:
    """Finds the question of a node; `kinds` go from simple to complex."""

    kinds: dict[str, Find]
    split: RepeatedSplits
    alpha: float
    rng: Rng

    def __call__(self, node: Node) -> Question | None:
        _, place = np.unique(node.X, axis=0, return_inverse=True)
        kinds = self._tried(node.X.shape[1], int(place.max()) + 1)
        chosen = self._compared(node, place.ravel(), kinds) if len(kinds) > 1 and self.alpha > 0 else kinds[0]
        return or_single_column(node, self.kinds[chosen](node))

    def _tried(self, d: int, distinct: int) -> list[str]:
        """The kinds for which a node has enough distinct rows."""
        terms = {"univariate": 0, "linear": d, "quadratic": d + d * (d + 1) // 2}
        return [
            kind
            for kind in self.kinds
            if kind == "univariate" or distinct >= max(MIN_ROWS_TO_TEST, ROWS_PER_TERM * terms[kind])
        ]

    def _compared(self, node: Node, place: Codes, kinds: list[str]) -> str:
        """The simplest kind that no more complex one beats."""
        repeats = [
            [(self._part(node, train), held) for train, held in self._splits(place)] for _ in range(self.split.repeats)
        ]
        chosen, *rest = kinds
        errors = self._errors(node, chosen, repeats)
        for kind in rest:
            if not errors.any():
                break
            other = self._errors(node, kind, repeats[:1])
            if other.mean() >= errors[:1].mean():  # no better at first sight: the other repeats are spared
                continue
            other = np.vstack([other, self._errors(node, kind, repeats[1:])])
            if other.mean() < errors.mean() and self.split.p_value(errors - other) < self.alpha:
                chosen, errors = kind, other
        return chosen

    def _splits(self, place: Codes) -> Iterator[tuple[Mask, Mask]]:
        """Masks (m,) of the rows that are learned from and of those tested; copies of a row have the same place."""
        drawn = self.rng.permutation(int(place.max()) + 1)
        fold = np.where(drawn < MAX_ROWS_COMPARED, drawn % self.split.folds, -1)[place]
        yield from (((fold != k) & (fold >= 0), fold == k) for k in range(self.split.folds))

    def _part(self, node: Node, some: Mask) -> Node:
        """The node of some of its rows."""
        own = node.criterion._replace(y=node.y[some], w=node.w[some])
        return replace(
            node,
            X=node.X[some],
            rows=node.rows[some],
            criterion=own,
            sums=sum_statistics(own, np.arange(int(some.sum()))),
        )

    def _errors(self, node: Node, kind: str, repeats: list[list[tuple[Node, Mask]]]) -> Matrix:
        """Held-out error of a kind of question on every split (repeats, folds)."""
        return np.array([[_error(part, self.kinds[kind], node, held) for part, held in folds] for folds in repeats])


def _error(part: Node, find: Find, node: Node, held: Mask) -> float:
    """Share of the held-out weight that the commonest classes of the branches get wrong; `part` learns the question."""
    K, X, y, w = part.criterion.classes, node.X[held], node.y[held], node.w[held]
    asked = find(part) if part.total > 0 else None
    inside = np.zeros(len(part.y), dtype=np.int64) if asked is None else asked.row_branches(part.X)
    outside = np.zeros(len(y), dtype=np.int64) if asked is None else asked.row_branches(X)
    branches = 1 if asked is None else asked.branches
    votes = np.bincount(inside * K + part.y, part.w, branches * K).reshape(branches, K)
    votes = np.where(votes.any(axis=1, keepdims=True), votes, part.sums)  # a branch without rows answers as its node
    return float(w @ (votes.argmax(axis=1)[outside] != y) / w.sum())


class OmnivariateTreeClassifier(BaseRowTreeClassifier):
    """A tree whose nodes ask about one column, a hyperplane or a quadric, whichever a test finds worth its complexity.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", "entropy" (also called "log_loss"), or "error".
    random_state
        decides the splits that questions are compared on.
    alpha
        level of the test: a complex question is taken only if a difference like the one seen, to its advantage, has
        less than this probability among equally good ones. With zero the tree is univariate.
    test
        "resampled_t" on five folds, twice, which keeps its level; "five_by_two_f" on five halvings, which rejects more
        often where rows are few.
    discriminant
        how directions are learned: "fisher", "logistic", or "error" for the fewest rows on the wrong side.
    grouping
        how the classes are put into two groups: "guo-gelfand", "two-means" or "exhaustive".

    Attributes
    ----------
    node_types_
        for each depth how many nodes there are of each kind: "univariate", "linear", "quadratic".

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import OmnivariateTreeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> model = OmnivariateTreeClassifier(max_depth=2, random_state=0).fit(X, (X**2).sum(axis=1) < 0.5)
    >>> model.node_types_[0]
    {'univariate': 0, 'linear': 0, 'quadratic': 1}
    """

    _: KW_ONLY
    alpha: Fraction = 0.05
    test: Literal["resampled_t", "five_by_two_f"] = "resampled_t"
    discriminant: Literal["fisher", "error", "logistic"] = "logistic"
    grouping: Literal["guo-gelfand", "two-means", "exhaustive"] = "guo-gelfand"

    card = Card(
        applications=("classification", "data mining"),
        use="Borders of unknown shape: straight along the columns in one part, slanted or round in another. Small, and "
        "as readable as the data allow; every node takes the time of a cross-validation.",
        steps=(
            "Learn a cut of one column, a hyperplane and a quadric on parts of the node's rows; test them on the rest.",
            "Keep the simplest that no more complex one beats significantly.",
            "Learn that one from all rows of the node, and go on in both parts.",
        ),
        source="Yildiz & Alpaydin (2001); Alpaydin (1999); Nadeau & Bengio (2003)",
        see_also=("DecisionTreeClassifier", "DiscriminantTreeClassifier"),
        variants=(
            {"test": "five_by_two_f", "alpha": 0.5, "max_depth": 3},
            {"alpha": 0.0, "criterion": "entropy"},
            {"discriminant": "fisher", "grouping": "two-means", "max_depth": 3, "alpha": 0.9},
        ),
        search={"alpha": (0.01, 0.05, 0.2), "ccp_alpha": (0.0, 0.003, 0.01)},
    )

    @property
    def node_types_(self) -> tuple[dict[str, int], ...]:
        check_is_fitted(self)
        tree = self.model_.tree
        inner = [(int(tree.depth[t]), asked) for t, asked in enumerate(tree.question) if asked is not None]
        deep = 1 + max((depth for depth, _ in inner), default=-1)
        return tuple(
            {kind: sum(at == depth and isinstance(asked, cls) for at, asked in inner) for kind, cls in KINDS.items()}
            for depth in range(deep)
        )

    def _finder(self, rng: Rng) -> Finder:
        linear = HyperplaneFinder(self.discriminant, self.grouping)
        kinds: dict[str, Find] = {
            "univariate": lambda node: best_axis(node)[0],
            "linear": linear,
            "quadratic": QuadricFinder(linear),
        }
        return KindChooser(kinds, TESTS[self.test], self.alpha, rng)

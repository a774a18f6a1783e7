"""All rows of fit within a distance of a row vote on its class or its number.

    P(y = c | x) = sum of the votes of those of class c / sum of all votes
    f(x)         = sum of votes times targets / sum of votes

A vote counts one, one over the distance, or a kernel of it (shared/vote_weights.py). Where rows are scarce a
neighbourhood may be empty: classifiers then give the `outlier_label`, regressors NaN.

Fix & Hodges (1951); Bentley (1975), A survey of techniques for fixed radius near neighbor searching.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, Labels, Mask, Matrix, Table, Target, UserTable, UserWeights, Weights
from fivefold.kernels.base import count
from fivefold.neighbors.shared.base import FittedRows, Radius
from fivefold.neighbors.shared.neighbor_queries import RadiusQueries
from fivefold.neighbors.shared.neighbor_votes import Votes
from fivefold.neighbors.shared.voters import MAX_BLOCK_VOTES, NeighborClassifier, NeighborRegressor, Voter

KEYWORDS = "weights algorithm leaf_size p metric {} metric_params n_jobs"  # in scikit-learn's order


class RadiusVoter(Voter, RadiusQueries):
    """The rows within a radius vote.

    Parameters
    ----------
    radius
        the distance up to which rows vote.
    bandwidth
        the width of a kernel of `weights`; None is the radius.
    """

    radius: Radius = 1.0

    def _votes(self, X: Table | None) -> Iterator[Votes]:
        """Lists of voters, nearest first. Blocks are as large as the neighbourhoods found so far allow."""
        fitted: FittedRows = self.model_
        m, lo = fitted.size if X is None else count(X), 0
        step = m if X is None else max(1, MAX_BLOCK_VOTES // fitted.size)
        width = self.radius if self.bandwidth is None else self.bandwidth
        while lo < m:
            Q = X if X is None or (lo == 0 and step >= m) else X[lo : lo + step]
            found = fitted.within(Q, self.radius)
            lo += len(found.indptr) - 1
            step = max(1, MAX_BLOCK_VOTES // (1 + 2 * int(np.diff(found.indptr).mean())))
            shares = None if fitted.counts is None else fitted.counts[found.rows]
            yield self._weighted(found.indptr, found.rows, found.distances, width, shares)

    def _sums_in_search(self, X: Table | None, sizes: list[int] | None = None) -> Doubles | None:
        """Sums that the search makes without lists of voters; None where votes are another function of distances.

        They are added in an order that the rows of fit decide on, whatever is asked beside or was asked before.
        """
        plain = not callable(self.weights) and self.weights in (None, "uniform", "distance")
        if not plain or not self.radius < np.inf:
            return None
        fitted: FittedRows = self.model_
        return fitted.radius_votes(X, self.radius, self.weights == "distance", sizes)


class RadiusNeighborsClassifier(RadiusVoter, NeighborClassifier, keywords=KEYWORDS.format("outlier_label")):
    """The class with most votes of the rows within a radius.

    Parameters
    ----------
    outlier_label
        the class of rows without neighbours: a label, "most_frequent", or one of these per column of y. A label that y
        does not hold has no column of probabilities: all are zero. None refuses such rows.

    Attributes
    ----------
    classes_
        the labels.
    outlier_label_
        the label of rows without neighbours, one per column of y; None if such rows are refused.

    Examples
    --------
    >>> from fivefold.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(1.0, outlier_label="high").fit([[0.0], [1.0], [2.0]], ["low", "low", "high"])
    >>> model.predict_proba([[1.5]])
    array([[0.5, 0.5]])
    >>> model.predict([[0.5], [9.0]]).tolist()
    ['low', 'high']
    """

    _: KW_ONLY
    outlier_label: Any = None  # a label, of whatever type labels have

    card = Card(
        applications=("classification",),
        use="As KNeighborsClassifier, where a distance has a meaning and rows far from all others should be told "
        "apart.",
        steps=(
            "Store the rows and their classes.",
            "Find all rows within the radius of a new one.",
            "Let them vote; a row without neighbours gets the label of outliers.",
        ),
        source="Fix & Hodges (1951)",
        see_also=("KNeighborsClassifier",),
        given={"outlier_label": "most_frequent"},
        variants=({"radius": 3.0, "weights": "distance"}, {"radius": 4.0, "weights": "epanechnikov"}),
        search={"radius": SearchRange(0.5, 10.0), "weights": ("uniform", "distance")},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        super()._fit(X, y, w, given, objects)
        self.outlier_label_ = self._outlier_labels(y, w)

    def _outlier_labels(self, y: Target, w: Weights) -> list[Any] | None:
        """The label of rows without neighbours, one per column of y."""
        asked, name = self.outlier_label, type(self).__name__
        if asked is None:
            return None
        known = self.classes_ if y.ndim == 2 else [self.classes_]
        columns = y.T if y.ndim == 2 else [y]
        if isinstance(asked, str) and asked == "most_frequent":
            each = zip(known, columns, strict=True)
            return [classes[np.bincount(codes, w, len(classes)).argmax()] for classes, codes in each]
        labels = [asked] * len(known) if isinstance(asked, str) or np.ndim(asked) == 0 else list(asked)
        if len(labels) != len(known):
            raise ValueError(
                f"{name}: outlier_label {asked!r} has {len(labels)} labels; y has {len(known)} columns, each of "
                "which needs one"
            )
        for classes, label in zip(known, labels, strict=True):
            if not isinstance(label, str) and np.ndim(label):
                raise TypeError(f"{name}: an outlier_label must be a scalar, one label; got {label!r}")
            if np.append(classes, label).dtype.kind != classes.dtype.kind:
                raise TypeError(f"{name}: outlier_label {label!r} is of another type than the classes {classes!r}")
        return labels

    def _class_votes(self, X: Table | None, sizes: list[int]) -> list[Matrix]:
        if (found := self._sums_in_search(X, sizes)) is None:
            return super()._class_votes(X, sizes)
        return np.split(found, np.cumsum(sizes)[:-1], axis=1)

    def _scores(self, X: Table | None) -> Any:
        shares = super()._scores(X)
        found = shares if self.outputs_2d_ else [shares]
        empty = ~found[0].any(axis=1)
        if not empty.any():
            return shares
        if self.outlier_label_ is None:
            rows = np.flatnonzero(empty)
            raise ValueError(
                f"{type(self).__name__}: No neighbors found for test samples {rows!r}. Take a larger radius, give a "
                "label for such rows (outlier_label), or leave them out"
            )
        known = self.classes_ if self.outputs_2d_ else [self.classes_]
        for own, classes, label in zip(found, known, self.outlier_label_, strict=True):
            if (place := np.flatnonzero(classes == label)).size:
                own[empty, place[0]] = 1.0
            else:
                warn(
                    f"{type(self).__name__}: Outlier label {label!r} is not in training classes: all class "
                    "probabilities of rows without neighbours are 0"
                )
        return shares

    def predict(self, X: UserTable) -> Labels:
        """The class of each row; that of outliers where no row of fit is within the radius."""
        shares = self._scores(self._admit(X))
        each = zip(
            shares if self.outputs_2d_ else [shares],
            self.classes_ if self.outputs_2d_ else [self.classes_],
            self.outlier_label_ or [None] * (len(shares) if self.outputs_2d_ else 1),
            strict=True,
        )
        found = [_labels_of(own, classes, label) for own, classes, label in each]
        return np.stack(found, axis=1) if self.outputs_2d_ else found[0]


def _labels_of(shares: Array, classes: Labels, outlier: Any) -> Labels:
    """The class with the largest share, or the label of outliers where all are zero."""
    found, empty = classes[shares.argmax(axis=1)], ~shares.any(axis=1)
    if not empty.any():
        return found
    made = found.astype(np.append(classes, outlier).dtype)  # wide enough for a longer text
    made[empty] = outlier
    return made


class RadiusNeighborsRegressor(RadiusVoter, NeighborRegressor, keywords=KEYWORDS.format("")):
    """The mean target of the rows within a radius.

    Rows without neighbours are predicted as NaN, with a warning.

    Examples
    --------
    >>> from fivefold.neighbors import RadiusNeighborsRegressor
    >>> RadiusNeighborsRegressor(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]).predict([[1.5]])
    array([0.5])
    """

    card = Card(
        applications=("regression",),
        use="As KNeighborsRegressor, where a distance has a meaning; a kernel of a width is then a local mean.",
        steps=(
            "Store the rows and their targets.",
            "Find all rows within the radius of a new one.",
            "Average their targets, near ones more if asked for.",
        ),
        source="Fix & Hodges (1951); Nadaraya (1964); Watson (1964)",
        see_also=("KNeighborsRegressor",),
        given={"radius": 4.0, "weights": "distance"},
        variants=({"weights": "biweight"},),
        search={"radius": SearchRange(0.5, 10.0), "weights": ("uniform", "distance")},
        growth=2.0,
    )

    def _vote_sums(self, X: Table | None) -> tuple[Doubles, Doubles]:
        if (found := self._sums_in_search(X)) is None:
            return super()._vote_sums(X)
        return found[:, 0], found[:, 1] if not self.outputs_2d_ else found[:, 1:]

    def _means(self, total: Doubles, sums: Doubles) -> Doubles:
        empty: Mask = total <= 0  # a neighbour's vote is never zero
        if empty.any():
            warn(
                f"{type(self).__name__}: {int(empty.sum())} samples have no neighbors within radius {self.radius:g}; "
                "they are predicted as NaN. Take a larger radius"
            )
        with np.errstate(invalid="ignore"):
            return super()._means(total, sums)

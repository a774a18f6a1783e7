"""Labellers of sequences: `fit` takes lists of sequences or a table, `_learn` gets both as the same arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.sequences import Sequences
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.console.fit_progress import interruptible_fit
from fivefold.core.estimators import params
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Codes, Doubles, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.sequence.features.attribute_encoder import AttributeNames, PositionFeatures, numeric_positions
from fivefold.sequence.linear_chain.chain_model import Decoding, LabelledSequences
from fivefold.sequence.linear_chain.sequence_input import (
    column_names,
    holds_sequences,
    labels_of,
    positions_of,
    split_by,
    without_empty,
)


class SequenceLabeller(Classifier):
    """Gives every position of a sequence a label.

    `X` is a list of sequences, each a list of positions: dictionaries of attributes, collections of strings or rows of
    numbers, which get an intercept; `y` a list of lists of labels. A table is as many sequences of one row each.

    Attributes
    ----------
    classes_
        the labels.
    state_features_
        weights of (attribute, label), those that are not zero.
    transition_features_
        weights of (label, next label), those that are not zero.
    """

    takes = Takes(sparse=True)
    labels_sequences: ClassVar[bool] = True  # may a study give it whole sequences?

    def _learn(self, data: LabelledSequences) -> None:
        raise TypeError(f"{type(self).__name__} does not say how to learn")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, d = X.shape
        names = (
            AttributeNames.of([*map(str, vars(self)["feature_names_in_"]), "intercept"])
            if ("feature_names_in_" in vars(self))
            else column_names(d)
        )
        positions = numeric_positions(X, np.arange(n + 1), intercept=True)
        self._learn(LabelledSequences(positions, y, w, self.classes_, names, d, X.dtype.name))

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        if not holds_sequences(X):
            return super()._fit_admitted(X, y, sample_weight, **extra)
        params.check_params(self)
        self._forget()
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        w = admit_weights(self, sample_weight, np.empty((len(X), 1)))
        if not (w > 0).all():
            kept = np.flatnonzero(w > 0)
            X, y, w = [X[i] for i in kept], [y[i] for i in kept], w[kept]
        name = type(self).__name__
        self.classes_, codes = labels_of(X, y, name)
        positions, names = positions_of(X, None, name)
        w = w[np.diff(positions.offsets) > 0]
        columns = len(names) - 1 if "intercept" in names and _all_numbers(names) else -1
        data = LabelledSequences(without_empty(positions), codes, w, self.classes_, names, columns)
        with interruptible_fit(self):
            self._learn(data)
        return self

    def _positions(self, X: UserTable) -> tuple[PositionFeatures, bool]:
        """The attributes of X as fit numbered them; are they those of a table?"""
        check_is_fitted(self)
        if "n_features_in_" in vars(self):
            if not holds_sequences(X):
                X = self._admit(X)
                return numeric_positions(X, np.arange(X.shape[0] + 1), intercept=True), True
        elif not isinstance(X, Sequence | Sequences | np.ndarray) or (
            len(X) and not holds_sequences(X) and any(map(len, X))
        ):
            raise ValueError(
                f"{type(self).__name__} was fitted to sequences: pass a list of sequences, each a list of positions"
            )
        return positions_of(X, self.model_.names, type(self).__name__)[0], False

    def _decoding(self) -> Decoding:
        return "sequence"

    def predict(self, X: UserTable) -> Any:
        """The labels of each sequence, a list of lists; of a table, the label of each row."""
        positions, is_table = self._positions(X)
        codes: Codes = self.model_.decode(without_empty(positions), self._decoding())
        found = self.classes_[codes]
        return found if is_table else split_by(found.tolist(), positions.offsets)

    def label_scores(self, X: UserTable) -> list[Doubles]:
        """Per sequence (positions, K): the logarithm of each label's share, if scores of paths were log-probabilities.

        Labellers that learn no probabilities are compared and calibrated by these.
        """
        positions, _ = self._positions(X)
        shares: Doubles = self.model_.marginals(without_empty(positions))
        return split_by(np.log(np.maximum(shares, np.finfo(np.float64).tiny)), positions.offsets)

    def predict_single(self, xseq: Iterable[Any]) -> list[Any]:
        """The labels of one sequence."""
        labels: list[Any] = self.predict([xseq])[0]
        return labels

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float:
        """The share of positions, or of rows of a table, whose label is predicted."""
        if not holds_sequences(X):
            return super().score(X, y, sample_weight)
        right = [
            np.asarray([a == b for a, b in zip(p, q, strict=True)]) for p, q in zip(self.predict(X), y, strict=True)
        ]
        lengths = np.array([len(one) for one in right])
        w = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(w @ [one.sum() for one in right] / (w @ lengths))

    @property
    def attributes_(self) -> list[str]:
        """The names of the attributes that have a feature, by number."""
        return list(self.model_.names)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Weights of (attribute, label), those that are not zero."""
        model, names, labels = self.model_, self.attributes_, self.classes_.tolist()
        kept = np.flatnonzero(model.state)
        pairs = zip(model.features.attributes()[kept].tolist(), model.features.label[kept].tolist(), strict=True)
        return {(names[a], labels[k]): v for (a, k), v in zip(pairs, model.state[kept].tolist(), strict=True)}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Weights of (label, next label), those that are not zero."""
        labels, A = self.classes_.tolist(), self.model_.transition
        return {(labels[i], labels[k]): float(A[i, k]) for i, k in zip(*np.nonzero(A), strict=True)}

    def top_attributes(self, count: int = 5) -> dict[Any, list[tuple[str, float]]]:
        """For each label its attributes of largest weight, largest first."""
        found: dict[Any, list[tuple[str, float]]] = defaultdict(list)
        for (name, label), weight in sorted(self.state_features_.items(), key=lambda item: -item[1]):
            if len(found[label]) < count:
                found[label].append((name, weight))
        return dict(found)


def _all_numbers(names: AttributeNames) -> bool:
    *first, last = names
    return last == "intercept" and first == [str(j) for j in range(len(first))]

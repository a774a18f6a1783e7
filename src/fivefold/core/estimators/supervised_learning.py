"""Supervised estimators: labels are encoded once, class and sample weights are multiplied into one vector.

`_fit(X, y, w)` gets y as codes 0..K-1 of `classes_` (int64) or as floats, w as positive float64. A
method that can go on learning defines `_update(X, y, w)` and gets `partial_fit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from fivefold.core._sklearn import ClassifierMixin, RegressorMixin, Tags
from fivefold.core.admission.chunks import admit_chunks
from fivefold.core.admission.targets import admit_pair, admit_weights, keep_positive
from fivefold.core.chunks.sources import ChunkSource
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.console.fit_progress import interruptible_fit
from fivefold.core.estimators import params
from fivefold.core.estimators.base import Estimator
from fivefold.core.estimators.chunk_answers import chunk_accuracy, chunk_r2
from fivefold.core.estimators.training_rows import remember_training_rows
from fivefold.core.numerics.arrays import is_tensor, labels_at, to_device_of, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Doubles, Labels, Table, Target, UserTable, UserTarget, UserWeights, Weights


class Supervised(Estimator):
    """Learns from rows and their targets."""

    def __init_subclass__(cls, **options: str) -> None:
        if "_update" in vars(cls):
            made: Any = cls  # a class lets a checker see no new methods
            made.partial_fit = made._partial_fit
        super().__init_subclass__(**options)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        raise TypeError(f"{type(self).__name__} does not say how to fit")

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        raise TypeError(f"{type(self).__name__} cannot be fitted in parts")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        return self._fit_admitted(X, y, sample_weight)

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        """The work of fit; what a method's own fit takes beyond weights, of whatever type, goes to its `_fit`."""
        raise TypeError(f"{type(self).__name__} does not say how targets are admitted")


class LabelTarget(Supervised):
    """Learns from labels: `_fit(X, y, w)` gets codes 0..K-1 of `classes_`.

    Where `takes.outputs`, y may have several columns: then codes are (n, outputs) and `classes_` is a list.
    """

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        params.check_params(self)
        self._forget()
        if (source := source_of(X)) is not None:
            return self._fit_chunks(source, y, sample_weight, **extra)
        X, y = admit_pair(self, X, y)
        if y.ndim == 2 and (not self.takes.outputs or y.shape[1] == 1):
            y = column_or_1d(y, warn=True)
        w = admit_weights(self, sample_weight, X)
        if not self.takes.idle_classes:
            X, y, w = keep_positive(w, X, y)
        self.classes_, codes = encode_labels(y)
        for classes in self.classes_ if y.ndim == 2 else [self.classes_]:
            if classes.dtype.kind not in "iub":  # the few distinct labels tell as much as all rows
                check_labels(classes)
        if len(self.classes_) < 2 and not self.takes.one_class:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more; y holds one class: {y[:1].tolist()[0]!r}"
            )
        X, y, codes, w = keep_positive(w, X, y, codes)
        codes = to_device_of(codes, X)
        with interruptible_fit(self):
            self._fit(X, codes, self._fold(y, codes, w), **extra)
        vars(self)["training_rows_"] = remember_training_rows(X)
        return self

    def _fit_chunks(self, source: ChunkSource, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        """The same, from a table in chunks."""
        admitted = admit_chunks(self, source, y, sample_weight, "labels")
        if admitted.is_single:
            return LabelTarget._fit_admitted(self, *admitted.in_memory(), **extra)
        facts = admitted.facts
        self.classes_ = classes = facts.labels
        if classes.dtype.kind not in "iub":
            check_labels(classes)
        if len(classes) < 2 and not self.takes.one_class:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more; y holds one class: {classes.tolist()[0]!r}"
            )
        X, codes, w = admitted.arrays(classes, self._class_factors(facts.label_weight))
        with interruptible_fit(self):
            self._fit(X, codes, w, **extra)
        return self

    def _class_factors(self, weight: Doubles) -> Doubles | None:
        """What multiplies the weights of the rows of each class of a table in chunks, from the weight of the class."""
        rule = getattr(self, "class_weight", None)
        return None if rule is None else class_weights(rule, self.classes_, np.arange(len(weight)), weight)

    def _partial_fit(
        self, X: UserTable, y: UserTarget, classes: ArrayLike | None = None, sample_weight: UserWeights = None
    ) -> Self:
        """Go on learning from a further batch; `classes` lists all classes at the first call."""
        params.check_params(self)
        name, first = type(self).__name__, not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError(f"{name}: classes must be passed on the first call to partial_fit")
        if classes is not None:
            given = np.unique(classes)
            if not first and not np.array_equal(self.classes_, given):
                raise ValueError(
                    f"{name}: `classes={classes!r}` is not the same as on last call to partial_fit, was: "
                    f"{self.classes_!r}"
                )
        X, y = admit_pair(self, X, y, fitting=first)
        y = column_or_1d(to_numpy(y), warn=True)
        if first:
            self.classes_ = given
        codes = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        if (unknown := self.classes_[codes] != y).any():
            raise ValueError(
                f"{name}: the target label {y[unknown.argmax()]!r} in y does not exist in the initial classes "
                f"{self.classes_!r}; list every class in `classes` at the first call"
            )
        X, y, codes, w = keep_positive(admit_weights(self, sample_weight, X), X, y, codes)
        codes = to_device_of(codes, X)
        self._update(X, codes, self._fold(y, codes, w))
        vars(self)["training_rows_"] = None  # it has seen more rows than those of its first fit
        return self

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Weights:
        """The weights of the rows times those of their classes."""
        rule = getattr(self, "class_weight", None)
        if rule is None:
            return w
        if codes.ndim == 1:
            each_class = class_weights(rule, self.classes_, to_numpy(codes), to_numpy(w))
            return w * to_device_of(each_class, w)[codes]
        rules = rule if isinstance(rule, list) else [rule] * len(self.classes_)
        each = zip(rules, self.classes_, codes.T, strict=True)
        return w * np.prod([class_weights(r, classes, code, w)[code] for r, classes, code in each], axis=0)


class Classifier(ClassifierMixin, LabelTarget):
    """`_scores(X)` gives (n, K), and the largest wins; a list of such scores for several columns of y."""

    def _scores(self, X: Table) -> Any:  # Matrix, or a list of them where `takes.outputs`
        raise TypeError(f"{type(self).__name__} does not score classes")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.takes.outputs
        # the checks of this tag ask for decision_function and predict_proba
        both = {"decision_function", "predict_proba"} <= set(dir(type(self)))
        tags.classifier_tags.multi_label = self.takes.outputs and both
        return tags

    def predict(self, X: UserTable) -> Labels:
        """The likeliest class of each row."""
        X = self._admit(X)
        scores = self._scores(X)
        if isinstance(scores, list):
            return np.stack([labels[s.argmax(axis=1)] for labels, s in zip(self.classes_, scores, strict=True)], axis=1)
        if is_tensor(scores):
            return labels_at(self.classes_, scores.argmax(dim=1))
        best = map_parts(lambda lo, hi: scores[lo:hi].argmax(axis=1), len(scores))
        return self.classes_[np.concatenate(best)]

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float:
        """The weighted share of rows whose class is predicted."""
        if (source := source_of(X)) is not None:
            return chunk_accuracy(self, source, y, sample_weight)
        if not is_tensor(X):
            return super().score(X, y, sample_weight)
        right = to_numpy(self.predict(X)) == np.ravel(to_numpy(y))
        return float(np.average(right, weights=to_numpy(sample_weight)))


def class_weights(rule: Mapping[Any, float] | str | None, classes: Labels, codes: Codes, w: Weights) -> Doubles:
    """The factor of each class by scikit-learn's rule; one for classes without rows."""
    present, out = np.flatnonzero(np.bincount(codes, minlength=len(classes))), np.ones(len(classes))
    out[present] = compute_class_weight(rule, classes=classes[present], y=classes[codes], sample_weight=w)
    return out


class NumericTarget(Supervised):
    """Learns from numbers: `_fit(X, y, w)` gets floats of X's type, a vector or (n, outputs) if `takes.outputs`."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.takes.outputs
        return tags

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        params.check_params(self)
        self._forget()
        if (source := source_of(X)) is not None:
            admitted = admit_chunks(self, source, y, sample_weight, "numbers")
            if admitted.is_single:
                return NumericTarget._fit_admitted(self, *admitted.in_memory(), **extra)
            X, y, w = admitted.arrays()
        else:
            X, y, w = self._admitted_rows(X, y, sample_weight, fitting=True)
        with interruptible_fit(self):
            self._fit(X, y, w, **extra)
        return self

    def _partial_fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Go on learning from a further batch of rows and their targets."""
        params.check_params(self)
        self._update(*self._admitted_rows(X, y, sample_weight, fitting=not self.__sklearn_is_fitted__()))
        return self

    def _admitted_rows(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, *, fitting: bool
    ) -> tuple[Table, Target, Weights]:
        """Admitted rows, their targets in the type of X, and their weights."""
        X, y = admit_pair(self, X, y, numeric=True, fitting=fitting)
        if not self.takes.outputs and y.ndim > 1:
            y = column_or_1d(y, warn=True)
        X, y, w = keep_positive(admit_weights(self, sample_weight, X), X, y)
        return X, to_device_of(y, X).to(X.dtype) if is_tensor(X) else y.astype(X.dtype, copy=False), w


class Regressor(RegressorMixin, NumericTarget):
    """Predicts numbers."""

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float:
        """The coefficient of determination, 1 - (squares of residuals) / (squares about the mean)."""
        if (source := source_of(X)) is not None:
            return chunk_r2(self, source, y, sample_weight)
        if not is_tensor(X):
            return super().score(X, y, sample_weight)
        from sklearn.metrics import r2_score

        fitted: Any = self  # every regressor predicts
        found = to_numpy(fitted.predict(X))
        return float(r2_score(to_numpy(y), found, sample_weight=to_numpy(sample_weight)))


def check_labels(classes: Labels) -> None:
    """Refuse fractions: they are no labels."""
    with np.errstate(invalid="ignore"):  # a huge number is compared with its integer
        check_classification_targets(np.repeat(classes, 2))


def encode_labels(y: Target) -> tuple[Any, Codes]:  # Labels, or a list of them
    """The distinct labels, sorted, and for each row the index of its label (int64); lists for several columns."""
    if is_tensor(y):
        found, codes = y.unique(return_inverse=True)
        return to_numpy(found), codes
    if y.ndim == 2:
        each = [encode_labels(np.ascontiguousarray(column)) for column in y.T]
        return [classes for classes, _ in each], np.stack([codes for _, codes in each], axis=1)
    if y.dtype.kind in "iu" and (low := int(y.min())) > -(2**31) and int(y.max()) - low < max(1024, len(y)):
        above = y - low
        present = np.bincount(above) > 0
        codes = above.astype(np.int64, copy=False) if present.all() else (np.cumsum(present) - 1)[above]
        return np.flatnonzero(present).astype(y.dtype) + y.dtype.type(low), codes
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)

"""Estimators: typed fields are the parameters, `_fit` gets admitted data, `model_` is what was learned.

    class KMeans(Clusterer):
        n_clusters: Count = 8
        _: KW_ONLY                      # where scikit-learn's signature has its star
        tol: NonNegative = 1e-4

        def _fit(self, X, w): ...

`fit` checks the parameters, admits X, drops rows of weight zero and calls `_fit(X, w)`; w is a
vector of positive float64, always. A method whose `_fit` has no `w` takes no sample_weight. A method
that can go on learning defines `_update(X, w)`, which finds `model_` from before, if any; it gets
`partial_fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass, replace
from inspect import isfunction, signature
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import (
    BaseEstimator,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    DensityMixin,
    OutlierMixin,
    Tags,
    _AvailableIfDescriptor,
)
from fivefold.core.admission.chunks import admit_chunks
from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights, keep_positive
from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.chunks.sources import ChunkSource
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.console.fit_progress import interruptible_fit
from fivefold.core.estimators import params
from fivefold.core.estimators.documentation import complete_docstring
from fivefold.core.estimators.foreign_arrays import to_library_of_fit, wrap_for_foreign_arrays
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.numerics.score_ranks import conformal_p_values
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Doubles, Mask, Table, UserTable, UserTarget, UserWeights, Vector

U = TypeVar("U", bound="Unsupervised")


class learned:
    """A familiar name for a part of `model_`: `means_ = learned("components.mean")`."""

    def __init__(self, path: str) -> None:
        self._path, self._get = path, attrgetter(path)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: object, owner: type | None = None) -> Any:  # whatever the model holds there
        if estimator is None:
            return self
        if "model_" not in vars(estimator):
            if self._name in vars(estimator):
                return vars(estimator)[self._name]
            raise not_fitted_error(estimator, self._name)
        return to_library_of_fit(estimator, self._read(estimator))

    def _read(self, estimator: object) -> Any:  # as `__get__`
        return self._get(vars(estimator)["model_"])

    def __set__(self, estimator: object, value: object) -> None:
        """Predictions use the value that a user sets in place of what was learned; before fit it is only stored."""
        known = vars(estimator)
        if "model_" in known:
            known["model_"] = replace_part(known["model_"], self._path.split("."), value)
        else:
            known[self._name] = value


class learned_in_dtype(learned):
    """A part of the model, in the precision of the table it was fitted to."""

    def _read(self, estimator: object) -> Array:
        found: Array = super()._read(estimator)
        return found.astype(vars(estimator)["model_"].dtype, copy=False)


def replace_part(model: Any, path: list[str], value: object) -> Any:
    """The model with another value at the end of the path; its `exchanged`, if any, adapts what depends on it.

    Models are dataclasses and NamedTuples of any kind: a checker sees Any.
    """
    name, *rest = path
    new = replace_part(getattr(model, name), rest, value) if rest else value
    if (own := getattr(model, "exchanged", None)) is not None:
        return own(name, new)
    change: Any = replace if is_dataclass(model) else type(model)._replace
    return change(model, **{name: new})


class _UnfittedModel:
    """Stands for `model_` until a fit has set it: an error of scikit-learn's type, an AttributeError too."""

    def __get__(self, estimator: object, owner: type | None = None) -> Any:  # each method has a model of its own
        if estimator is None:
            return self
        raise not_fitted_error(estimator, "model_")


def not_fitted_error(estimator: object, name: str) -> NotFittedError:
    """The error for an attribute that only a fit gives."""
    return NotFittedError(f"{type(estimator).__name__} is not fitted yet: it has no {name!r} before fit")


@dataclass_transform(field_specifiers=(field,))
class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base of all. Fields become the constructor, in order, positional up to `_: KW_ONLY`.

    Inherited fields come first. Where scikit-learn lists keyword-only ones in another order, a class names it, for its
    subclasses too: `class ElasticNet(LassoBase, keywords="l1_ratio fit_intercept ...")`.
    """

    takes: ClassVar[Takes] = Takes()
    card: ClassVar[Card]
    _keywords: ClassVar[str] = ""
    _param_names: ClassVar[tuple[Callable[..., None], list[str]]]  # of the constructor
    model_ = _UnfittedModel()

    def __init_subclass__(cls, *, keywords: str = "", **options: str) -> None:
        mixins = [b for b in cls.__mro__ if b.__module__.startswith("fivefold.") and not issubclass(b, Estimator)]
        for base in (cls, *mixins):
            wrap_for_foreign_arrays(base)
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)
        cls.__init__.__annotations__ = {}  # help() shows names and defaults; the documented table has the rest
        cls._keywords = keywords or cls._keywords
        if cls._keywords:
            _order_keywords(cls, cls._keywords.split())
        complete_docstring(cls)
        for base in (cls, *mixins):
            _limit_blas(base)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names that scikit-learn reads off the constructor; once, as that takes as long as a small fit."""
        known = vars(cls).get("_param_names")
        if known is None or known[0] is not cls.__init__:
            cls._param_names = known = cls.__init__, super()._get_param_names()
        return list(known[1])

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes.missing
        tags.input_tags.sparse = self.takes.sparse
        tags.input_tags.categorical = self.takes.categories
        tags.input_tags.positive_only = self.takes.positive
        return tags

    def _admit_for_fit(self, X: UserTable) -> Table:
        """The table of a fit without targets and weights."""
        return admit(self, X, fitting=True)

    def _admit(self, X: UserTable) -> Table:
        """First line of every public method that takes new data."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # raises, in scikit-learn's words
        return admit(self, X, fitting=False)

    @property
    def device_(self) -> str:
        """Where the last fit ran: "cpu", or the device of the tensor it was given."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "device_")
        return str(vars(self).get("_device", "cpu"))

    def _host_reason(self, X: Table) -> str:
        """Why a tensor is fitted on the host with these parameters; nothing if it stays on its device."""
        return ""

    def __getstate__(self) -> dict[str, Any]:
        """What copies and files hold: learned arrays are those of NumPy, so that they can be read without a device."""
        state = cast("dict[str, Any]", super().__getstate__())
        return {name: value for name, value in state.items() if name != "_kind" or not is_tensor(value)}

    def _forget(self) -> None:
        """Forget the previous fit, so that a failing fit leaves no stale model."""
        vars(self).pop("model_", None)


def _order_keywords(cls: type[Estimator], names: list[str]) -> None:
    """List the keyword-only fields in this order, those not named last: in the signature and in the documentation."""
    place = {name: i for i, name in enumerate(names, start=1)}

    def key(name: str, keyword: bool) -> int:
        return place.get(name, len(place) + 1) if keyword else 0

    made: Any = cls  # a checker does not see what makes a class a dataclass
    known = made.__dataclass_fields__
    if unknown := set(names) - set(known):
        raise TypeError(f"{cls.__name__}: keywords names {sorted(unknown)}, which are no fields")
    made.__dataclass_fields__ = dict(sorted(known.items(), key=lambda item: key(item[0], item[1].kw_only is True)))
    shown = signature(made.__init__)
    ordered = sorted(shown.parameters.values(), key=lambda p: key(p.name, p.kind is p.KEYWORD_ONLY))
    made.__init__.__signature__ = shown.replace(parameters=ordered)


def _limit_blas(cls: type) -> None:
    """Run every public method on one BLAS thread: rounding would depend on the number of threads."""
    for name, method in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, _AvailableIfDescriptor):
            method.fn = on_one_blas_thread(method.fn)
        elif isfunction(method):
            setattr(cls, name, on_one_blas_thread(method))


class Unsupervised(Estimator):
    """Learns from X alone."""

    def __init_subclass__(cls, **options: str) -> None:
        made: Any = cls  # a class lets a checker see no new methods
        if "_fit" in vars(cls) and "w" not in signature(cls._fit).parameters:
            made.fit = with_callbacks(_fit_unweighted)
        if "_update" in vars(cls):
            weighted = "w" in signature(made._update).parameters
            made.partial_fit = _partial_fit if weighted else _partial_fit_unweighted
        super().__init_subclass__(**options)

    def _fit(self, *args: Any, **kwargs: Any) -> None:  # each method says what it takes
        """Learn from X and the weights w of its rows, or from X alone."""
        raise TypeError(f"{type(self).__name__} does not say how to fit")

    def _update(self, *args: Any) -> None:  # as `_fit`
        raise TypeError(f"{type(self).__name__} cannot be fitted in parts")

    def _label(self, X: Table) -> None:
        """Store what is learned about each row of fit, rows of weight zero included."""

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Learn from the rows of X; a weight of two means a row is there twice."""
        return self._fit_admitted(X, y, sample_weight)

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        """The work of fit; what a method adds, of whatever type, goes to its `_fit`."""
        params.check_params(self)
        self._forget()
        if (source := source_of(X)) is not None:
            return self._fit_chunks(source, X, sample_weight, **extra)
        X = admit(self, X, fitting=True)
        kept, w = keep_positive(admit_weights(self, sample_weight, X), X)
        with interruptible_fit(self):
            self._fit(kept, w, **extra)
            self._label(X)
        return self

    def _fit_chunks(self, source: ChunkSource, X: UserTable, sample_weight: UserWeights, **extra: Any) -> Self:
        """The same, from a table in chunks."""
        admitted = admit_chunks(self, source, None, sample_weight, None)
        if admitted.is_single:
            table, _, w = admitted.in_memory()
            return Unsupervised._fit_admitted(self, table, None, w, **extra)
        Z, _, w = admitted.arrays()
        with interruptible_fit(self):
            self._fit(Z, w, **extra)
            self._label(X)
        return self


def _fit_unweighted(self: U, X: UserTable, y: UserTarget = None) -> U:
    """Learn from the rows of X."""
    params.check_params(self)
    self._forget()
    if (source := source_of(X)) is not None:
        admitted = admit_chunks(self, source, None, None, None)
        X = admitted.in_memory()[0] if admitted.is_single else admitted.arrays()[0]
    X = X if is_chunked(X) else self._admit_for_fit(X)
    with interruptible_fit(self):
        self._fit(X)
    return self


def _partial_fit(self: U, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> U:
    """Go on learning from a further batch of rows."""
    params.check_params(self)
    X = admit(self, X, fitting=not self.__sklearn_is_fitted__(), learning=True)
    kept, w = keep_positive(admit_weights(self, sample_weight, X), X)
    self._update(kept, w)
    self._label(X)
    return self


def _partial_fit_unweighted(self: U, X: UserTable, y: UserTarget = None) -> U:
    """Go on learning from a further batch of rows."""
    params.check_params(self)
    self._update(admit(self, X, fitting=not self.__sklearn_is_fitted__(), learning=True))
    return self


class Clusterer(ClusterMixin, Unsupervised):
    """Finds groups; `_assign(X)` gives each row its group."""

    def _assign(self, X: Table) -> Codes:
        raise TypeError(f"{type(self).__name__} does not assign rows to groups")

    def _label(self, X: Table) -> None:
        self.labels_: Any = self._assign(X)  # Codes; None during a fit that computes none

    def fit_predict(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Codes:
        """Fit, and give the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: UserTable) -> Codes:
        """The label of each row."""
        return self._assign(self._admit(X))


class DensityEstimator(DensityMixin, Unsupervised):
    """Gives new rows a log-density."""


class OutlierDetector(OutlierMixin, Unsupervised):
    """Marks rows that do not belong: -1 outlier, +1 inlier. The lowest score of an inlier is learned."""

    def score_samples(self, X: UserTable) -> Vector:
        raise TypeError(f"{type(self).__name__} does not score rows")

    @property
    def offset_(self) -> float:
        """The lowest score of an inlier."""
        raise TypeError(f"{type(self).__name__} does not say which scores are inliers")

    def decision_function(self, X: UserTable) -> Vector:
        """Zero or more for inliers, negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: UserTable) -> Codes:
        """+1 for rows that belong, -1 for the others."""
        inside: Mask = self.decision_function(X) >= 0
        return 2 * inside.astype(int) - 1

    def p_values(self, X: UserTable, calibration: UserTable) -> Doubles:
        """How unusual each row is among `calibration`, rows that belong and were not fitted: small for outliers.

        A row from the same source gets at most alpha with a probability of at most alpha, whatever the detector, so
        that p-values of several detectors can be compared.
        """
        known, found = self.score_samples(calibration), self.score_samples(X)
        return conformal_p_values(to_numpy(found), to_numpy(known))


class Transformer(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, Unsupervised):
    """Maps rows to rows."""

"""The catalogue of methods: every public estimator of every chapter, found by walking the package.

A method declares what only its author knows in one `card`; the rest is read from the class.

    class KMeans(Transformer, Clusterer):
        card = Card(
            applications=("clustering", "quantization"),
            use="Compact groups of similar size ... ",
            steps=("Draw K seeds ...", "Give each row to its nearest centre.", ...),
            see_also=("GaussianMixture",),
            source="Lloyd (1982); Hamerly (2010)",
        )
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

import fivefold

Application = Literal[
    "classification",
    "regression",
    "clustering",
    "quantization",
    "density estimation",
    "dimension reduction",
    "denoising",
    "visualization",
    "data mining",
    "outlier detection",
    "ranking",
    "baseline",
]

# Packages that hold no methods: the floor, the engines, judgement and faces.
FLOOR = ("core",)
ENGINES = (
    "distributions",
    "information",
    "kernels",
    "linear_algebra",
    "optim",
    "spatial",
    "inference",
    "partition",
)
JUDGEMENT = ("evaluation", "decision", "theory")
JUDGEMENT_WITH_METHODS = ("theory",)  # parts of judgement that hold learners of their own
FACES = ("study", "cli", "datasets", "plot")
NOT_CHAPTERS = frozenset({*FLOOR, *ENGINES, *JUDGEMENT, *FACES})


@dataclass(frozen=True)
class SearchRange:
    """Numbers to search, from low to high on a logarithmic scale; whole numbers if both ends are `int`.

    With `per_column` both ends are divided by the number of columns, as for factors of sums over columns: the squared
    distance of two standardised rows grows with their number. Iteration gives the two ends, so that a range can stand
    where a tuple of values can.

    Examples
    --------
    >>> alpha, leaves = SearchRange(0.01, 100.0), SearchRange(1, 100)
    >>> alpha.value_at(0.5), alpha.value_at(1.25), leaves.value_at(0.5)
    (1.0, 1000.0, 10)
    >>> alpha.position_of(0.1)
    0.25
    >>> print(SearchRange(0.1, 10.0, per_column=True).for_columns(20))
    0.005 to 0.5
    """

    low: float
    high: float
    per_column: bool = False

    def __iter__(self) -> Iterator[float]:
        yield from (self.low, self.high)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', divided by the number of columns' if self.per_column else ''}"

    def for_columns(self, count: int) -> SearchRange:
        """The range for a table with this many columns."""
        return SearchRange(self.low / count, self.high / count) if self.per_column else self

    def value_at(self, position: float) -> float:
        """The number at a position: 0 is the low end, 1 the high end; other positions are beyond them."""
        value = self.low * (self.high / self.low) ** position
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        return max(1, round(value)) if whole else float(f"{value:.3g}")

    def position_of(self, value: float) -> float:
        """The position of a number; `value_at` rounds."""
        return math.log(value / self.low) / math.log(self.high / self.low)


SearchValues = tuple[object, ...] | SearchRange  # of one parameter


@dataclass(frozen=True)
class Card:
    """What a reader wants to know before using a method, and what the laws and the study need to know.

    It holds what only the author knows; `Method` adds what is read from the class: name, summary, typed input and
    output, parameters, limits. `fivefold describe NAME` prints the whole.

    Examples
    --------
    >>> card = find("KMeans").card
    >>> card.applications, card.see_also[0]
    (('clustering', 'quantization'), 'MiniBatchKMeans')
    """

    applications: tuple[Application, ...]
    use: str  # when to use it, and when not
    steps: tuple[str, ...]  # the algorithm, one sentence per step
    source: str  # literature
    see_also: tuple[str, ...] = ()  # names of other methods in the registry
    variants: tuple[Mapping[str, object], ...] = ()  # further settings that every law checks, besides the defaults
    # values for arguments without a default, to try the method with
    given: Mapping[str, object] = field(default_factory=dict)
    search: Mapping[str, SearchValues] = field(default_factory=dict)  # values the study tries besides the defaults
    # values it tries with the best setting alone, such as more trees: they cost time, and do no harm
    finish: Mapping[str, object] = field(default_factory=dict)
    study: Mapping[str, object] = field(default_factory=dict)  # what a study takes in place of the defaults
    portfolio: bool = False  # in the study by default
    growth: float = 1.0  # fit and predict take time proportional to rows ** growth
    scaled_target: bool = False  # does the study standardise the target for it, whose unit its parameters have?
    order_dependent: bool = (
        False  # updates follow the order of the rows: a weight of two equals a repeated row only in distribution
    )


@dataclass(frozen=True)
class Parameter:
    """One field of a method."""

    name: str
    default: object
    allowed: str
    meaning: str


@dataclass(frozen=True)
class TypedValue:
    """Something that goes into a method or comes out of it, and its type."""

    name: str
    type: str


# What the methods of an estimator return: n rows, K classes or components, m columns.
OUTPUT_TYPES = {
    "predict_proba": "probabilities (n, K)",
    "decision_function": "scores (n,) or (n, K)",
    "score_samples": "log densities or scores (n,)",
    "transform": "numbers (n, m)",
    "inverse_transform": "rows (n, d)",
    "sample": "new rows, and the component of each",
    "apply": "leaves (n,) or (n, trees)",
    "kneighbors": "distances and numbers of rows (n, k)",
    "radius_neighbors": "distances and numbers of rows, an array per row",
}


@dataclass(frozen=True)
class Method:
    """A method and everything the registry knows about it."""

    name: str
    chapter: str
    cls: Any  # a subclass of Estimator, with the methods of its kind
    card: Card

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        return (inspect.getdoc(self.cls) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def formula(self) -> str:
        """The documentation of the module: formula, algorithm, source."""
        return inspect.getdoc(inspect.getmodule(self.cls)) or ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        from fivefold.core.estimators.documentation import documented_parameters
        from fivefold.core.estimators.params import declared_params, describe

        meanings, hints = documented_parameters(self.cls), declared_params(self.cls)
        return tuple(
            Parameter(
                f.name,
                None if f.default is MISSING else f.default,
                describe(hints[f.name]),
                meanings.get(f.name, ""),
            )
            for f in fields(self.cls)
        )

    @property
    def inputs(self) -> tuple[TypedValue, ...]:
        """What `fit` takes, and of what type."""
        takes, fit = self.cls.takes, inspect.signature(self.cls.fit).parameters
        kinds = ["counts or other numbers from 0 up" if takes.positive else "numbers"]
        kinds += ["categories"] if takes.categories else []
        kinds += ["missing values"] if takes.missing else []
        found = [TypedValue("X", f"table (n, d) of {', '.join(kinds)}" + ("; dense or sparse" if takes.sparse else ""))]
        if "y" in fit and fit["y"].default is inspect.Parameter.empty:
            answers = "labels" if self._estimator_type == "classifier" else "numbers"
            found.append(TypedValue("y", f"{answers} (n,)" + (" or (n, outputs)" if takes.outputs else "")))
        return tuple(
            found + ([TypedValue("sample_weight", "numbers (n,) from 0 up")] if "sample_weight" in fit else [])
        )

    @property
    def outputs(self) -> tuple[TypedValue, ...]:
        """What a fitted estimator returns for rows, and of what type."""
        answers = {"classifier": "labels (n,)", "regressor": "numbers (n,)", "clusterer": "groups (n,), from 0 up"}
        answers["outlier_detector"] = "+1 inside or -1 outside (n,)"
        several = " or (n, outputs)" if self.cls.takes.outputs else ""
        outputs = {
            "predict": answers.get(self._estimator_type or "", "components (n,), from 0 up") + several,
            **OUTPUT_TYPES,
        }
        if not hasattr(self.cls, "predict"):
            outputs["fit_predict"] = "groups of the rows of the fit (n,), from 0 up; -1 for a row in none"
        if not hasattr(self.cls, "transform"):
            outputs["fit_transform"] = OUTPUT_TYPES["transform"]
        return tuple(TypedValue(name, kind) for name, kind in outputs.items() if hasattr(self.cls, name))

    @property
    def limits(self) -> tuple[str, ...]:
        """What it cannot do, or does slowly, as far as the class says."""
        takes, card = self.cls.takes, self.card
        found = {
            "missing values have to be filled first": not takes.missing,
            "categories have to be coded as numbers first": not takes.categories,
            f"time grows as rows ** {card.growth:g}": card.growth > 1,
            "the order of the rows matters": card.order_dependent or takes.sequence,
        }
        return tuple(text for text, holds in found.items() if holds)

    @property
    def hyperparameters(self) -> dict[str, SearchValues]:
        """Parameters worth choosing by validation, with the values that a study tries."""
        return {**{name: (value,) for name, value in self.card.finish.items()}, **self.card.search}

    @property
    def discussion(self) -> str:
        """When to use it and when not, its limits, and what to choose."""
        limits = "; ".join(self.limits)
        tried = ", ".join(f"{name} ({_describe_values(values)})" for name, values in self.hyperparameters.items())
        chosen = f"Choose by validation: {tried}." if tried else "No parameter needs a search; the defaults will do."
        return " ".join([self.card.use, *([f"Limits: {limits}."] if limits else []), chosen])

    @property
    def _estimator_type(self) -> str | None:
        from sklearn.base import ClassifierMixin, ClusterMixin, OutlierMixin, RegressorMixin

        mixins = {
            "classifier": ClassifierMixin,
            "regressor": RegressorMixin,
            "clusterer": ClusterMixin,
            "outlier_detector": OutlierMixin,
        }
        return next((kind for kind, mixin in mixins.items() if issubclass(self.cls, mixin)), None)

    @property
    def abilities(self) -> tuple[str, ...]:
        """What it takes and gives, in words."""
        takes = self.cls.takes
        fit = inspect.signature(self.cls.fit).parameters
        new_rows = hasattr(self.cls, "predict") or hasattr(self.cls, "transform")
        found = {
            "missing values": takes.missing,
            "categories": takes.categories,
            "sparse matrices": takes.sparse,
            "chunks": takes.chunks,
            "tensors": takes.tensors,
            "sample weights": "sample_weight" in fit,
            "probabilities": hasattr(self.cls, "predict_proba"),
            "new rows": new_rows,
            "the rows of the fit only": not new_rows,
            "partial_fit": hasattr(self.cls, "partial_fit"),
            "samples": hasattr(self.cls, "sample"),
        }
        return tuple(name for name, has in found.items() if has)


def _describe_values(values: SearchValues) -> str:
    return str(values) if isinstance(values, SearchRange) else ", ".join(map(str, values))


@cache
def methods() -> tuple[Method, ...]:
    """Every method, by chapter and name."""
    from fivefold.core.estimators.base import Estimator

    found = []
    for chapter in (*chapters(), *JUDGEMENT_WITH_METHODS):
        for name, thing in vars(import_module(f"{fivefold.__name__}.{chapter}")).items():
            own = getattr(thing, "__module__", "").startswith(f"{fivefold.__name__}.{chapter}.")
            if own and inspect.isclass(thing) and issubclass(thing, Estimator) and not name.startswith("_"):
                found.append(Method(name, chapter, thing, thing.card))
    return tuple(sorted(found, key=lambda method: (method.chapter, method.name)))


@cache
def chapters() -> tuple[str, ...]:
    """The packages that hold methods."""
    packages = (m.name for m in iter_modules(fivefold.__path__) if m.ispkg)
    return tuple(sorted(set(packages) - NOT_CHAPTERS))


def find(name: str) -> Method:
    """The method of that name; letter case does not matter."""
    known = {method.name.lower(): method for method in methods()}
    if name.lower() in known:
        return known[name.lower()]
    near = [known[key].name for key in get_close_matches(name.lower(), known, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else "see `fivefold methods` for the list"
    raise KeyError(f"no method is called {name!r}; {hint}")

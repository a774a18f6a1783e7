"""Logistic regression with the strength of its penalty chosen by cross-validation.

For each fold and share of L1 the coefficients of every C are found on the rows outside the fold, from the strongest
penalty to the weakest, each from the one before, and judged on the fold. The C (and l1_ratio) of the best mean score is
fitted to all rows, starting at the mean over the folds; or the best coefficients of each fold are averaged.

Hastie, Tibshirani & Friedman (2009), section 7.10; Friedman, Hastie & Tibshirani (2010).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from fivefold.core._sklearn import _check_method_params, _num_samples
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import given_weights
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Count, Positive
from fivefold.core.parallel import map_items
from fivefold.core.registry import Card
from fivefold.core.types import (
    Array,
    Codes,
    Indices,
    Labels,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.linear_model.base import LinearModel, class_scores
from fivefold.linear_model.logistic import LogisticRegression, LogLinearClassifier
from fivefold.linear_model.model_selection.cv_folds import split_folds
from fivefold.linear_model.model_selection.logistic_path import LogisticPath, PathSearch
from fivefold.linear_model.solvers.risk_solver import (
    centred_coefficients,
    linear_from_risk,
)
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.objective import Minimum

MIN_THREAD_NUMBERS = 2**16  # folds run on threads if the table has at least this many numbers
MIN_LOG10_C, MAX_LOG10_C = -4, 4  # powers of ten between which an automatic grid lies
DEFAULT_FOLDS = 5  # number of folds by default; fewer if every class has fewer rows
PENALTY_RATIOS = {"l1": 1.0, "l2": 0.0}  # penalty -> l1_ratio

SurfaceScorer = Callable[[LinearModel, Indices], float]  # the score of a surface on these rows
FoldResult = tuple[list[list[tuple[LinearModel, Minimum]]], list[list[float]]]  # surfaces and scores (ratios, Cs)


class LogisticRegressionCV(
    LogLinearClassifier,
    keywords="Cs l1_ratios fit_intercept cv dual penalty scoring solver tol max_iter class_weight n_jobs verbose refit "
    "intercept_scaling random_state",
):
    """Logistic regression whose penalty is chosen by cross-validation along paths of strengths.

    Parameters
    ----------
    Cs
        how many inverse strengths to try, evenly between 1e-4 and 1e4 in logarithms, or the inverse strengths.
    l1_ratios
        shares of the L1 penalty to try; None and "warn" take 0, L2 alone.
    cv
        number of stratified folds, a splitter, or pairs of row numbers; five folds by default, fewer if every class has
        fewer rows.
    penalty
        kept for scikit-learn's signature: "l2" and "l1" are l1_ratios of 0 and 1, "elasticnet" takes l1_ratios.
    scoring
        name of a score or a scorer, larger is better; None and "warn" take the accuracy.
    tol
        the objective ends at most a share tol^2 / 10 above its minimum.
    max_iter
        maximum number of passes over the rows for one strength.
    refit
        fit the strength of the best mean score to all rows; False averages the best coefficients of each fold.
    use_legacy_attributes
        True and "warn" give `scores_`, `coefs_paths_`, `n_iter_`, `C_` and `l1_ratio_` by class, as scikit-learn did
        before 1.10; False gives arrays over folds, shares and strengths, and numbers.

    Attributes
    ----------
    C_, l1_ratio_
        the strength and the share chosen.
    Cs_, l1_ratios_
        those tried.
    scores_
        the score of each fold, share and strength.
    coefs_paths_
        their coefficients, the intercept last.
    n_iter_
        their passes over the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.linear_model import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(scoring="neg_log_loss", use_legacy_attributes=False).fit(X, y)
    >>> round(model.C_, 1), round(model.score(X, y), 2)
    (166.8, -0.04)
    """

    _: KW_ONLY
    Cs: Count | list[Any] | tuple[Any, ...] | np.ndarray = 10
    l1_ratios: list[Any] | tuple[Any, ...] | np.ndarray | Literal["warn"] | None = "warn"
    cv: Any = None  # a number of folds, a splitter, or pairs of row numbers
    penalty: Literal["l1", "l2", "elasticnet", "deprecated"] = "deprecated"
    scoring: str | Callable[..., Any] | None = "warn"
    refit: bool = True
    intercept_scaling: Positive = 1.0
    use_legacy_attributes: bool | Literal["warn"] = "warn"

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Logistic regression when you do not know the strength of its penalty. Scale the columns first.",
        steps=(
            "Cut the rows into folds with the same shares of the classes.",
            "For each fold find the coefficients of every strength on the other rows, each from the one before.",
            "Average the scores over the folds and take the strength of the best.",
            "Fit that strength to all rows.",
        ),
        source="Hastie, Tibshirani & Friedman (2009); Friedman, Hastie & Tibshirani (2010)",
        see_also=("LogisticRegression", "RidgeCV", "LassoCV"),
        given={"Cs": 4, "l1_ratios": (0.0,), "scoring": "accuracy", "use_legacy_attributes": False},
        variants=(
            {"Cs": [0.1, 10.0], "l1_ratios": (0.0, 1.0), "cv": 3},
            {"Cs": [1.0, 0.01], "scoring": "neg_log_loss", "refit": False, "class_weight": "balanced"},
        ),
    )

    # the scorer requests what it needs; the method itself requests nothing
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Self:
        """Choose the strength and learn from rows and their targets; a weight of two counts a row twice."""
        if sample_weight is not None:
            sample_weight = given_weights(self, sample_weight, _num_samples(X))
        routed = self._route("fit", sample_weight, params)
        return self._fit_admitted(X, y, sample_weight, given_weight=sample_weight, routed=routed)

    def _fit(
        self, X: Table, y: Target, w: Weights, given_weight: Weights | None = None, routed: Bunch | None = None
    ) -> None:
        routed = self._route("fit", None, {}) if routed is None else routed
        given = np.ones(len(w)) if given_weight is None else np.asarray(given_weight)
        kept = np.flatnonzero(given > 0)
        cv = min(DEFAULT_FOLDS, max(2, int(np.bincount(y).max()))) if self.cv is None else self.cv
        splits = split_folds(cv, X, y, given_weight, classes=True, **_take_rows(routed.splitter.split, given, kept))
        score_of = self._surface_scorer(X, y, given, kept, routed.scorer.score)
        path, Cs, ratios = LogisticPath(self._fold_estimator(X)), self._strengths(), self._shares()
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        search = PathSearch.empty(Cs, ratios, len(splits), outputs, X.shape[1] + self.fit_intercept)
        reasons: list[str] = []

        def part(k: int) -> FoldResult:
            train, test = splits[k]
            rows = X[train], y[train], w[train]
            surfaces = [[_surface(*one) for one in path.minima(*rows, Cs, ratio)] for ratio in ratios]
            return surfaces, [[score_of(surface, test) for surface, _ in row] for row in surfaces]

        interrupted = False
        with fit_steps(self, "fold", len(splits), X) as monitor:
            try:
                large = X.shape[0] * X.shape[1] >= MIN_THREAD_NUMBERS
                each = map_items(part, len(splits)) if large else map(part, range(len(splits)))
                for k, (surfaces, scores) in enumerate(each):
                    search.scores[k] = scores
                    for i, row in enumerate(surfaces):
                        for j, (surface, end) in enumerate(row):
                            search.paths[k, i, j] = self._flat(surface)
                            search.passes[k, i, j] = end.steps
                            reasons.append(end.reason)
                    i, j = search.best(search.scores[k])
                    monitor(surfaces[i][j][0], float(search.scores[k].max()))
            except KeyboardInterrupt:
                interrupted = True
        self.search_ = search = self._chosen(search)
        self.model_, reason = self._final(path, X, y, w, search)
        self._warn_unfinished(search, [*reasons, reason], interrupted)

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Any:
        """The score of `scoring` on new rows."""
        return self._scorer()(self, X, y, **self._route("score", sample_weight, params).scorer.score)

    def get_metadata_routing(self) -> Any:
        """The metadata that the splitter and the scorer request."""
        to_scorer = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=to_splitter).add(
            scorer=self._scorer(), method_mapping=to_scorer
        )

    @property
    def Cs_(self) -> Array:
        """The inverse strengths tried."""
        return self.search_.Cs

    @property
    def l1_ratios_(self) -> Labels:
        """The shares tried."""
        return np.array([None]) if self._without_ratios else self.search_.ratios

    @property
    def C_(self) -> float | Vector:
        """The inverse strength chosen, or the mean of those of the folds."""
        return self._by_class(self.search_.C)

    @property
    def l1_ratio_(self) -> float | Labels:
        """The share chosen, or the mean of those of the folds."""
        return self._by_class(None if self._without_ratios and self._legacy and self.refit else self.search_.ratio)

    @property
    def scores_(self) -> Array | dict[Any, Array]:  # by labels of any kind
        """Scores (folds, ratios, Cs); with use_legacy_attributes by class, (folds, Cs, ratios) or (folds, Cs)."""
        scores = self.search_.scores
        return {label: self._legacy_axes(scores) for label in self._labels} if self._legacy else scores

    @property
    def coefs_paths_(self) -> Array | dict[Any, Array]:
        """Coefficients (folds, ratios, Cs, outputs, columns and intercept), or by class in the order of `scores_`."""
        paths = self.search_.paths
        return {c: self._legacy_axes(paths[..., k, :]) for k, c in enumerate(self._labels)} if self._legacy else paths

    @property
    def n_iter_(self) -> Array:
        """Passes over the rows, in the order of `scores_`."""
        passes = self.search_.passes
        return self._legacy_axes(passes)[None] if self._legacy else passes

    @property
    def _legacy(self) -> bool:
        return bool(self.use_legacy_attributes)

    @property
    def _without_ratios(self) -> bool:
        return self.l1_ratios is None or isinstance(self.l1_ratios, str)

    @property
    def _labels(self) -> Labels:
        return self.classes_[1:] if len(self.classes_) == 2 else self.classes_

    def _by_class(self, value: Any) -> Any:
        return np.array([value] * len(self._labels)) if self._legacy else value

    def _legacy_axes(self, values: Array) -> Array:
        """Axes (folds, Cs, ratios), without the last if no l1_ratios were given."""
        return values[:, 0] if self._without_ratios else np.swapaxes(values, 1, 2)

    def _strengths(self) -> Array:
        Cs = np.asarray(self.Cs, dtype=np.float64)
        Cs = np.logspace(MIN_LOG10_C, MAX_LOG10_C, int(Cs)) if Cs.ndim == 0 else Cs
        if Cs.ndim != 1 or not Cs.size or not (Cs > 0).all():
            raise ValueError(f"LogisticRegressionCV: Cs must be positive numbers, one or more; got {self.Cs!r}")
        return Cs

    def _shares(self) -> Array:
        if self.penalty in PENALTY_RATIOS or (self._without_ratios and self.penalty == "deprecated"):
            return np.array([PENALTY_RATIOS.get(self.penalty, 0.0)])
        ratios = np.asarray([] if self._without_ratios else self.l1_ratios, dtype=np.float64)
        if ratios.ndim != 1 or not ratios.size or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(
                f"LogisticRegressionCV: l1_ratios must be numbers between 0 and 1, one or more; got {self.l1_ratios!r}"
            )
        return ratios

    def _fold_estimator(self, X: Table) -> LogisticRegression:
        """A logistic regression that knows its classes and columns, and takes its coefficients from elsewhere."""
        estimator: Any = LogisticRegression(  # typed without n_features_in_
            fit_intercept=self.fit_intercept,
            solver=self.solver,
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        estimator.classes_, estimator.n_features_in_ = self.classes_, X.shape[1]
        return estimator

    def _chosen(self, search: PathSearch) -> PathSearch:
        """The best mean score over the folds judged, or the mean of the best of each."""
        scores = search.scores[search.judged]
        if self.refit or not len(scores):
            i, j = search.best(scores.sum(axis=0))
            return replace(search, C=float(search.Cs[j]), ratio=float(search.ratios[i]))
        best = np.array([search.best(one) for one in scores])
        return replace(search, C=float(search.Cs[best[:, 1]].mean()), ratio=float(search.ratios[best[:, 0]].mean()))

    def _final(
        self, path: LogisticPath, X: Table, y: Target, w: Weights, search: PathSearch
    ) -> tuple[LinearModel, str]:
        """The surface of the strength chosen, and why its descent ended."""
        paths, d = search.paths[search.judged], X.shape[1]
        if not self.refit and len(paths):
            best = [search.best(one) for one in search.scores[search.judged]]
            W = np.mean([fold[i, j] for fold, (i, j) in zip(paths, best, strict=True)], axis=0).astype(X.dtype)
            return LinearModel(W[:, :d], W[:, d] if self.fit_intercept else np.zeros(len(W), X.dtype)), "converged"
        risk, i = path.estimator._risk(X, y, w, 0.0), int(np.argmax(search.ratios == search.ratio))
        W = paths[:, i, int(np.argmax(search.Cs == search.C))].sum(axis=0) / max(len(paths), 1)
        start = centred_coefficients(risk.design, W[:, :d], W[:, d] if self.fit_intercept else 0.0)
        risk, end = path.minimum(risk, start.ravel(), search.C, search.ratio)
        return linear_from_risk(risk, end.x, X.dtype, end.steps), end.reason

    def _flat(self, surface: LinearModel) -> Array:
        return np.column_stack([surface.coef, surface.intercept]) if self.fit_intercept else surface.coef

    def _scorer(self) -> Callable[..., float]:
        return get_scorer("accuracy" if self.scoring in (None, "warn") else self.scoring)

    def _surface_scorer(
        self, X: Table, y: Codes, given: Weights, kept: Indices, params: dict[str, Any]
    ) -> SurfaceScorer:
        """How surfaces are scored: by the accuracy directly, by anything else through its scorer with `params`."""
        if self.scoring in (None, "warn", "accuracy"):
            weights = params.get("sample_weight")
            row_weights = None if weights is None else np.asarray(weights)[kept]

            def accuracy(surface: LinearModel, rows: Indices) -> float:
                right = class_scores(surface, X[rows]).argmax(axis=1) == y[rows]
                return float(np.average(right, weights=None if row_weights is None else row_weights[rows]))

            return accuracy
        scorer, labels = _with_all_labels(self._scorer(), self.classes_), self.classes_[y]

        def score(surface: LinearModel, rows: Indices) -> float:
            model = self._fold_estimator(X)
            model.model_ = surface
            return float(scorer(model, X[rows], labels[rows], **_take_rows(params, given, kept[rows])))

        return score

    def _route(self, caller: str, sample_weight: UserWeights, params: dict[str, Any]) -> Bunch:
        if params and not routing_enabled():
            raise ValueError(
                f"LogisticRegressionCV: {caller}() got unexpected arguments {sorted(params)}; enable metadata routing "
                "to pass them on"
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routing_enabled():
            return process_routing(self, caller, **weights, **params)
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=weights))

    def _warn_unfinished(self, search: PathSearch, reasons: list[str], interrupted: bool) -> None:
        short = sum(reason == "max_iter" for reason in reasons)
        if interrupted or reasons[-1] == "interrupted":
            warn_kept_best(self, int(search.judged.sum()), "fold")
        elif short and self.max_iter > 0:
            warn(
                f"LogisticRegressionCV: {self.max_iter} passes were not enough for tol={self.tol:g} in {short} of "
                f"{len(reasons)} descents. Scale the columns, or raise max_iter or tol",
                ConvergenceWarning,
            )


def _surface(risk: EmpiricalRisk, end: Minimum) -> tuple[LinearModel, Minimum]:
    """The coefficients in float64, and how they were found."""
    return linear_from_risk(risk, end.x, np.float64, end.steps), end


def _take_rows(params: dict[str, Any], given: Weights, rows: Indices) -> dict[str, Any]:
    """The parameters for these rows, of parameters that may have an entry per row passed to fit."""
    return _check_method_params(given, params=params, indices=rows)


def _with_all_labels(scorer: Any, classes: Labels) -> Callable[..., float]:  # scikit-learn's, or a user's own
    """The scorer with all labels listed, if its function takes `labels`: a fold may lack some of them."""
    score = getattr(scorer, "_score_func", None)
    asked = {} if score is None else inspect.signature(score).parameters
    if score is None or "labels" not in asked:
        return scorer
    known = {"labels": classes, **({"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in asked else {})}
    return make_scorer(
        score,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{**known, **scorer._kwargs},
    )

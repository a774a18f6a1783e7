"""Generalized linear models: a mean tied to a linear predictor, and noise that grows with the mean.

    g(mu_i) = eta_i = w.x_i + b

    min over (w, b)   sum_i s_i d(y_i, mu_i) / (2 S) + alpha |w|^2 / 2,      S = sum_i s_i

d is the unit deviance of the family (optim.losses.glm_families): twice the fall of the log-likelihood from a perfect
fit. Fisher scoring on a sample of the rows, L-BFGS in its coordinates on all rows
(optim.risk_minimisation.preconditioned_descent).

Nelder & Wedderburn (1972); McCullagh & Nelder (1989).
"""

from __future__ import annotations

from collections import deque
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.chunks.chunked_array import is_chunked, map_chunks, sum_over_chunks, sum_pairs, weighted_mean
from fivefold.core.chunks.sources import ChunkSource
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.chunk_answers import scored_chunks
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel, cast_learned, predictor
from fivefold.linear_model.diagnostics.standard_errors import (
    UNPENALISED_TOL,
    MaximumLikelihood,
    coefficient_names,
    intercept_first,
    shortest_maximum,
)
from fivefold.linear_model.diagnostics.summary import Summary
from fivefold.optim.design import Design, pilot_centre
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.glm_families import (
    BinomialFamily,
    CloglogLink,
    Family,
    GammaFamily,
    IdentityLink,
    InverseGaussianFamily,
    Link,
    LogitLink,
    LogLink,
    NormalFamily,
    PoissonFamily,
    PowerLink,
    ProbitLink,
    deviance_loss,
    fisher_weights,
)
from fivefold.optim.objective import Minimum
from fivefold.optim.risk_minimisation.preconditioned_descent import minimise_risk

FAMILIES: dict[str, Family] = {
    "normal": NormalFamily(),
    "poisson": PoissonFamily(),
    "binomial": BinomialFamily(),
    "gamma": GammaFamily(),
    "inverse gaussian": InverseGaussianFamily(),
}
LINKS: dict[str, Link] = {
    "identity": IdentityLink(),
    "log": LogLink(),
    "logit": LogitLink(),
    "probit": ProbitLink(),
    "cloglog": CloglogLink(),
    "inverse": PowerLink(-1.0),
    "inverse squared": PowerLink(-2.0),
    "root": PowerLink(0.5),
}

CARD_STEPS = (
    "Start at the mean, or at the coefficients of a sample of the rows.",
    "Turn and scale the coordinates so that the curvature is one.",
    "Descend on all rows by L-BFGS.",
)


@dataclass(frozen=True)
class MeanModel:
    """A linear surface behind a link, and the likelihood at its maximum after a fit without a penalty."""

    linear: LinearModel
    family: Family
    link: Link
    likelihood: MaximumLikelihood | None = None


class LikelihoodRegressor(Regressor):
    """Fits the mean of a family under a link; `_model` says which.

    Parameters
    ----------
    max_iter
        maximum number of passes over the rows.
    alpha
        strength of the penalty on the squared coefficients; 0 is maximum likelihood.
    fit_intercept
        fit an intercept, which is not penalised.
    solver, verbose
        kept for scikit-learn's signature; every solver reaches the same optimum.
    tol
        the objective ends at most a share tol^2 / 10 above its minimum.
    warm_start
        start from the coefficients of the last fit.

    Attributes
    ----------
    n_iter_
        passes over the rows.
    coef_, intercept_
        of the linear predictor: with the log link, of the log mean.
    """

    _: KW_ONLY
    alpha: NonNegative = 1.0
    fit_intercept: bool = True
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    warm_start: bool = False

    takes = Takes(sparse=True, tensors=True, chunks=True)

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")
    n_iter_ = learned("linear.n_iter")

    def _model(self) -> tuple[Family, Link]:
        raise TypeError(f"{type(self).__name__} does not say what it fits")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        family, link = self._model()
        y = y.double() if is_tensor(y) else y.astype(np.float64)
        self._refuse(family, y)
        design = Design(X, self.fit_intercept, pilot_centre(X) if self.fit_intercept else None)
        weight = float(w.sum())
        ridge = np.full(design.size, self.alpha * weight)
        if self.fit_intercept:
            ridge[-1] = 0.0
        risk = EmpiricalRisk(deviance_loss(family, link), design, y, w, ridge)
        with fit_steps(self, "pass", self.max_iter, X) as monitor:
            found = minimise_risk(
                risk,
                self._start(risk, link),
                tol=self.tol if self.alpha else self.tol * UNPENALISED_TOL,
                max_iter=self.max_iter,
                monitor=lambda x, value: monitor(MeanModel(_linear(risk, x, X.dtype, 0), family, link), value),
            )
        self.history_, self.reason_ = found.history, found.reason
        likelihood = None
        if not self.alpha:
            H = sum_over_chunks(
                lambda risk: risk.design.gram(risk.s * fisher_weights(family, link, risk.design.predictor(found.x))),
                risk,
            )
            found = replace(found, x=shortest_maximum(found.x, H))
            likelihood = _likelihood(risk, found, family, link, H)
        self.model_ = MeanModel(_linear(risk, found.x, X.dtype, found.steps), family, link, likelihood)
        self._warn_unfinished(found)

    def predict(self, X: UserTable) -> Any:
        """The mean of the target at each row."""
        X, model = self._admit(X), self.model_
        mean = model.link.inverse(predictor(model.linear, X))
        return mean if is_tensor(mean) else np.asarray(mean, dtype=X.dtype)

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path({WIDE: X.shape[0] < X.shape[1]})

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float:
        """The explained share of the deviance: 1 is perfect, 0 is no better than the mean."""
        if (source := source_of(X)) is not None:
            return self._chunk_score(source, y, sample_weight)
        mu = np.asarray(to_numpy(self.predict(X)), dtype=np.float64)
        family, y = self.model_.family, np.asarray(to_numpy(y), dtype=np.float64)
        self._refuse(family, y)
        w = admit_weights(self, sample_weight, mu[:, None])
        null = float(w @ family.half_deviance(y, np.full(len(y), np.average(y, weights=w))))
        deviance = float(w @ family.half_deviance(y, mu))
        return 1 - deviance / null if null > 0 else float(deviance == 0)

    def _chunk_score(self, source: ChunkSource, y: UserTarget, sample_weight: UserWeights) -> float:
        family = self.model_.family

        def totals(X: Table, y: Target, w: Weights) -> tuple[float, float]:
            return float(w @ np.asarray(y, dtype=np.float64)), float(w.sum())

        total, weight = reduce(sum_pairs, scored_chunks(self, source, y, sample_weight, totals))

        def deviances(X: Table, y: Target, w: Weights) -> tuple[float, float]:
            y, mu = np.asarray(y, dtype=np.float64), np.asarray(self.predict(X), dtype=np.float64)
            self._refuse(family, y)
            constant = np.full(len(y), total / weight)
            return float(w @ family.half_deviance(y, mu)), float(w @ family.half_deviance(y, constant))

        deviance, null = reduce(sum_pairs, scored_chunks(self, source, y, sample_weight, deviances))
        return 1 - deviance / null if null > 0 else float(deviance == 0)

    def summary(self, level: float = 0.95) -> Summary:
        """Standard errors, z, p, intervals, deviance, AIC and BIC of a fit with alpha=0."""
        check_is_fitted(self)
        likelihood, name = self.model_.likelihood, type(self).__name__
        if likelihood is None:
            raise ValueError(
                f"{name}.summary: a penalty (alpha={self.alpha!r}) biases the coefficients and their standard errors; "
                "fit with alpha=0"
            )
        names = coefficient_names(self, self.model_.linear.coef.shape[-1], self.fit_intercept)
        title = f"Generalized linear model, {type(self.model_.family).__name__}, {type(self.model_.link).__name__}"
        summary: Summary = likelihood.summary(title, names, level=level, facts={"dispersion": likelihood.dispersion})
        return summary

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _start(self, risk: EmpiricalRisk, link: Link) -> Array:
        start = np.zeros(risk.design.size)
        known = vars(self).get("model_")
        if self.warm_start and known is not None and known.linear.coef.shape == (risk.design.X.shape[1],):
            coef, centre = known.linear.coef, risk.design.centre
            start[: len(coef)] = coef
            if self.fit_intercept:
                start[-1] = known.linear.intercept + (0.0 if centre is None else coef @ centre)
        elif self.fit_intercept:
            mean = weighted_mean(risk.y, risk.s)
            start[-1] = link.link(np.clip(mean, self._model()[0].low + 1e-8, self._model()[0].high - 1e-8))
        return start

    def _refuse(self, family: Family, y: Array) -> None:
        if is_chunked(y):
            deque(map_chunks(lambda y: self._refuse(family, y), y), maxlen=0)
            return
        bad = ~family.is_possible(y)
        if bad.any():
            bad, y = to_numpy(bad), to_numpy(y)
            ends = f"{'[' if family.low_included else '('}{family.low:g}, {family.high:g}]"
            raise ValueError(
                f"{type(self).__name__}: Some value(s) of y are out of the valid range {ends} of the family "
                f"{type(family).__name__}: {y[bad.argmax()]:g} in row {int(bad.argmax())}, {int(bad.sum())} in all"
            )

    def _warn_unfinished(self, found: Minimum) -> None:
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "pass")
        elif found.reason == "diverged":
            raise ValueError(
                f"{type(self).__name__}: the link gives no possible mean at the start; fit an intercept, or take the "
                "log link"
            )
        elif found.reason == "max_iter":
            warn(
                f"{type(self).__name__}: {found.steps} passes were not enough for tol={self.tol:g}. Scale the "
                "columns, or raise max_iter or tol",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._model()[0].low >= 0
        return tags


class ScikitLikelihoodRegressor(LikelihoodRegressor, keywords="alpha fit_intercept solver"):
    """What the methods that scikit-learn has add: parameters of its signature."""

    _: KW_ONLY
    solver: Literal["lbfgs", "newton-cholesky"] = "lbfgs"
    verbose: int | bool = 0


class GeneralizedLinearRegressor(LikelihoodRegressor, keywords="family link"):
    """Any family under any link, with standard errors.

    Parameters
    ----------
    family
        "normal", "poisson", "binomial" (shares between 0 and 1), "gamma" or "inverse gaussian".
    link
        "canonical", or "identity", "log", "logit", "probit", "cloglog", "inverse", "inverse squared", "root".

    Examples
    --------
    >>> from fivefold.linear_model import GeneralizedLinearRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.3, 0.6, 0.8]
    >>> model = GeneralizedLinearRegressor(family="binomial").fit(X, y)
    >>> model.coef_.round(2), model.predict([[1.5]]).round(2)
    (array([1.19]), array([0.43]))
    """

    _: KW_ONLY
    family: Literal["normal", "poisson", "binomial", "gamma", "inverse gaussian"] = "normal"
    link: Literal[
        "canonical", "identity", "log", "logit", "probit", "cloglog", "inverse", "inverse squared", "root"
    ] = "canonical"
    alpha: NonNegative = 0.0

    card = Card(
        applications=("regression",),
        use="Targets that are counts, shares, or positive, where standard errors are wanted. The canonical links of "
        "the gamma and inverse Gaussian families need a positive predictor; the log link does not.",
        steps=(CARD_STEPS[0], "Change coordinates so that Fisher's information is the identity.", CARD_STEPS[2]),
        source="Nelder & Wedderburn (1972); McCullagh & Nelder (1989)",
        see_also=("PoissonRegressor", "GammaRegressor", "LogisticRegression"),
    )

    def _model(self) -> tuple[Family, Link]:
        family = FAMILIES[self.family]
        return family, family.canonical if self.link == "canonical" else LINKS[self.link]


def _linear(risk: EmpiricalRisk, x: Vector, dtype: DTypeLike, passes: int) -> LinearModel:
    w, b = risk.design.split(x)
    coef, centre = cast_learned(w, dtype), risk.design.centre
    if centre is None:
        return LinearModel(coef, cast_learned(b, dtype)[()], n_iter=passes)
    return LinearModel(coef, cast_learned(b - w @ centre, dtype)[()], centre, b, n_iter=passes)


def _likelihood(risk: EmpiricalRisk, found: Minimum, family: Family, link: Link, H: Array) -> MaximumLikelihood:
    """Fisher's information at the maximum; the dispersion by Pearson's statistic if the family leaves it open."""
    count, d = float(risk.s.sum()), risk.design.X.shape[1]
    estimate, information = intercept_first(risk, found.x, H)

    def means_of(risk: EmpiricalRisk) -> tuple[Array, ...]:
        """Means, weights and targets, as arrays of NumPy: one number per row of a tensor too."""
        eta, s, y = (to_numpy(part) for part in (risk.design.predictor(found.x), risk.s, risk.y))
        return link.inverse(eta), s, y

    def pearson(risk: EmpiricalRisk) -> float:
        mu, s, y = means_of(risk)
        return float(s @ ((y - mu) ** 2 / family.variance(mu)))

    dof = count - risk.design.size
    phi = 1.0
    if not family.dispersion_known:
        phi = sum_over_chunks(pearson, risk) / dof if dof > 0 else np.nan
    mean = weighted_mean(risk.y, risk.s)

    def densities(risk: EmpiricalRisk) -> tuple[float, ...]:
        mu, s, y = means_of(risk)
        return tuple(float(s @ family.log_density(y, m, phi)) for m in (mu, np.full(len(y), mean)))

    log_likelihood = null = np.nan
    if phi != 0.0:  # if every target is fitted exactly there is no noise, and no density
        log_likelihood, null = sum_over_chunks(densities, risk, merge=sum_pairs)
    return MaximumLikelihood(
        estimate=estimate,
        information=information,
        count=count,
        log_likelihood=log_likelihood,
        null=null,
        columns=d,
        dispersion=phi,
    )

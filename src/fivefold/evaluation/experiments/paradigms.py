"""Generative and discriminative classifiers: one switch between them, and both compared on one table.

    generative        p(x | C_k) and p(C_k) are modelled; p(C_k | x) follows from Bayes' rule
                      priors can be replaced, rows sampled, and rows recognised that belong to no class
    discriminative    p(C_k | x), or the boundary alone, is modelled
                      no assumption about the density of rows: those far on the right side hardly move the boundary

If the classes are Gaussian with a common covariance, both describe the same posteriors: linear discriminant analysis
and logistic regression then nearly agree, and the former, whose assumption holds, needs fewer rows (Efron, 1975; Ng &
Jordan, 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.multiclass import unique_labels

from fivefold.core.types import Array, Labels, Mask, Matrix, Table, Target, UserTable, UserTarget, Vector
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupWeights, Tied
from fivefold.evaluation.comparison.result import Comparison
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t
from fivefold.evaluation.protocols import FittedModel, Model, Split
from fivefold.evaluation.validation import Validation, cross_validate, splits_of

Paradigm = Literal["generative", "discriminative"]
OUTLIER_DISTANCE = 10.0  # in standard deviations: outliers are added this far beyond their class, on the right side


def paradigm_classifier(paradigm: Paradigm) -> Model:
    """A linear classifier with posteriors of that paradigm: LDA, or logistic regression without a penalty.

    Examples
    --------
    >>> paradigm_classifier("generative"), paradigm_classifier("discriminative")
    (LinearDiscriminantAnalysis(), LogisticRegression(C=inf))
    """
    if paradigm not in get_args(Paradigm):
        raise ValueError(f"paradigm must be one of {', '.join(get_args(Paradigm))}; got {paradigm!r}")
    from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
    from fivefold.linear_model import LogisticRegression

    return LinearDiscriminantAnalysis() if paradigm == "generative" else LogisticRegression(C=np.inf)


@dataclass(frozen=True)
class GenerativeView:
    """What only a generative model offers: densities of the classes, and what follows from them."""

    classes: Labels  # (K,)
    priors: Array  # (K,)
    members: GaussianMembers  # K Gaussians with one covariance

    def posterior(self, X: Table, priors: Sequence[float] | Vector | None = None) -> Matrix:
        """P(C_k | x), with the given priors or those of the training rows."""
        priors = self.priors if priors is None else np.asarray(priors, dtype=float)
        if len(priors) != len(self.classes) or not (priors.min() >= 0 and np.isclose(priors.sum(), 1)):
            raise ValueError(f"priors must be {len(self.classes)} shares with sum 1; got {np.asarray(priors).tolist()}")
        with np.errstate(divide="ignore"):
            L = self.members.log_prob(np.asarray(X, dtype=float)) + np.log(priors)
        P = np.exp(L - L.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    def sample(self, n: int, rng: np.random.RandomState) -> tuple[Matrix, Labels]:
        """Rows and labels drawn from the model."""
        which = rng.choice(len(self.classes), size=n, p=self.priors)
        return self.members.sample(which, rng), self.classes[which]

    def log_density(self, X: Table) -> Vector:
        """log p(x): low where no class has rows."""
        L = self.members.log_prob(np.asarray(X, dtype=float)) + np.log(self.priors)
        return np.logaddexp.reduce(L, axis=1)

    def outliers(self, X: Table, share: float = 0.01, *, draws: int = 10_000, seed: int = 0) -> Mask:
        """Rows whose density is below that of all but this share of the model's own samples."""
        own = self.log_density(self.sample(draws, np.random.RandomState(seed))[0])
        return self.log_density(X) < np.quantile(own, share)


@dataclass(frozen=True)
class ParadigmReport:
    """Both paradigms on one table."""

    generative: Validation
    discriminative: Validation
    test: Comparison  # generative - discriminative
    agreement: float  # share of unseen rows for which both predict the same class
    angle: float | None  # degrees between the two boundaries, for two classes
    moved: tuple[float, float]  # share of predictions that change once harmless outliers are added
    view: GenerativeView

    def __str__(self) -> str:
        gives = "can take other priors, draw rows and tell outliers"
        lines = [
            f"generative       error {self.generative.mean:.4g} (sd {self.generative.test.std(ddof=1):.2g}); {gives}",
            f"discriminative   error {self.discriminative.mean:.4g} (sd {self.discriminative.test.std(ddof=1):.2g}); "
            "models the boundary alone",
            f"difference       {self.test.estimate:.3g}, p = {self.test.p_value:.3g}: {self._verdict}",
            f"agreement        {self.agreement:.1%} of unseen rows"
            + ("" if self.angle is None else f", boundaries {self.angle:.2g} degrees apart"),
            f"outliers added   on the right side: {self.moved[0]:.1%} of the generative and {self.moved[1]:.1%} of the "
            "discriminative answers change",
        ]
        return "\n".join(lines)

    @property
    def _verdict(self) -> str:
        if not self.test.rejected:
            return "no difference shown"
        return f"the {'generative' if self.test.estimate < 0 else 'discriminative'} one errs less"


def generative_view(X: UserTable, y: UserTarget) -> GenerativeView:
    """Gaussian densities of the classes with a common covariance, and the shares of the classes as priors.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"]
    >>> view = generative_view(X, y)
    >>> view.posterior([[2.5]]).round(3), view.posterior([[2.5]], priors=[0.9, 0.1]).round(3)
    (array([[0.5, 0.5]]), array([[0.9, 0.1]]))
    """
    X = np.ascontiguousarray(X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    family = Gaussian(Tied())
    members = family.fit(family.stats(X, GroupWeights(codes, np.ones(len(X)), len(classes))))
    return GenerativeView(classes, np.bincount(codes) / len(codes), members)


def compare_paradigms(
    X: Table,
    y: Target,
    *,
    generative: Model | None = None,
    discriminative: Model | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
) -> ParadigmReport:
    """A generative and a discriminative classifier on the same splits: errors, boundaries, sensitivity to outliers.

    Parameters
    ----------
    X, y
        Rows of numbers and their labels.
    generative, discriminative
        The two classifiers; by default those of `paradigm_classifier`.
    folds, repeats, seed
        Of the cross-validation, which is the same for both.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + 2 * y[:, None]
    >>> report = compare_paradigms(X, y)
    >>> print(report)
    generative       error 0.1... (sd 0...); can take other priors, draw rows and tell outliers
    discriminative   error 0.1... (sd 0...); models the boundary alone
    difference       ..., p = ...: no difference shown
    agreement        9... of unseen rows, boundaries ... degrees apart
    outliers added   on the right side: ... of the generative and ... of the discriminative answers change
    """
    X, y = np.ascontiguousarray(X, dtype=float), np.asarray(y)
    pair = (generative or paradigm_classifier("generative"), discriminative or paradigm_classifier("discriminative"))
    labels = unique_labels(y)
    cv = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    splits = splits_of(pair[0], X, y, cv=cv)
    one, other = (cross_validate(model, X, y, cv=splits) for model in pair)
    alike = [
        np.mean(_split_predictions(pair[0], X, y, split) == _split_predictions(pair[1], X, y, split))
        for split in splits
    ]
    view, fitted = generative_view(X, y), [clone(model).fit(X, y) for model in pair]
    far = _add_outliers(X, y, view)
    moved = [float(np.mean(model.predict(X) != clone(model).fit(*far).predict(X))) for model in fitted]
    return ParadigmReport(
        generative=one,
        discriminative=other,
        test=corrected_resampled_t(one.test, other.test, n_train=one.n_train, n_test=one.n_test),
        agreement=float(np.mean(alike)),
        angle=_boundary_angle(*fitted) if len(labels) == 2 else None,
        moved=(moved[0], moved[1]),
        view=view,
    )


def _split_predictions(model: Model, X: Table, y: Target, split: Split) -> Labels:
    return clone(model).fit(X[split[0]], y[split[0]]).predict(X[split[1]])


def _add_outliers(X: Table, y: Target, view: GenerativeView) -> tuple[Matrix, Labels]:
    """The rows, and a twentieth more of the last class placed far behind it, where any sensible boundary is right."""
    last, mean = view.classes[-1], view.members.mean
    d = X.shape[1]
    away = mean[-1] - mean[:-1].mean(axis=0)
    spread = np.sqrt(np.diagonal(view.members.covariance.dense(d)[0]))
    length = float(np.linalg.norm(away / spread))
    step = OUTLIER_DISTANCE * away / length if length > 0 else OUTLIER_DISTANCE * spread / np.sqrt(d)
    own = X[y == last]
    added = own[: max(1, len(own) // 20)] + step
    return np.vstack([X, added]), np.append(y, np.full(len(added), last, dtype=y.dtype))


def _boundary_angle(one: FittedModel, other: FittedModel) -> float | None:
    """Degrees between the normals of two linear boundaries."""
    normals = [np.ravel(getattr(model, "coef_", ())) for model in (one, other)]
    if not all(len(normal) and np.any(normal) for normal in normals):
        return None
    a, b = (normal / np.linalg.norm(normal) for normal in normals)
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))

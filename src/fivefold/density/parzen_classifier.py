"""Parzen windows as a classifier: every row votes for its class with the weight of its window at x.

    g_k(x) = prior_k / W_k  sum over the rows of class k of  w_i k(|x - x_i| / h)      P(k | x) = g_k(x) / sum of all g

With the shares of the classes as priors the factor is the same for all classes: a vote of all rows, near ones more.

Parzen (1962); Specht (1990) calls it a probabilistic neural network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Positive
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Codes, Doubles, Matrix, Table, Target, Vector, Weights
from fivefold.density.kernel_density import WindowDensity, fit_windows, thumb_width
from fivefold.density.sums.window_kernels import KernelName
from fivefold.density.widths.likelihood_widths import SEARCH_TOLERANCE, likelihood_width
from fivefold.density.widths.width_rules import scott_factor, silverman_factor
from fivefold.naive_bayes.base import BayesClassifier, ClassPrior, UserShares, class_shares

FACTORS = {"scott": scott_factor, "silverman": silverman_factor}
WORST_LOG = -30.0  # log probability of a class that no window reaches: one such row does not rule a width out


@dataclass(frozen=True)
class ClassWindows(ClassPrior):
    """The windows of each class, in common coordinates, and the shares of the classes."""

    densities: tuple[WindowDensity, ...]
    prior: Vector  # (K,)
    width: float

    def log_joint(self, X: Table, rtol: float) -> Doubles:
        """log of prior times density (n, K)."""
        return np.stack([each.log_density(X, rtol) for each in self.densities], axis=1) + self.log_prior


class ParzenClassifier(BayesClassifier):
    """Bayes' rule with a kernel density for each class.

    Parameters
    ----------
    bandwidth
        the width of the windows, "scott" or "silverman" for the factor of these rules at the mean number of rows of a
        class, or "cross_validation": the width under which the classes of rows left out are likeliest.
    kernel
        a name, or a function of the distance in units of the width that integrates to one over all columns.
    shape
        of the windows: "spherical", "diagonal" (follows the standard deviation of each column) or "full" (follows the
        covariance of all rows).
    rtol
        relative error of a density that is allowed; with zero it is that of rounding.

    Attributes
    ----------
    bandwidth_
        the width.
    class_prior_
        shares of the classes.

    Examples
    --------
    >>> from fivefold.density import ParzenClassifier
    >>> model = ParzenClassifier(bandwidth=1.0).fit([[0.0], [1.0], [4.0]], ["a", "a", "b"])
    >>> model.predict_proba([[0.5], [3.0]]).round(3)
    array([[0.889, 0.111],
           [0.525, 0.475]])
    """

    _: KW_ONLY
    bandwidth: Positive | Literal["scott", "silverman", "cross_validation"] = "scott"
    kernel: KernelName | Callable[..., Any] = "gaussian"
    shape: Literal["spherical", "diagonal", "full"] = "diagonal"
    priors: UserShares = None
    rtol: NonNegative = 0

    takes = Takes()
    card = Card(
        applications=("classification",),
        use="Boundaries of any form in a few columns, with probabilities; as good as its width. With many columns "
        "neighbourhoods empty; with many rows a forest predicts faster.",
        steps=(
            "Estimate the density of each class by windows on its rows.",
            "Multiply by the shares of the classes, and normalise.",
        ),
        source="Parzen (1962); Specht (1990)",
        see_also=("KernelDensity", "KNeighborsDensityClassifier", "GaussianNB"),
        variants=({"kernel": "epanechnikov", "bandwidth": 2.0, "shape": "full"}, {"bandwidth": 1.0}),
        search={"bandwidth": SearchRange(0.05, 2.0)},
        growth=2.0,
    )

    bandwidth_ = learned("width")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        whole = fit_windows(self, X, w, width=1.0)
        mass = np.bincount(y, weights=w, minlength=K).astype(np.float64)
        prior = class_shares(self, self.priors, mass)
        densities = []
        for k in range(K):
            rows = np.flatnonzero(y == k)
            Z, v = np.ascontiguousarray(whole.points[rows]), w[rows]
            kind = type(whole.sums)
            densities.append(WindowDensity(kind(whole.kernel, Z, v), whole.kernel, whole.shape, 1.0, Z, v))
        width = self.bandwidth
        if width == "cross_validation":
            width = _likeliest_width(whole, densities, y, prior)
        elif isinstance(width, str):
            width = FACTORS[width](float(w.sum()) / K, X.shape[1])
        fitted = tuple(
            WindowDensity(each.sums, each.kernel, each.shape, float(width), each.points, each.weights)
            for each in densities
        )
        self.model_ = ClassWindows(fitted, prior, float(width))

    def _joint_log_prob(self, X: Table) -> Matrix:
        return self.model_.log_joint(X, self.rtol)


def _likeliest_width(whole: WindowDensity, densities: list[WindowDensity], y: Codes, prior: Vector) -> float:
    """The width under which the classes of rows left out are likeliest."""
    Z, w = whole.points, whole.weights
    own, here = np.minimum(w, 1.0), np.arange(len(y))
    log_own = np.log(own * float(whole.kernel.values(np.zeros(1))[0]))
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    masses = np.array([each.sums.mass for each in densities])

    def score(h: float) -> float:
        logs = np.stack([each.sums.log_sums(Z, h, rtol=SEARCH_TOLERANCE) for each in densities], axis=1)
        mine = logs[here, y]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.minimum(np.exp(log_own - mine), 1.0)
            rest = np.maximum(masses[y] - own, 0.0)
            logs = logs - np.log(masses)
            alone = ratio >= 1 - 1e-9
            logs[here, y] = np.where(alone | (rest == 0), -np.inf, mine + np.log1p(-ratio) - np.log(rest))
            joint = logs + log_prior
            found = joint[here, y] - logsumexp(joint, axis=1)
        return float(np.maximum(np.where(np.isnan(found), -np.inf, found), WORST_LOG) @ w)

    return likelihood_width(score, thumb_width(Z, w), what="ParzenClassifier: bandwidth")

"""Kernel probit: a posterior over rules in the space of a kernel that minimises its own PAC-Bayes bound.

    mu = sum_j alpha_j z(x_j),    KL(Q, P) = (alpha - alpha_0)'K (alpha - alpha_0) / 2
    err_i(Q) = Phi(-y_i (K alpha)_i)

for Q = N(mu, I) and P = N(mu_0, I) in the space of features z of the normalised kernel k(x, x') / sqrt(k(x, x) k(x',
x')), whose number of dimensions does not enter the bound. The kernel's width, the scaling of columns, mu_0 and the rate
of the bound come from a part of the rows, the bound from the others. With the linear kernel and the zero prior the
posterior is that of PACBayesProbit, which adds a constant to the columns.

Germain, Lacasse, Laviolette & Marchand (2009), PAC-Bayesian learning of linear classifiers; Langford & Shawe-Taylor
(2003), PAC-Bayes & margins.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.estimators.params import Index, NonNegative
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Indices, Table
from fivefold.svm.support.expansion import KernelChoice
from fivefold.svm.support.kernel_estimator import Gamma, kernel_width
from fivefold.theory.pac_bayes.posterior_classifier import PosteriorClassifier
from fivefold.theory.pac_bayes.posterior_rules import KernelSpace, Scaling


class PACBayesKernelProbit(PosteriorClassifier, keywords="kernel degree gamma coef0 standardize"):
    """A kernel classifier with a certificate of its error that takes no rows away from training.

    Parameters
    ----------
    kernel
        "rbf", "linear" or "poly".
    degree
        of the polynomial kernel.
    gamma
        of the kernels "rbf" and "poly": a number; "scale", 1 / (columns * variance of the prior's rows); "auto", 1 /
        columns. The zero prior has no rows of its own: "scale" is "auto" there.
    coef0
        the constant of the polynomial kernel.
    standardize
        divide columns by their standard deviations among the prior's rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from fivefold.theory import PACBayesKernelProbit
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = PACBayesKernelProbit(n_divisions=1, random_state=0).fit(X, y)
    >>> model.certificate_.bound < 0.04, model.predict(X[:3])
    (True, array([0, 1, 0]))
    """

    _: KW_ONLY
    kernel: Literal["rbf", "linear", "poly"] = "rbf"
    degree: Index = 3
    gamma: Gamma = "scale"
    coef0: NonNegative = 1.0
    standardize: bool = False

    card = Card(
        applications=("classification",),
        use="Classes with curved boundaries, some thousand rows, and a guaranteed error on new data. Take "
        "PACBayesProbit where a plane will do, SVC where no certificate is wanted.",
        steps=(
            "Divide the rows at random; choose the kernel's width and learn a kernel logistic regression on one part.",
            "Make it a prior in the space of the kernel, as sharp as its errors with a row left out allow.",
            "Move the posterior from there to the minimum of the PAC-Bayes bound on the other part.",
            "Do so for several divisions, mix the posteriors, and certify the mixture.",
        ),
        source="Germain et al. (2009); Langford & Shawe-Taylor (2003)",
        see_also=("PACBayesProbit", "KernelLogisticRegression", "SVC"),
        variants=({"prior": "zero", "kernel": "poly", "degree": 2}, {"kernel": "linear", "standardize": True}),
        search={"gamma": SearchRange(0.1, 10.0, per_column=True)},
        growth=3.0,
    )

    def _space(self, X: Table, prior_rows: Indices | None) -> KernelSpace:
        gamma: Gamma = "auto" if prior_rows is None and self.gamma == "scale" else self.gamma
        seen = X[:0] if prior_rows is None else X[prior_rows]
        scaling = Scaling.of(seen) if self.standardize and len(seen) else Scaling.none(X.shape[1])
        kernel = KernelChoice(
            self.kernel, kernel_width(gamma, scaling(seen), None), float(self.coef0), int(self.degree)
        )
        return KernelSpace.of(X, scaling, kernel)

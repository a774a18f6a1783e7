"""Linear classification by a posterior that minimises its own PAC-Bayes bound.

    Q = N(mu, I) or Laplace about mu over weight vectors,    P the same about mu_0
    err(Q)  <=  (1 - exp(-C err_rows(Q) - (KL(Q, P) + ln(1/delta)) / n)) / (1 - exp(-C))    with probability 1 - delta

Rows have unit length, after scaling of columns and with a constant added; the Gibbs error of a row is Phi(-y mu'z) for
a Gaussian (probit loss, L2 penalty) and the tail of a sum of Laplace variables for a Laplace posterior (L1). mu_0, the
scaling and the rate C come from a part of the rows, and the bound from the n others: see pac_bayes.learned_prior,
pac_bayes.fixed_rate and pac_bayes.posterior_training. From the zero prior all rows serve the bound, in its kl form.

Germain, Lacasse, Laviolette & Marchand (2009), PAC-Bayesian learning of linear classifiers; Catoni (2007); Ambroladze,
Parrado-Hernandez & Shawe-Taylor (2007).
"""

from __future__ import annotations

from fivefold.core.registry import Card
from fivefold.core.types import Indices, Table, Target, Weights
from fivefold.theory.pac_bayes.posterior_classifier import PosteriorClassifier
from fivefold.theory.pac_bayes.posterior_rules import LinearSpace, Scaling
from fivefold.theory.pac_bayes.posterior_training import PosteriorName


class PACBayesProbit(PosteriorClassifier, keywords="posterior"):
    """A linear classifier with a certificate of its error that takes no rows away from training.

    Parameters
    ----------
    posterior
        "gaussian", the probit loss with an L2 penalty; or "laplace", with L1, for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.theory import PACBayesProbit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PACBayesProbit(random_state=0).fit(X, y)
    >>> model.certificate_.bound < 0.07, model.predict(X[:3])
    (True, array([0, 0, 0]))
    """

    posterior: PosteriorName = "gaussian"

    card = Card(
        applications=("classification",),
        use="Classes that planes separate nearly, where the error on new data must be guaranteed and rows are "
        "too few to keep some out. LogisticRegression is quicker where no certificate is wanted.",
        steps=(
            "Divide the rows at random; scale the columns and learn a logistic regression on the first part.",
            "Make it a prior over weight vectors, as sharp as its errors with a row left out allow.",
            "Move the posterior from there to the minimum of the PAC-Bayes bound on the other part.",
            "Do so for several divisions, mix the posteriors, and certify the mixture.",
        ),
        source="Germain et al. (2009); Catoni (2007); Ambroladze et al. (2007)",
        see_also=("PACBayesKernelProbit", "ProbitRegression", "LogisticRegression"),
        variants=({"prior": "zero"}, {"n_divisions": 1}),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if self.posterior == "laplace" and len(self.classes_) > 2:
            raise ValueError(
                f'PACBayesProbit: posterior="laplace" takes two classes; y holds {len(self.classes_)}. Take '
                'posterior="gaussian", or wrap it in OneVsRestClassifier for a certificate per class'
            )
        super()._fit(X, y, w)

    @property
    def _family(self) -> PosteriorName:
        return self.posterior

    def _space(self, X: Table, prior_rows: Indices | None) -> LinearSpace:
        scaling = Scaling.none(X.shape[1]) if prior_rows is None else Scaling.of(X[prior_rows])
        return LinearSpace.of(X, scaling)

"""Figures of hmmlearn's hidden Markov models, kept in hmmlearn.json so that no test has to be left out.

    PYTHONPATH=tests:. python -m rivals.record_hmmlearn

writes the file anew, where hmmlearn is installed; rows, settings and starts are those of the tests.
"""

import json
import logging
from importlib.metadata import version
from inspect import signature
from itertools import product
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("hmmlearn.json")
MODELS = ("CategoricalHMM", "GaussianHMM", "GMMHMM", "PoissonHMM", "MultinomialHMM")
WITH_PRIOR = {"n_components": 3, "random_state": 3, "n_iter": 8, "emissionprob_prior": 1.2}
COUNTS = {
    "log": ("CategoricalHMM", {**WITH_PRIOR, "implementation": "log"}),
    "scaling": ("CategoricalHMM", {**WITH_PRIOR, "implementation": "scaling"}),
    "no prior": ("CategoricalHMM", {"n_components": 3, "random_state": 3, "n_iter": 8}),
    "poisson": ("PoissonHMM", {"n_components": 2, "random_state": 0}),
    "multinomial": ("MultinomialHMM", {"n_components": 2, "n_trials": 9, "random_state": 0}),
}
EMISSION = {"CategoricalHMM": "emissionprob_", "PoissonHMM": "lambdas_", "MultinomialHMM": "emissionprob_"}
KINDS = ("spherical", "diag", "full", "tied")
PARAMS = ("stmc", "mc", "m")
PRIORS = {"flat": {}, "priors": {"means_prior": 1.0, "means_weight": 2.0, "covars_weight": 6.0}}
MIXTURE_KINDS = ("diag", "full", "tied")
VARIATIONAL = ("VariationalCategoricalHMM", "VariationalGaussianHMM")
STEP = 7  # one in this many rows of probabilities is kept: rows come in blocks of ten
DIGITS = 14  # significant ones


def recorded(kind):
    """The figures of one kind, by the name of the case."""
    return json.loads(PATH.read_text())[kind]


def counts(module, name):
    """A fitted model of counts or categories, its rows and their lengths."""
    family, settings = COUNTS[name]
    rng = np.random.RandomState(0 if family == "CategoricalHMM" else 1)
    if family == "CategoricalHMM":
        X, lengths = rng.randint(5, size=(400, 1)), [100, 250, 1, 49]
    else:
        X, lengths = rng.poisson([1.0, 6.0], size=(300, 2)), [100, 200]
        if family == "MultinomialHMM":
            X = rng.multinomial(9, [0.2, 0.3, 0.5], size=300)
    return getattr(module, family)(**settings).fit(X, lengths), X, lengths


def gaussian(module, kind, params, priors):
    """A Gaussian model after six steps from a given start, its rows and their lengths."""
    rng = np.random.RandomState(2)
    X, lengths = np.repeat(rng.normal(size=(30, 3)), 10, axis=0) + rng.normal(size=(300, 3)), [120, 180]
    model = module.GaussianHMM(2, kind, init_params="", params=params, n_iter=6, tol=0.0, **PRIORS[priors])
    model.startprob_ = np.full(2, 0.5)
    model.transmat_ = np.array([[0.8, 0.2], [0.3, 0.7]])
    model.means_ = X[[0, 200]]
    covariances = {"spherical": np.ones(2), "diag": np.ones((2, 3)), "full": np.tile(np.eye(3), (2, 1, 1))}
    model.covars_ = covariances.get(kind, np.eye(3))
    return model.fit(X, lengths), X, lengths


def mixture(module, kind):
    """A model with given mixtures, whose states overlap, and rows."""
    rng = np.random.RandomState(3)
    X = np.repeat(5 * rng.randint(2, size=(30, 1)), 10, axis=0) + rng.normal(size=(300, 2))
    model = module.GMMHMM(2, 2, covariance_type=kind)
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.8, 0.2], [0.3, 0.7]])
    model.weights_ = np.array([[0.7, 0.3], [0.2, 0.8]])
    model.means_ = np.array([[[0.0, 0.5], [5.0, 4.0]], [[1.0, -0.5], [4.5, 5.5]]])
    full = np.array(
        [
            [[[1.0, 0.3], [0.3, 1.5]], [[2.0, -0.4], [-0.4, 1.0]]],
            [[[0.8, 0.0], [0.0, 1.2]], [[1.0, 0.5], [0.5, 2.0]]],
        ]
    )
    model.covars_ = {"full": full, "tied": full[:, 0]}.get(kind, full.diagonal(axis1=2, axis2=3).copy())
    return model, X


def variational_symbols(module):
    """A variational model of symbols after eight steps from a seed, its rows and their lengths."""
    X, lengths = np.random.RandomState(4).randint(4, size=(60, 1)), [25, 20, 15]
    return module.VariationalCategoricalHMM(3, random_state=0, n_iter=8, tol=0.0).fit(X, lengths), X, lengths


def variational_rows(module, kind):
    """A variational model of numbers after six steps from a given start, its rows and their lengths."""
    rng = np.random.RandomState(5)
    X, lengths = np.repeat(3 * rng.normal(size=(12, 2)), 5, axis=0) + rng.normal(size=(60, 2)), [25, 20, 15]
    model = module.VariationalGaussianHMM(2, kind, init_params="", n_iter=6, tol=0.0)
    model.startprob_prior_, model.startprob_posterior_ = np.full(2, 0.5), np.array([2.0, 1.0])
    model.transmat_prior_, model.transmat_posterior_ = np.full((2, 2), 0.5), np.array([[20.0, 10.0], [12.0, 18.0]])
    model.means_prior_, model.means_posterior_ = np.zeros((2, 2)), X[[0, 30]]
    model.beta_prior_, model.beta_posterior_ = np.full(2, 1.5), np.array([30.0, 30.0])
    tied = kind == "tied"
    model.dof_prior_, model.dof_posterior_ = (2.5, 60.0) if tied else (np.full(2, 2.5), np.array([35.0, 25.0]))
    unit = {"spherical": np.ones(2), "diag": np.ones((2, 2)), "full": np.tile(np.eye(2), (2, 1, 1))}.get(
        kind, np.eye(2)
    )
    model.scale_prior_, model.scale_posterior_ = 0.1 * unit, 40.0 * unit
    return model.fit(X, lengths), X, lengths


def parameters(model):
    """Kind and default of each parameter of a constructor, in their order."""
    given = signature(model).parameters.items()
    return [[name, p.kind.name, "required" if p.default is p.empty else p.default] for name, p in given]


def counts_figures(hmm):
    """Parameters, history, likelihoods, criteria, probabilities and the stationary distribution."""
    found = {}
    for name, (family, _) in COUNTS.items():
        model, X, lengths = counts(hmm, name)
        found[name] = {
            "parts": {part: getattr(model, part) for part in ("startprob_", "transmat_", EMISSION[family])},
            "history": list(model.monitor_.history),
            "score": model.score(X, lengths),
            "probabilities": model.predict_proba(X, lengths)[::STEP],
            "decoded": model.decode(X, lengths)[0],
            "aic": model.aic(X, lengths),
            "bic": model.bic(X, lengths),
            "stationary": np.real(model.get_stationary_distribution()),
        }
    return found


def gaussian_figures(hmm):
    """Parameters and likelihoods."""
    found = {}
    for case in product(KINDS, PARAMS, PRIORS):
        model, X, lengths = gaussian(hmm, *case)
        names = ["startprob_", "transmat_", "means_"]
        if case[0] != "spherical":  # hmmlearn gives one matrix per state and column there
            names.append("covars_")
        parts = {name: getattr(model, name) for name in names}
        found[", ".join(case)] = {"parts": parts, "score": model.score(X, lengths)}
    return found


def mixture_figures(hmm):
    """Likelihoods, probabilities and most probable states."""
    found = {}
    for kind in MIXTURE_KINDS:
        model, X = mixture(hmm, kind)
        states = "".join(str(state) for state in model.predict(X))
        found[kind] = {"score": model.score(X), "probabilities": model.predict_proba(X)[::STEP], "states": states}
    return found


def variational_figures(vhmm):
    """Priors and posteriors, lower bounds and likelihoods."""
    found = {}
    for case in ("symbols", *KINDS):
        model, X, lengths = variational_symbols(vhmm) if case == "symbols" else variational_rows(vhmm, case)
        own = [name for name in vars(model) if name.endswith(("_prior_", "_posterior_"))]
        found[case] = {
            "parts": {name: np.asarray(getattr(model, name), dtype=float) for name in own},
            "history": list(model.monitor_.history),
            "score": model.score(X, lengths),
        }
    return found


def names(hmm, vhmm):
    """Parameters of constructors, and public names."""
    models = {name: getattr(hmm if name in MODELS else vhmm, name) for name in (*MODELS, *VARIATIONAL)}
    return {
        name: {"parameters": parameters(model), "public": [method for method in dir(model) if method[0] != "_"]}
        for name, model in models.items()
    }


def rounded(value):
    """Arrays as lists, and numbers with fewer digits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [rounded(inner) for inner in value] if np.ndim(value) else rounded(float(value))
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main():
    from hmmlearn import hmm, vhmm

    logging.disable(logging.WARNING)
    found = {
        "made by": {name: version(name) for name in ("hmmlearn", "numpy")},
        "counts": counts_figures(hmm),
        "gaussian": gaussian_figures(hmm),
        "mixture": mixture_figures(hmm),
        "variational": variational_figures(vhmm),
        "names": names(hmm, vhmm),
    }
    PATH.write_text(json.dumps(rounded(found), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

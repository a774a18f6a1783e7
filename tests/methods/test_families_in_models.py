"""New families as components of mixtures, class densities of naive Bayes and emissions of hidden Markov models."""

import numpy as np
import pytest

from fivefold.distributions.beta import Beta
from fivefold.distributions.dirichlet import Dirichlet
from fivefold.distributions.double_exponential import Laplace
from fivefold.distributions.exponential import Exponential
from fivefold.distributions.gamma import Gamma
from fivefold.distributions.multivariate_t import MultivariateT
from fivefold.distributions.student_t import StudentT
from fivefold.distributions.von_mises import VonMises
from fivefold.mixture import Mixture
from fivefold.naive_bayes import MixedNB
from fivefold.sequence import FamilyHMM

N = 150


def two_groups(name, rng):
    """Rows of two groups that the family tells apart."""
    draw = {
        "gamma": lambda shape, n: rng.gamma(shape, 1.0, size=(n, 2)),
        "exponential": lambda scale, n: rng.exponential(scale, size=(n, 2)),
        "beta": lambda a, n: rng.beta(a, 4.0, size=(n, 2)),
        "laplace": lambda m, n: rng.laplace(m, 1.0, size=(n, 2)),
        "t": lambda m, n: m + rng.standard_t(3.0, size=(n, 2)),
        "multivariate t": lambda m, n: m + rng.standard_t(3.0, size=(n, 2)),
        "von Mises": lambda m, n: rng.vonmises(m, 8.0, size=(n, 2)),
        "dirichlet": lambda a, n: rng.dirichlet([a, 4.0, 8.0 - a], size=n),
    }[name]
    far = {"gamma": (2, 20), "exponential": (0.1, 10), "beta": (0.8, 20), "von Mises": (-1, 1.5), "dirichlet": (1, 7)}
    first, second = far.get(name, (-4, 4))
    return np.vstack([draw(first, N), draw(second, N)]), np.repeat([0, 1], N)


FAMILIES = {
    "gamma": Gamma(),
    "exponential": Exponential(),
    "beta": Beta(),
    "laplace": Laplace(),
    "t": StudentT(),
    "multivariate t": MultivariateT(4.0),
    "von Mises": VonMises(),
    "dirichlet": Dirichlet(),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


@every_family
def test_a_mixture_finds_groups(name):
    X, y = two_groups(name, np.random.RandomState(0))
    model = Mixture(2, family=FAMILIES[name], random_state=0, max_iter=60).fit(X)
    found = model.predict(X)
    assert max((found == y).mean(), (found != y).mean()) > 0.9
    assert np.isfinite(model.score(X))
    drawn, _ = model.sample(20)
    assert np.isfinite(model.score_samples(drawn)).all()


@every_family
def test_naive_bayes_has_class_densities_of_any_family(name):
    X, y = two_groups(name, np.random.RandomState(1))
    columns = tuple(range(X.shape[1]))
    model = MixedNB({columns: FAMILIES[name]}).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    weighted = MixedNB({columns: FAMILIES[name]}).fit(X, y, sample_weight=np.arange(len(y)) % 3)
    times = np.arange(len(y)) % 3
    repeated = MixedNB({columns: FAMILIES[name]}).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-9)


@every_family
def test_states_of_a_hidden_markov_model_emit_any_family(name):
    X, y = two_groups(name, np.random.RandomState(2))
    order = np.concatenate([np.arange(0, 50), np.arange(150, 200), np.arange(50, 100), np.arange(200, 250)])
    model = FamilyHMM(2, family=FAMILIES[name], random_state=0, n_iter=20).fit(X[order])
    found = model.predict(X[order])
    assert max((found == y[order]).mean(), (found != y[order]).mean()) > 0.95


def test_naive_bayes_takes_families_by_name():
    rng = np.random.RandomState(3)
    y = np.repeat([0, 1], N)
    X = np.column_stack(
        [
            rng.gamma(np.where(y, 9.0, 2.0)),
            rng.exponential(np.where(y, 4.0, 0.5)),
            rng.beta(np.where(y, 6.0, 1.0), 3.0),
            rng.laplace(3.0 * y),
            3.0 * y + rng.standard_t(3.0, 2 * N),
            rng.vonmises(1.5 * y, 3.0),
        ]
    )
    names = ("gamma", "exponential", "beta", "laplace", "student_t", "von_mises")
    model = MixedNB(dict(enumerate(names))).fit(X, y)
    assert [type(part.family).__name__ for part in model.parts_] == [
        "Gamma",
        "Exponential",
        "Beta",
        "Laplace",
        "StudentT",
        "VonMises",
    ]
    assert (model.predict(X) == y).mean() > 0.95
    assert model.score(X, y) > MixedNB().fit(X, y).score(X, y)


@pytest.mark.parametrize(
    ("family", "X", "words"),
    [
        (Gamma(), [[1.0], [-1.0]], "column 0 holds -1 in row 1"),
        (Gamma(), [[2.0], [2.0]], "are all 2"),
        (Exponential(), [[1.0], [-1.0]], "cannot be negative"),
        (Exponential(), [[0.0], [0.0]], "is zero"),
        (Beta(), [[0.5], [1.0]], "column 0 holds 1 in row 1"),
        (Beta(), [[0.5], [0.5]], "Beta: the rows of a member are all the same"),
        (Dirichlet(), [[0.5, 0.6]], "sum 1.1"),
        (Dirichlet(), [[1.0, 0.0]], "positive shares"),
        (Dirichlet(), [[0.5, np.nan]], "missing shares"),
        (VonMises(), [[1.0], [1.0]], "all the same"),
        (VonMises(), [[np.inf]], "infinite angle"),
        (Laplace(), [[3.0], [3.0]], "every value of member 0 in column 0 is 3"),
        (Laplace(), [[np.nan], [np.nan]], "no value of column 0"),
        (StudentT(), [[3.0], [3.0]], "singular"),
        (StudentT(), [[np.inf], [3.0]], "infinite value"),
        (MultivariateT(), [[3.0, 1.0], [3.0, 2.0]], "singular"),
    ],
)
def test_what_a_family_cannot_describe_is_refused_in_words(family, X, words):
    X = np.array(X)
    with pytest.raises(ValueError, match=words):
        family.fit(family.stats(X, np.ones((len(X), 1))))

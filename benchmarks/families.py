"""Families of distributions: members fitted by class, and log densities, beside plain NumPy and SciPy."""

from functools import partial

import numpy as np
from scipy.stats import gamma, multivariate_normal, norm, poisson
from scipy.stats import t as student_t

from benchmarks.harness import OURS, Case, Data, data, function, same_output

D, K = 20, 8
CLASSES = partial(data.classes, d=D, K=K)


def counts(n):
    """Poisson columns with rates of their own in each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    return Data(rng.poisson(rng.gamma(2.0, size=(K, D))[y]).astype(np.float64), y)


def members(family, table):
    """One member a class."""
    from fivefold.distributions.family import GroupWeights

    return family.fit(family.stats(table.X, GroupWeights(table.y, np.ones(len(table.y)), K)))


def gaussian_members(table):
    from fivefold.distributions.gaussian import Full, Gaussian

    found = members(Gaussian(Full()), table)
    return [found.mean, found.covariance.dense(D)]


def numpy_members(table):
    parts = [table.X[table.y == k] for k in range(K)]
    return [np.stack([p.mean(0) for p in parts]), np.stack([np.cov(p, rowvar=False, bias=True) for p in parts])]


def log_prob(family):
    """Ours: the members are fitted beforehand."""

    def prepare(table):
        found = members(family(), table)
        return lambda: found.log_prob(table.X)

    return prepare


def full():
    from fivefold.distributions.gaussian import Full, Gaussian

    return Gaussian(Full())


def diagonal():
    from fivefold.distributions.gaussian import Diagonal, Gaussian

    return Gaussian(Diagonal())


def rates():
    from fivefold.distributions.poisson import Poisson

    return Poisson()


def scipy_full(table):
    means, covariances = numpy_members(table)
    frozen = [multivariate_normal(m, c) for m, c in zip(means, covariances, strict=True)]
    return lambda: np.stack([member.logpdf(table.X) for member in frozen], axis=1)


def scipy_diagonal(table):
    parts = [table.X[table.y == k] for k in range(K)]
    frozen = [norm(p.mean(0), p.std(0)) for p in parts]
    return lambda: np.stack([member.logpdf(table.X).sum(1) for member in frozen], axis=1)


def scipy_poisson(table):
    frozen = [poisson(table.X[table.y == k].mean(0)) for k in range(K)]
    return lambda: np.stack([member.logpmf(table.X).sum(1) for member in frozen], axis=1)


def positive(n):
    """Gamma columns with shapes of their own in each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    return Data(rng.gamma(rng.uniform(1.0, 8.0, size=(K, D))[y]), y)


def shapes():
    from fivefold.distributions.gamma import Gamma

    return Gamma()


def scipy_gamma(table):
    frozen = [gamma(found.shape, scale=1 / found.rate) for found in _rows_of(members(shapes(), table))]
    return lambda: np.stack([member.logpdf(table.X).sum(1) for member in frozen], axis=1)


def _rows_of(found):
    return [type(found)(shape, rate) for shape, rate in zip(found.shape, found.rate, strict=True)]


def gamma_members(table):
    found = members(shapes(), table)
    return [found.shape, found.rate]


def scipy_gamma_members(table):
    """SciPy fits one column of one class at a time."""
    found = [[gamma.fit(table.X[table.y == k, j], floc=0) for j in range(D)] for k in range(K)]
    return [np.array([[f[0] for f in row] for row in found]), np.array([[1 / f[2] for f in row] for row in found])]


def heavy_tails(n):
    """One column with three degrees of freedom."""
    return Data(np.random.default_rng(0).standard_t(3.0, size=(n, 1)), np.zeros(n, dtype=np.int64))


def t_members(table):
    from fivefold.distributions.student_t import StudentT

    family = StudentT()
    found = family.fit(family.stats(table.X, np.ones((len(table.X), 1))))
    return [np.array([found.dof.item(), found.location.item(), found.scale.item()])]


def scipy_t_members(table):
    return [np.array(student_t.fit(table.X[:, 0]))]


def density(name, table, family, rival):
    contestants = {"SciPy": rival, OURS: log_prob(family)}
    return Case(f"{name} log_prob", table, 100_000, contestants, same_output(), 1, f"{K} members")


CASES = (
    Case(
        "Gaussian family, full, fit by class",
        CLASSES,
        100_000,
        {"NumPy": function(numpy_members), OURS: function(gaussian_members)},
        same_output(),
        1,
        f"{K} members",
    ),
    density("Gaussian family, full,", CLASSES, full, scipy_full),
    density("Gaussian family, diagonal,", CLASSES, diagonal, scipy_diagonal),
    density("Poisson family", counts, rates, scipy_poisson),
    density("Gamma family", positive, shapes, scipy_gamma),
    Case(
        "Gamma family, fit by class",
        positive,
        100_000,
        {"SciPy": function(scipy_gamma_members), OURS: function(gamma_members)},
        same_output(1e-3),
        1,
        f"{K} members",
    ),
    Case(
        "Student t family, fit",
        heavy_tails,
        100_000,
        {"SciPy": function(scipy_t_members), OURS: function(t_members)},
        same_output(1e-2),  # SciPy's simplex search stops early
        1,
        "1 column",
    ),
)

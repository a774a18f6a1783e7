"""Generators of data with a known truth: two mixtures, two pairs of classes, one curve under noise.

mixture_1d          1/2 N(5, 10^2) + 1/2 N(30, 5^2)
mixture_2d          three Gaussians in the plane, with weights 1/4, 1/4, 1/2
separable_classes   N((1, 1), I) against N((5, 6), I): a line separates them
disc                points of N((3, 3), 2 I) inside and outside a circle: no line separates them
noisy_curve         f(x) + N(0, 1) with x uniform in [-4, 7]; f(x) = sigma(x) sin(x), sigma the logistic sigmoid

They are the data sets of a lecture course whose seed and order of drawing are known: `course_datasets()` draws all of
them again. A `RandomState` is used because its streams never change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Codes, Matrix, Vector

COURSE_SEED = 11111997  # the seed of the course
MIXTURE_MEANS = ((-4.0, 2.0), (5.0, 6.0), (4.0, -4.0))
MIXTURE_COVARIANCES = (((1.0, 0.7), (0.7, 2.0)), ((2.0, 0.5), (0.5, 1.0)), ((2.0, 1.0), (1.0, 2.0)))


def mixture_1d(
    n: int = 10_000,
    *,
    means: Sequence[float] = (5.0, 30.0),
    stds: Sequence[float] = (10.0, 5.0),
    weights: Sequence[float] = (0.5, 0.5),
    random_state: Seed = COURSE_SEED,
) -> tuple[Vector, Codes]:
    """Points (n,) from a mixture of Gaussians on the line, and the component each came from.

    Examples
    --------
    >>> x, component = mixture_1d()
    >>> round(float(x.mean()), 6), round(float(x.std()), 6)
    (17.280899, 14.854019)
    """
    rng = check_random_state(random_state)
    k = rng.choice(len(weights), size=n, p=weights)
    return np.asarray(means)[k] + np.asarray(stds)[k] * rng.standard_normal(n), k


def mixture_2d(
    n: int = 1000,
    *,
    means: Sequence[Sequence[float]] | Matrix = MIXTURE_MEANS,
    covariances: Sequence[Sequence[Sequence[float]]] | Array = MIXTURE_COVARIANCES,
    weights: Sequence[float] = (0.25, 0.25, 0.5),
    random_state: Seed = COURSE_SEED,
) -> tuple[Matrix, Codes]:
    """Points (n, d) from a mixture of Gaussians, and the component each came from.

    Examples
    --------
    >>> X, component = mixture_2d()
    >>> X.shape, len(set(component.tolist()))
    ((1000, 2), 3)
    """
    rng = check_random_state(random_state)
    k = rng.choice(len(weights), size=n, p=weights)
    return np.array([rng.multivariate_normal(means[j], covariances[j]) for j in k]), k


def separable_classes(
    n: int = 250, *, means: Sequence[Sequence[float]] = ((1.0, 1.0), (5.0, 6.0)), random_state: Seed = COURSE_SEED
) -> tuple[Matrix, Codes]:
    """Two round classes far apart with half of the points each: first those of label -1, then those of +1.

    Examples
    --------
    >>> X, y = separable_classes()
    >>> X.shape, y[0], y[-1]
    ((250, 2), np.int64(-1), np.int64(1))
    """
    rng = check_random_state(random_state)
    counts = (n // 2, n - n // 2)
    parts = [rng.multivariate_normal(mean, np.eye(len(mean)), m) for mean, m in zip(means, counts, strict=True)]
    return np.concatenate(parts), np.repeat([-1, 1], counts)


def disc(
    n: int = 500,
    *,
    centre: Sequence[float] = (3.0, 3.0),
    variance: float = 2.0,
    radius: float = 1.25**2,
    random_state: Seed = COURSE_SEED,
) -> tuple[Matrix, Codes]:
    """One round cloud: label -1 within the radius around its centre, +1 outside.

    Examples
    --------
    >>> X, y = disc(100_000)
    >>> round(float((y == -1).mean()), 2)  # 1 - exp(-radius^2 / 2 variance) = 0.456840
    0.46
    """
    rng = check_random_state(random_state)
    X = rng.multivariate_normal(centre, variance * np.eye(len(centre)), n)
    return X, np.where(np.linalg.norm(X - centre, axis=1) <= radius, -1, 1)


def sigmoid_sine(x: Array) -> Array:
    """The logistic sigmoid times the sine."""
    return expit(x) * np.sin(x)


def noisy_curve(
    n: int = 20,
    f: Callable[[Vector], Vector] = sigmoid_sine,
    *,
    noise: float = 1.0,
    low: float = -4.0,
    high: float = 7.0,
    random_state: Seed = COURSE_SEED,
) -> tuple[Matrix, Vector]:
    """Points x (n, 1), uniform between the ends, and f(x) with Gaussian noise of that standard deviation.

    Examples
    --------
    >>> X, y = noisy_curve(5, noise=0.0)
    >>> bool(np.allclose(y, sigmoid_sine(X[:, 0])))
    True
    """
    rng = check_random_state(random_state)
    x = rng.uniform(low, high, n)
    return x[:, None], f(x) + noise * rng.standard_normal(n)


@dataclass(frozen=True)
class CourseDatasets:
    """The five data sets, drawn one after the other from one seed: pairs of points and their component or target."""

    mixture_1d: tuple[Vector, Codes]
    mixture_2d: tuple[Matrix, Codes]
    separable: tuple[Matrix, Codes]
    disc: tuple[Matrix, Codes]
    noisy_curve: tuple[Matrix, Vector]


def course_datasets(seed: int = COURSE_SEED) -> CourseDatasets:
    """All five in the order and sizes of the course.

    Examples
    --------
    >>> X, y = course_datasets().noisy_curve
    >>> X[:3, 0].round(4), y[:3].round(4)
    (array([3.6357, 5.8628, 5.5724]), array([-1.2384, -0.8361, -0.5947]))
    """
    rng = np.random.RandomState(seed)
    return CourseDatasets(  # the order decides the numbers: all draw from one stream
        mixture_1d=mixture_1d(random_state=rng),
        mixture_2d=mixture_2d(random_state=rng),
        separable=separable_classes(random_state=rng),
        disc=disc(random_state=rng),
        noisy_curve=noisy_curve(random_state=rng),
    )

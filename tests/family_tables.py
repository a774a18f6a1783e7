"""Every family of distributions with tables it fits: what the laws over families are tried on."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from fivefold.distributions.family import GroupWeights, families

K = 3
CASES = [
    pytest.param(family, X, id=f"{type(family).__name__}-{i}")
    for cls in families()
    for i, (family, X) in enumerate(cls.examples(np.random.RandomState(0)))
]
over_families = pytest.mark.parametrize(("family", "X"), CASES)


def shifted(cases):
    """The same tables moved by 1e8, for the families that may hold such numbers."""
    for case in cases:
        family, X = case.values
        try:
            family.fit(family.stats(X + 1e8, np.ones((len(X), 1))))
        except ValueError:
            continue
        yield pytest.param(family, X + 1e8, id=f"{case.id}-at-1e8")


EVERYWHERE = [*CASES, *shifted(CASES)]
anywhere = pytest.mark.parametrize(("family", "X"), EVERYWHERE)


def weights(n, seed=1):
    return np.random.RandomState(seed).uniform(size=(n, K))


def groups(n, seed=2):
    rng = np.random.RandomState(seed)
    return GroupWeights(rng.randint(0, K, n), rng.uniform(0.5, 2, n), K)


def leaves(thing):
    """The numbers in a value, with the path to each."""
    if is_dataclass(thing):
        for f in fields(thing):
            yield from ((f"{f.name}.{path}", leaf) for path, leaf in leaves(getattr(thing, f.name)))
    elif isinstance(thing, tuple | list):
        for i, part in enumerate(thing):
            yield from ((f"{i}.{path}", leaf) for path, leaf in leaves(part))
    else:
        yield "", np.asarray(thing)


def assert_same(found, wanted, rtol):
    """Equal up to `rtol` times the largest number of each field; to four digits of the spread for sums at 1e8."""
    for (path, a), (_, b) in zip(leaves(found), leaves(wanted), strict=True):
        if b.dtype.kind != "f":
            assert (a == b).all(), path
            continue
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        near = rtol if scale < 1e6 else min(rtol, 1e-12)
        np.testing.assert_allclose(a, b, rtol=near, atol=near * scale, err_msg=path)


def precision(X):
    """1e-10: sums in another order; at an offset of 1e8 the spread has eight digits fewer."""
    return 1e-10 if np.abs(X).max() < 1e6 else 1e-8

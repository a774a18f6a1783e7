"""Rows D-16 and A-163."""

import time
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from fivefold.core.registry import find
from fivefold.datasets.tiny import tiny
from fivefold.spatial.distances import squared_distances
from fivefold.study.advice import Known, advise


@pytest.mark.parametrize("known", Known.__args__)
def test_every_answer_leads_to_something_that_runs(known):
    """Row D-16."""
    named = advise(known)
    assert named
    for dotted in named:
        module, _, name = dotted.rpartition(".")
        thing = getattr(import_module(module), name)
        if isinstance(thing, type) and issubclass(thing, BaseEstimator):
            table = tiny(find(name))[0]
            thing(**thing.card.given).fit(table.X, table.y)
        else:
            assert callable(thing)


def test_what_is_known_must_be_one_of_four_answers():
    with pytest.raises(ValueError, match="known must be one of distributions, form, labels, nothing; got 'all'"):
        advise("all")


def test_one_product_is_faster_than_loops():
    """Row A-163: loops in Python against one product, 200 points; the gap is a hundredfold, so load cannot hide it."""
    X = np.random.RandomState(0).normal(size=(200, 5))
    squared_distances(X, X)
    start = time.perf_counter()
    slow = np.array([[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in X] for x in X])
    middle = time.perf_counter()
    quick = squared_distances(X, X)
    end = time.perf_counter()
    np.testing.assert_allclose(quick, slow, atol=1e-10)
    assert (middle - start) / (end - middle) > 1

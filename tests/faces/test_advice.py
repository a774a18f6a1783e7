"""Row D-16."""

from importlib import import_module

import pytest
from sklearn.base import BaseEstimator
from tables import build

from fivefold.core.registry import find
from fivefold.datasets.tiny_tables import tiny_tables
from fivefold.study.guide.advice import PriorKnowledge, advise


@pytest.mark.parametrize("known", PriorKnowledge.__args__)
def test_every_answer_leads_to_something_that_runs(known):
    """Row D-16."""
    named = advise(known)
    assert named
    for dotted in named:
        module, _, name = dotted.rpartition(".")
        thing = getattr(import_module(module), name)
        if isinstance(thing, type) and issubclass(thing, BaseEstimator):
            method = find(name)
            table = tiny_tables(method)[0]
            build((method, method.card.given)).fit(table.X, table.y)
        else:
            assert callable(thing)


def test_what_is_known_must_be_one_of_four_answers():
    with pytest.raises(ValueError, match="known must be one of distributions, form, labels, nothing; got 'all'"):
        advise("all")

"""Bugs of models of sequences."""

import numpy as np
import pytest

from fivefold.data import Chunks
from fivefold.sequence import GaussianHMM


def test_a_hidden_markov_model_is_not_asked_chunk_by_chunk():
    """A table in chunks was answered as if a new sequence began with every chunk: other probabilities, and no word."""
    X = np.random.RandomState(0).normal(size=(30, 2)).cumsum(axis=0)
    model = GaussianHMM(2, random_state=0, n_iter=3).fit(X)
    with pytest.raises(TypeError, match="has to see all rows at once"):
        model.predict_proba(Chunks([X[:15], X[15:]]))

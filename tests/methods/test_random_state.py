"""Generators from seeds: the numbers are NumPy's, as scikit-learn's are."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state as rival

from fivefold.core.random_state import check_random_state


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1, np.int64(7), np.uint8(3), True])
def test_a_seed_gives_the_numbers_of_numpy(seed):
    ours, theirs = check_random_state(seed), np.random.RandomState(seed)
    assert all(np.array_equal(a, b) for a, b in zip(ours.get_state(), theirs.get_state(), strict=True))
    np.testing.assert_array_equal(ours.standard_normal(1300), theirs.standard_normal(1300))
    assert ours.randint(2**31) == theirs.randint(2**31)


def test_generators_of_one_seed_share_nothing():
    first, second = check_random_state(3), check_random_state(3)
    first.standard_normal(5)
    assert second.uniform() == np.random.RandomState(3).uniform()


def test_a_generator_is_itself_and_none_is_the_one_of_numpy():
    rng = np.random.RandomState(0)
    assert check_random_state(rng) is rng
    assert check_random_state(None) is rival(None)


@pytest.mark.parametrize("seed", [-1, 2**32, 2**70, 1.5, "x"])
def test_other_seeds_are_refused_in_the_words_of_scikit_learn(seed):
    with pytest.raises(ValueError) as theirs:
        rival(seed)
    with pytest.raises(ValueError) as ours:
        check_random_state(seed)
    assert str(ours.value) == str(theirs.value)


def test_a_generator_can_be_copied_and_kept_without_fivefold():
    rng = check_random_state(4)
    wanted = np.random.RandomState(4).uniform(size=3)
    for other in (copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))):
        np.testing.assert_array_equal(other.uniform(size=3), wanted)
    assert b"fivefold" not in pickle.dumps(rng)

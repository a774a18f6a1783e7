"""A seed decides the bytes for any number of threads: of our pool, of BLAS, and of Python."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.estimators.base import Transformer
from fivefold.core.numerics.products import cross_product, product
from fivefold.core.parallel import map_items, map_parts

TESTS = Path(__file__).parents[1]
ROWS, COLUMNS = 20_000, 12  # parts for two threads of the pool, and products that BLAS divides


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def digests(threads, variants):
    """What every method learns and says, from a process with so many threads."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, TESTS / "fingerprints.py", str(variants), str(ROWS), str(COLUMNS)]
    return json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("variants", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["defaults", "variants"])
def test_the_number_of_threads_never_changes_a_byte(variants):
    """In processes of their own, as users set it: BLAS reads its number of threads when it is loaded."""
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(digests, (1, 2), (variants, variants))
    assert len(one) > 100
    differ = {name: [part for part in one[name] if one[name][part] != two[name][part]] for name in one}
    assert {name: parts for name, parts in differ.items() if parts} == {}


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_products_are_cut_by_their_shape(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    for n, d, k in ((20_000, 30, 7), (300, 4000, 20), (900, 900, 50), (5, 3, 2), (64, 1, 1)):
        A, B, C = rng.normal(size=(n, d)), rng.normal(size=(d, k)), rng.normal(size=(n, k))
        made = product(A, B), product(A, B[:, 0]), cross_product(A, C), cross_product(A, A)
        for found, expected in zip(made, (A @ B, A @ B[:, 0], A.T @ C, A.T @ A), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * n)
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        alone = product(A, B), product(A, B[:, 0]), cross_product(A, C), cross_product(A, A)
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert [x.tobytes() for x in made] == [x.tobytes() for x in alone]


class Spy(Transformer):
    """Says how many threads BLAS has within its methods."""

    def _fit(self, X):
        self.model_ = blas_threads()

    def transform(self, X):
        """Those now."""
        return blas_threads()


def test_blas_has_one_thread_in_every_public_method_and_what_it_had_before_and_after():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        model = Spy().fit(np.ones((3, 1)))
        assert model.model_ == Spy.transform(model, None) == {1}
        assert map_parts(lambda lo, hi: blas_threads(), 5) == [{1}]
        assert map_items(lambda i: blas_threads(), 3) == [{1}] * 3
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / len(blas_threads() - {1})
        assert blas_threads() == before


def test_fits_in_several_threads_of_python_keep_to_one_thread_of_blas_until_the_last_has_ended():
    """Each of them restoring what it had found would leave BLAS with several threads for one, or with one for good."""
    before = blas_threads()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: Spy().fit(np.ones((3, 1))).model_, range(40)))
    assert found == [{1}] * 40
    assert blas_threads() == before

"""Arrays of other libraries are answered in kind by every method, where scikit-learn dispatches."""

import array_api_strict
import numpy as np
import pytest
import sklearn
from scipy.sparse import issparse
from tables import CASES, build, named, table

from fivefold.core.estimators.foreign_arrays import ROW_METHODS

FIRST = [case for case in CASES if case[1] == case[0].card.given]  # one case per method


@pytest.mark.parametrize("case", FIRST, ids=named)
def test_every_answer_is_an_array_of_the_library_of_the_rows(case):
    X, y = table(case)
    y = np.unique(y, return_inverse=True)[1] if y.dtype.kind == "U" else y  # no other library has strings
    plain, rows = build(case).fit(X, y), array_api_strict.asarray(X)
    with sklearn.config_context(array_api_dispatch=True):
        for name in ROW_METHODS:
            if hasattr(plain, name):
                answer = getattr(plain, name)(rows)
                if issparse(answer):  # no other library has such matrices in common with SciPy
                    continue
                assert type(answer) is type(rows), name
                np.testing.assert_array_equal(np.from_dlpack(answer), getattr(plain, name)(X), err_msg=name)

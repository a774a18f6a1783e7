"""docs/coverage.csv: every row of the catalogue that is served, by what, and the test that shows it.

That the test runs what serves the row is watched while it runs: tests/served.py.
"""

import ast
from functools import cache

import numpy as np
import pytest
from served import ROOT, ROWS, Watch, codes, resolve
from sklearn.model_selection import KFold

from fivefold.core.estimators.base import learned
from fivefold.core.numerics.products import double_centre
from fivefold.linear_model import Lasso, Ridge
from fivefold.optim.functions import BOWL

SIZES = {"A": 164, "B": 211, "C": 226, "D": 346, "E": 359}


@cache
def functions_of(file):
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["row"])
def test_the_name_and_the_test_of_a_row_exist(row):
    letter, number = row["row"].split("-")
    assert 1 <= int(number) <= SIZES[letter]
    for dotted in row["served_by"].split():
        resolve(dotted)
    file, _, name = row["test"].partition("::")
    assert name.partition("[")[0] in functions_of(file)


def test_no_row_is_listed_twice():
    ids = [row["row"] for row in ROWS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("fivefold.core.numerics.products.double_centre", lambda: double_centre(np.eye(2))),
        ("fivefold.linear_model.Ridge", Ridge),
        ("fivefold.linear_model.Ridge.fit", lambda: Ridge().fit([[0.0], [1.0]], [0.0, 1.0])),
        ("fivefold.core.estimators.base.learned", lambda: learned("a")),
        ("fivefold.optim.functions.BOWL", lambda: BOWL.function.value(BOWL.start)),
        ("sklearn.model_selection.KFold", KFold),
    ],
)
def test_a_watch_sees_what_runs_and_nothing_else(name, run):
    with Watch({"row": {name}}) as idle:
        Lasso().fit([[0.0], [1.0]], [0.0, 1.0]) if name != "fivefold.core.estimators.base.learned" else Lasso()
    with Watch({"row": {name}}) as busy:
        run()
    assert codes(name) and list(idle.left) == ["row"] and not busy.left

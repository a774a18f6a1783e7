"""docs/coverage.csv: every row of the catalogue that is served, by what, and the test that shows it."""

import ast
import csv
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = list(csv.DictReader((ROOT / "docs" / "coverage.csv").read_text().splitlines()))
SIZES = {"A": 164, "B": 211, "C": 226, "D": 346, "E": 359}


def resolve(dotted):
    """The object of a dotted name."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise ImportError(dotted)


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

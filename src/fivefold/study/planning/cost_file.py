"""A file of costs: what each decision costs for each true class, for `fivefold study --costs`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from fivefold.decision.cost_matrix import CostMatrix
from fivefold.study.tables.dataset import BadInput, Data

LAYOUT = (
    "It is a table with a header: a row per true class, named in the first column, a column per decision, and "
    "optionally a column reject"
)


def read_cost_file(path: Path, data: Data) -> CostMatrix:
    """The cost matrix of the classes of a table; raises BadInput, with what is wrong, if it is none."""
    if not data.task.is_classification:
        raise BadInput(f"--costs is for classes; the target {data.target!r} is a number")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"--costs {path}: the file cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None
    separator = max(",;\t", key=text.partition("\n")[0].count)
    cells = [row for row in csv.reader(text.splitlines(), delimiter=separator) if any(cell.strip() for cell in row)]
    try:
        return CostMatrix.read(cells, tuple(map(str, np.unique(data.y))))
    except ValueError as error:
        raise BadInput(f"--costs {path}: {error}. {LAYOUT}") from None

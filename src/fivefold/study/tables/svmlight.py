"""The sparse text format of SVMlight and LIBSVM: a row per line, `label index:value index:value ...  # comment`.

Values that are not named are zero. Columns are called x1, x2, ... by their indices, and the target `label`.
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from fivefold.study.tables.table import BadInput, Table
from fivefold.study.tables.text_encoding import check_memory

ROW = re.compile(rb"\s*[-+.\d][-+.\deE]*(?:\s+qid:\d+)?(?:\s+\d+:[-+.\d][-+.\deE]*){2}")
BYTES_PER_CELL = 8  # memory of a value, as a float


def looks_like_svmlight(text: bytes) -> bool:
    """Does the first line that is no comment hold a label and pairs of index and value?"""
    first = next((line for line in text[:10_000].splitlines() if line.strip() and not line.startswith(b"#")), b"")
    return ROW.match(first) is not None


def read_svmlight(path: Path, content: bytes) -> Table:
    """The table of a file in UTF-8, with every value that is zero."""
    bare = (line.partition(b"#")[0].strip() for line in content.split(b"\n"))
    at = np.array([number for number, line in enumerate(bare, 1) if line], dtype=np.int64)
    try:
        X, y = load_svmlight_file(BytesIO(content), zero_based=False)
    except ValueError:
        try:
            X, y = load_svmlight_file(BytesIO(content), zero_based=True)
        except (ValueError, OverflowError) as error:
            raise BadInput(
                f"{path}: not rows of `label index:value index:value ...` with increasing indices ({error})"
            ) from None
    except OverflowError as error:
        raise BadInput(f"{path}: an index is too large ({error})") from None
    if not len(y):
        raise BadInput(f"{path}: there are no rows")
    check_memory(path, BYTES_PER_CELL * X.shape[0] * X.shape[1])  # an index of a billion is one word of text
    whole = np.all(np.isfinite(y)) and np.all(y == np.round(y)) and np.all(np.abs(y) < 2**53)
    columns = {f"x{j + 1}": values for j, values in enumerate(X.toarray(order="F").T)}
    frame = pl.DataFrame({"label": y.astype(np.int64) if whole else y, **columns})
    return Table(path.name, frame, at, "line")

"""Odd inputs for every method: kinds of tables, targets, weights and parameters, each made from an ordinary one.

A case is (method, part, kind): the named part of a fit is odd, the rest is ordinary. `attempt` runs one case and says
what came of it. Run as a script this module attempts the cases on its input, one a line, and writes an outcome a line,
so that a case that ends the process is known by its name.
"""

import faulthandler
import inspect
import json
import math
import re
import sys
import tempfile
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from tables import METHODS, answers_new_rows, build, outputs, table

from fivefold.core.console import user_warnings
from fivefold.core.estimators import params

SECONDS = 300  # a case that takes longer hangs; a first fit compiles
BIG, TINY, LEAST = 1.7e308, 1e-308, 5e-324
BY_NAME = {method.name: method for method in METHODS}


def ordinary(name):
    method = BY_NAME[name]
    return (method, method.card.given), *table((method, method.card.given), n=24, d=3)


def frame(X, **columns):
    return pd.DataFrame(X, columns=list("abcdefgh")[: X.shape[1]]).assign(**columns)


def polars(X, dtype):
    return pl.DataFrame(np.round(np.abs(X)), schema=list("abcdefgh")[: X.shape[1]]).cast(dtype, strict=False)


def placed(X, value, where=(3, 1)):
    X = np.array(X, dtype=object if not isinstance(value, float) else np.float64)
    X[where] = value
    return X


def mapped(X):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        np.save(file, X)
    held = np.load(file.name, mmap_mode="r")
    Path(file.name).unlink()
    return held


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def damaged(X, part, at, value, kind="csr"):
    S = getattr(sparse, f"{kind}_matrix")(X)
    getattr(S, part)[at] = value
    return S


def messy(X, dtype=np.float64):
    S = sparse.csr_matrix(X)
    halves = np.repeat(S.data / 2, 2).astype(dtype)
    return sparse.csr_matrix((halves[::-1], np.repeat(S.indices, 2)[::-1], 2 * S.indptr), shape=X.shape)


NUMBERS = [
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "g",
    "?",
    ">f8",
    ">i4",
    "c16",
    "U8",
    "S8",
    "M8[D]",
    "m8[s]",
    "O",
]
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
TABLES = {
    **{f"dtype {t}": lambda X, t=t: np.round(np.abs(X)).astype(t) for t in NUMBERS},
    "structured": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", int)]),
    "masked": lambda X: np.ma.masked_array(X, mask=X > 1),
    "np.matrix": lambda X: np.matrix(X),
    "Decimal": lambda X: np.array([[Decimal(str(v)) for v in row] for row in X], dtype=object),
    "Fraction": lambda X: np.array([[Fraction(v) for v in row] for row in X], dtype=object),
    "one None": lambda X: placed(X, None),
    "one string": lambda X: placed(X, "seven"),
    "one list": lambda X: placed(X, [1, 2]),
    "one dictionary": lambda X: placed(X, {}),
    "one integer beyond floats": lambda X: placed(X, 10**400),
    "integers beyond 64 bits": lambda X: [[2**70 + i + j for j in range(X.shape[1])] for i in range(len(X))],
    "list": lambda X: X.tolist(),
    "ragged": lambda X: [[1.0], *X[1:].tolist()],
    "empty list": lambda X: [],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "one by one": lambda X: X[:1, :1],
    "one column": lambda X: X[:, :1],
    "vector": lambda X: X[:, 0],
    "three axes": lambda X: X[:, :, None],
    "number": lambda X: 3.5,
    "None": lambda X: None,
    "word": lambda X: "table",
    "dictionary": lambda X: {"a": [1, 2]},
    "wide": lambda X: np.tile(X, (1, 12))[:5],
    "zeros": lambda X: 0 * X,
    "negative zeros": lambda X: -0.0 * np.abs(X),
    "ones": lambda X: 0 * X + 1,
    "all the largest": lambda X: 0 * X + BIG,
    "huge": lambda X: np.abs(X) * 1e307,
    "huge of both signs": lambda X: X * 1e307,
    "large": lambda X: X * 1e155,
    "tiny": lambda X: np.abs(X) * TINY,
    "denormal": lambda X: np.where(X > 0, LEAST, 0.0),
    "one huge": lambda X: placed(X, BIG),
    "two huge": lambda X: placed(placed(X, BIG), BIG / 2, (4, 1)),
    "one column tiny": lambda X: X * np.r_[TINY, np.ones(X.shape[1] - 1)],
    "one column huge": lambda X: np.abs(X) * np.r_[1e300, np.ones(X.shape[1] - 1)],
    "float32 huge": lambda X: (np.abs(X) * 1e37).astype(np.float32),
    "float32 tiny": lambda X: (np.abs(X) * 1e-44).astype(np.float32),
    "far from zero": lambda X: X + 1e15,
    "constant column": lambda X: X * np.r_[0.0, np.ones(X.shape[1] - 1)],
    "collinear": lambda X: X[:, :1] * np.ones(X.shape[1]),
    "duplicated rows": lambda X: np.repeat(X[:2], [12, len(X) - 12], axis=0),
    "one NaN": lambda X: placed(X, np.nan),
    "NaN column": lambda X: X * np.r_[np.nan, np.ones(X.shape[1] - 1)],
    "NaN row": lambda X: placed(X, np.nan, (3, slice(None))),
    "all NaN": lambda X: np.nan * X,
    "infinity": lambda X: placed(X, np.inf),
    "minus infinity": lambda X: placed(X, -np.inf),
    "negative": lambda X: -np.abs(X) - 1,
    "Fortran order": lambda X: np.asfortranarray(X),
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1, ::-1],
    "stride zero": lambda X: np.broadcast_to(X[0], X.shape),
    "read-only": lambda X: read_only(X),
    "memory-mapped": lambda X: mapped(X),
    "pandas": lambda X: frame(X),
    "pandas float32": lambda X: frame(X.astype(np.float32)),
    "pandas unsigned": lambda X: frame(np.abs(X).astype(np.uint8)),
    "pandas Int64": lambda X: frame(np.abs(X).astype(int)).astype("Int64"),
    "pandas Int64 with NA": lambda X: frame(np.abs(X).astype(int)).astype("Int64").mask(X > 2),
    "pandas boolean": lambda X: frame(X > 0).astype("boolean"),
    "pandas strings": lambda X: frame(X).astype(str),
    "pandas words": lambda X: frame(X, b=np.where(X[:, 0] > 0, "x", "y")),
    "pandas words and None": lambda X: frame(X, b=np.where(X[:, 0] > 0, "x", None)),
    "pandas words and numbers": lambda X: frame(X, b=[("x", 1, 2.5, None)[i % 4] for i in range(len(X))]),
    "pandas category": lambda X: frame(X, b=pd.Categorical(np.where(X[:, 0] > 0, "x", "y"))),
    "pandas category of numbers": lambda X: frame(X, b=pd.Categorical(np.round(np.abs(X[:, 0])))),
    "pandas category of dates": lambda X: frame(X, b=pd.Categorical([date(2020, 1, 1 + i % 9) for i in range(len(X))])),
    "pandas intervals": lambda X: frame(X, b=pd.cut(X[:, 0], 3)),
    "pandas dates": lambda X: frame(X, b=pd.Timestamp("2020-01-01")),
    "pandas durations": lambda X: frame(X, b=pd.Timedelta("1s")),
    "pandas Decimal": lambda X: frame(X, b=[Decimal(1)] * len(X)),
    "pandas complex": lambda X: frame(X, b=X[:, 0] * 1j),
    "pandas lists": lambda X: frame(X, b=[[1]] * len(X)),
    "pandas sparse": lambda X: frame(X).astype(pd.SparseDtype(float)),
    "pandas huge integers": lambda X: frame(X, b=[10**400] * len(X)),
    "pandas names of numbers": lambda X: pd.DataFrame(X),
    "pandas mixed names": lambda X: pd.DataFrame(X).rename(columns={0: "a"}),
    "pandas same names": lambda X: pd.DataFrame(X, columns=["a"] * X.shape[1]),
    "pandas two levels of names": lambda X: pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], range(3)])),
    "pandas odd index": lambda X: frame(X).set_index(np.zeros(len(X))),
    "pandas no rows": lambda X: frame(X)[:0],
    "pandas no columns": lambda X: frame(X)[[]],
    "pandas series": lambda X: frame(X)["a"],
    **{
        f"polars {t}": lambda X, t=t: polars(X, getattr(pl, t))
        for t in [
            "UInt8",
            "UInt16",
            "UInt32",
            "UInt64",
            "Int8",
            "Int64",
            "Float32",
            "Boolean",
            "String",
            "Date",
            "Null",
        ]
    },
    "polars Decimal": lambda X: polars(X, pl.Int64).cast(pl.Decimal(10, 2)),
    "polars Categorical": lambda X: polars(X, pl.String).cast(pl.Categorical),
    "polars lists": lambda X: polars(X, pl.Int8).with_columns(b=pl.concat_list("a")),
    "polars structs": lambda X: polars(X, pl.Int8).with_columns(b=pl.struct("a")),
    "polars null": lambda X: polars(X, pl.Float64).with_columns(b=pl.lit(None)),
    "polars lazy": lambda X: polars(X, pl.Float64).lazy(),
    "pyarrow": lambda X: pa.table({"a": X[:, 0], "b": np.abs(X[:, 1]).astype(np.uint8), "c": X[:, 2]}),
    "pyarrow decimal": lambda X: pa.table({c: pa.array([Decimal(1)] * len(X)) for c in "abc"}),
    "pyarrow null": lambda X: pa.table({c: pa.nulls(len(X)) for c in "abc"}),
    "pyarrow dictionary": lambda X: pa.table({c: pa.array(["x", "y"] * 12).dictionary_encode() for c in "abc"}),
    **{
        f"sparse {k}": lambda X, k=k: getattr(sparse, f"{k}_array")(X)
        for k in ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
    },
    "sparse halves": lambda X: messy(np.round(np.abs(X))),
    "sparse halves of bytes": lambda X: messy(2 * np.round(np.abs(X)), np.uint8),
    "sparse truth": lambda X: sparse.csr_matrix(X > 0),
    "sparse complex": lambda X: sparse.csr_matrix(X * 1j),
    "sparse NaN": lambda X: sparse.csr_matrix(placed(X, np.nan)),
    "sparse infinity": lambda X: sparse.csr_matrix(placed(X, np.inf)),
    "sparse zeros": lambda X: sparse.csr_matrix(X.shape),
    "sparse huge": lambda X: sparse.csr_matrix(np.abs(X) * 1e307),
    "sparse no columns": lambda X: sparse.csr_matrix((len(X), 0)),
    "sparse no rows": lambda X: sparse.csr_matrix((0, X.shape[1])),
    "sparse vector": lambda X: sparse.coo_array(X[:, 0]),
    "sparse index outside": lambda X: damaged(X, "indices", 2, 10**6),
    "sparse index negative": lambda X: damaged(X, "indices", 2, -(10**6)),
    "sparse pointer outside": lambda X: damaged(X, "indptr", -1, 10**8),
    "sparse pointer negative": lambda X: damaged(X, "indptr", 2, -(10**8)),
    "sparse column pointer outside": lambda X: damaged(X, "indptr", 1, 10**8, "csc"),
    "sparse block outside": lambda X: damaged(X, "indices", 0, 10**6, "bsr"),
    "sparse row outside": lambda X: damaged(X, "row", 2, 10**6, "coo"),
}
TARGETS = {
    **{f"dtype {t}": lambda y, t=t: (np.arange(len(y)) % 3 + 1).astype(t) for t in NUMBERS},
    "one value": lambda y: y[:1].repeat(len(y), axis=0),
    "zeros": lambda y: np.zeros(len(y)),
    "few floats": lambda y: (np.arange(len(y)) % 3).astype(float),
    "many floats": lambda y: np.linspace(0.1, 1, len(y)),
    "all different": lambda y: np.arange(len(y)),
    "one lonely": lambda y: (np.arange(len(y)) == 5).astype(int),
    "huge": lambda y: np.arange(1, len(y) + 1) * 1e306,
    "huge of both signs": lambda y: np.where(np.arange(len(y)) % 2, BIG, -BIG),
    "large": lambda y: np.arange(1, len(y) + 1) * 1e160,
    "tiny": lambda y: np.arange(1, len(y) + 1) * TINY,
    "denormal": lambda y: np.where(np.arange(len(y)) % 2, LEAST, 0.0),
    "one huge": lambda y: placed(np.arange(1.0, len(y) + 1), BIG, 3),
    "huge integers": lambda y: np.arange(len(y)) % 3 + 2**62,
    "huge unsigned": lambda y: (np.arange(len(y)) % 3).astype(np.uint64) + np.uint64(2**63),
    "integers beyond 64 bits": lambda y: [2**70 + i % 3 for i in range(len(y))],
    "integers beyond floats": lambda y: [10**400 + i % 3 for i in range(len(y))],
    "integers far apart": lambda y: np.where(np.arange(len(y)) % 2, 2**62, -(2**62)),
    "too short": lambda y: y[:-1],
    "too long": lambda y: np.concatenate([y, y]),
    "column": lambda y: y.reshape(len(y), -1)[:, :1],
    "two columns": lambda y: np.column_stack([y.reshape(len(y), -1)] * 2),
    "no columns": lambda y: np.empty((len(y), 0)),
    "three axes": lambda y: np.ones((len(y), 2, 2)),
    "number": lambda y: 1.0,
    "word": lambda y: "y",
    "None": lambda y: None,
    "empty": lambda y: [],
    "NaN": lambda y: placed(np.arange(1.0, len(y) + 1), np.nan, 3),
    "infinity": lambda y: placed(np.arange(1.0, len(y) + 1), np.inf, 3),
    "one None": lambda y: placed(np.arange(len(y)), None, 3),
    "words and numbers": lambda y: np.array([("x", 1)[i % 2] for i in range(len(y))], dtype=object),
    "words": lambda y: np.array(["x", "y", ""])[np.arange(len(y)) % 3],
    "lists": lambda y: [[i % 2] * (1 + i % 2) for i in range(len(y))],
    "tuples": lambda y: [(i % 2, "a") for i in range(len(y))],
    "Decimal": lambda y: [Decimal(i % 3 + 1) for i in range(len(y))],
    "dates": lambda y: [date(2020, 1, 1 + i % 3) for i in range(len(y))],
    "negative": lambda y: -np.arange(1.0, len(y) + 1),
    "zeros of both signs": lambda y: np.where(np.arange(len(y)) % 2, 0.0, -0.0),
    "pandas": lambda y: pd.Series(np.arange(len(y)) % 3 + 1),
    "pandas Int64": lambda y: pd.Series(np.arange(len(y)) % 3 + 1, dtype="Int64"),
    "pandas Int64 with NA": lambda y: pd.Series([*range(1, len(y)), None], dtype="Int64"),
    "pandas category": lambda y: pd.Series(pd.Categorical(np.arange(len(y)) % 3 + 1)),
    "pandas frame": lambda y: pd.DataFrame({"y": np.arange(len(y)) % 3 + 1}),
    "polars": lambda y: pl.Series(np.arange(len(y)) % 3 + 1).cast(pl.UInt8),
    "polars Categorical": lambda y: pl.Series(list("xyz") * (len(y) // 3)).cast(pl.Categorical),
    "pyarrow": lambda y: pa.array(np.arange(len(y)) % 3 + 1),
    "sparse": lambda y: sparse.csr_matrix((np.arange(len(y)) % 2)[:, None]),
    "sparse damaged": lambda y: damaged(np.ones((len(y), 2)), "indices", 2, 10**6),
    "masked": lambda y: np.ma.masked_array(np.arange(1, len(y) + 1), mask=np.arange(len(y)) == 3),
    "matrix": lambda y: np.matrix(np.arange(len(y)) % 2),
}
WEIGHTS = {
    **{f"dtype {t}": lambda w, t=t: (np.arange(len(w)) % 3).astype(t) for t in NUMBERS},
    "zeros": lambda w: 0 * w,
    "one row": lambda w: (np.arange(len(w)) == 3).astype(float),
    "two rows": lambda w: (np.arange(len(w)) < 2).astype(float),
    "huge": lambda w: w * BIG,
    "large": lambda w: w * 1e200,
    "tiny": lambda w: w * TINY,
    "denormal": lambda w: w * LEAST,
    "huge and tiny": lambda w: np.where(np.arange(len(w)) % 2, BIG, TINY),
    "one huge": lambda w: placed(w, BIG, 3),
    "one tiny": lambda w: placed(w, LEAST, 3),
    "negative": lambda w: placed(w, -1.0, 3),
    "NaN": lambda w: placed(w, np.nan, 3),
    "infinity": lambda w: placed(w, np.inf, 3),
    "None": lambda w: None,
    "number": lambda w: 2.0,
    "word": lambda w: "balanced",
    "too short": lambda w: w[:-1],
    "column": lambda w: w[:, None],
    "two columns": lambda w: np.ones((len(w), 2)),
    "integers beyond 64 bits": lambda w: [2**70] * len(w),
    "integers beyond floats": lambda w: [10**400] * len(w),
    "Decimal": lambda w: [Decimal(1)] * len(w),
    "one None": lambda w: placed(w, None, 3),
    "pandas": lambda w: pd.Series(w),
    "polars": lambda w: pl.Series(w),
    "sparse": lambda w: sparse.csr_matrix(w[:, None]),
}
VALUES = {
    "0": 0, "1": 1, "-1": -1, "2": 2, "2**70": 2**70, "10**400": 10**400, "0.0": 0.0, "0.5": 0.5, "1.0": 1.0,
    "-0.5": -0.5, "largest": BIG, "1e308": 1e308, "1e200": 1e200, "1e-200": 1e-200, "1e-308": 1e-308, "least": LEAST,
    "NaN": math.nan, "infinity": math.inf, "None": None, "True": True, "word": "no such word", "empty word": "",
    "list": [1, 2], "empty list": [], "array": np.array([0.5, 0.5]), "NaN array": np.array([np.nan, 1.0]),
    "object": object(), "Decimal": Decimal(1), "complex": 1j, "dictionary": {}, "class": int,
}  # fmt: skip
JARGON = re.compile(
    r"could not be broadcast|zero-size|out of bounds|NoneType|has no attribute|cannot convert float|not subscriptable|"
    r"ufunc '|"
    r"truth value of an array|index \d+ is|unsupported operand|"
    r"must not contain infs or NaNs|not callable|unhashable|internal error|numba|TypingError"
)


def parameter_kinds(method):
    """The values worth trying for each parameter: all that its declaration allows, and three that it does not."""
    for name, hint in params.declared_params(method.cls).items():
        if name in ("verbose", "n_jobs", "random_state", "warm_start"):
            kinds = ["2**70", "word", "NaN", "object", "-1"]
        else:

            def allowed(kind, hint=hint):
                try:
                    return params.allows(hint, VALUES[kind])
                except (ArithmeticError, TypeError, ValueError):
                    return False

            inside = [kind for kind in VALUES if allowed(kind)]
            kinds = inside + [kind for kind in ("2**70", "10**400", "object", "NaN") if kind not in inside]
        for kind in kinds:
            yield f"{name}={kind}"


def cases(method):
    """Every (method, part, kind)."""
    weighted = "sample_weight" in inspect.signature(method.cls.fit).parameters
    answering = answers_new_rows((method,))
    for part, kinds in (
        ("X", TABLES), ("query", TABLES if answering else ()), ("y", TARGETS), ("weights", WEIGHTS if weighted else ()),
        ("parameter", list(parameter_kinds(method))),
    ):  # fmt: skip
        for kind in kinds:
            yield method.name, part, kind


def attempt(name, part, kind):
    """What came of a case: "answer", "refusal", or what should not be, in words."""
    case, X, y = ordinary(name)
    w, settings = None, {"n_estimators": 4}
    query = X
    if part == "X":
        X = query = TABLES[kind](X)
    elif part == "query":
        query = TABLES[kind](X)
    elif part == "y":
        y = TARGETS[kind](y)
    elif part == "weights":
        w = WEIGHTS[kind](np.ones(len(X)))
    else:
        parameter, value = kind.split("=", 1)
        settings[parameter] = VALUES[value]
    rows = part == "X" and len(getattr(X, "shape", ())) == 2 and X.shape[0] < len(y)
    y = y[: X.shape[0]] if rows else y
    fit = {} if w is None and (part != "weights" or kind != "None") else {"sample_weight": w}
    with warnings.catch_warnings(), mock.patch.object(user_warnings, "warnings", Words):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            model = build(case, **settings).fit(X, y, **fit)
            said = outputs(model, query)
        except (ValueError, TypeError, NotImplementedError) as error:
            words = str(error)
            return f"jargon: {type(error).__name__}: {words[:200]}" if JARGON.search(words) or not words else "refusal"
        except BaseException as error:
            return f"foreign: {type(error).__name__}: {str(error)[:200]}"
    return judged(model, said, query)


class Words:
    """In place of `warnings` for what fivefold says itself, in words: no error, whatever its category.

    Numbers that overflow or are no numbers warn through NumPy, with the same category, and stay errors.
    """

    @staticmethod
    def warn(message, category, stacklevel):
        assert re.search(r"[a-z]{2,} [a-z]{2,}", message), message


def judged(model, said, query):
    """Are the answers numbers?"""
    gaps = holds_gaps(query)
    for name, values in said.items():
        values = values.item() if values.dtype == object and values.ndim == 0 else values
        values = values.toarray() if sparse.issparse(values) else values
        if getattr(values, "dtype", np.dtype(object)).kind not in "fc" or (gaps and name == "transform"):
            continue
        if np.isnan(values).any():
            return f"NaN in {name}"
        if np.isinf(values).any() and name in ("predict", "predict_proba", "transform"):
            return f"infinity in {name}"
        if name == "predict_proba" and values.ndim == 2 and not np.allclose(values.sum(axis=1), 1, atol=1e-4):
            multi = getattr(model, "multilabel_", False)
            if not multi:
                return f"probabilities sum to {values.sum(axis=1)[0]:g}"
    return "answer"


def holds_gaps(X):
    try:
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        return bool(np.isnan(X).any())
    except (TypeError, ValueError, OverflowError):
        return True


def main():
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps({"begins": case}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        outcome = attempt(*case)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"case": case, "outcome": outcome}), flush=True)


if __name__ == "__main__":
    main()

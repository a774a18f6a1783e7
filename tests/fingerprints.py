"""Digests of all that methods learn and say, as a program: laws compare those of processes that differ in one setting.

    OMP_NUM_THREADS=2 python tests/fingerprints.py variants rows columns > digests.json

`variants` is 0 for the defaults of every method, 1 for their variants.
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Mapping

import numpy as np
from scipy.sparse import issparse
from tables import CASES, build, named, outputs, table

SHORT = {
    "max_iter": 5,
    "n_init": 1,
    "n_estimators": 4,
    "cv": 3,
    "n_inducing": 10,
}  # where a method has such a parameter
LOCAL_ROWS = 1500  # rows for methods that look at the neighbours of every row: enough for several panels and tiles
LOCAL_CHAPTERS = ("density", "manifold", "neighbors", "smoothing")
PAIRWISE_METHODS = (  # compare all pairs of rows, or most; shared tasks of agglomeration have tests of their own
    "AffinityPropagation",
    "AgglomerativeClustering",
    "DivisiveClustering",
    "HDBSCAN",
    "KMedoids",
    "MeanShift",
    "OPTICS",
    "SpectralClustering",
)
CUBIC_ROWS = 450  # rows for methods whose time grows faster than their square: enough for several tiles of a factor


def digest(thing):
    """Of the bytes of every array and the text of every number in it, however deep."""
    found = hashlib.sha1()
    _write(thing, found.update, set())
    return found.hexdigest()[:16]


def _write(thing, write, seen):
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        write(f"{thing.dtype}{thing.shape}".encode() + np.ascontiguousarray(thing).tobytes())
    elif thing is None or isinstance(thing, np.generic | int | float | complex | str | bytes):
        write(repr(thing).encode())
    elif id(thing) in seen:
        return
    else:
        seen.add(id(thing))
        write(type(thing).__name__.encode())
        for part in _parts(thing):
            _write(part, write, seen)


def _parts(thing):
    if issparse(thing):
        thing = thing.tocsr()
        return [thing.data, thing.indices, thing.indptr]
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist()
    if isinstance(thing, Mapping):
        return [part for pair in thing.items() for part in pair]
    if isinstance(thing, set | frozenset):
        return sorted(thing, key=repr)
    if isinstance(thing, list | tuple):
        return thing
    state = thing.get_state() if isinstance(thing, np.random.RandomState) else getattr(thing, "__dict__", {})
    return state if isinstance(state, tuple) else [part for name in sorted(state) for part in (name, state[name])]


def digests(case, rows, columns):
    """Of what a case learns from this many rows, and of all it says about some of them."""
    rows = min(rows, CUBIC_ROWS) if case[0].card.growth > 2 else rows
    local = case[0].chapter in LOCAL_CHAPTERS or case[0].name in PAIRWISE_METHODS
    rows = min(rows, LOCAL_ROWS) if local else rows
    X, y = table(case, n=rows, d=columns)
    model = build(case, **{name: value for name, value in SHORT.items() if name not in case[1]}).fit(X, y)
    said = {name: digest(value) for name, value in outputs(model, X[:5000]).items()}
    return said | {"learned": digest({name: value for name, value in vars(model).items() if name.endswith("_")})}


def main(variants, rows, columns, *names):
    warnings.simplefilter("ignore")  # five steps are few
    default = [dict(case[1]) == dict(case[0].card.given) for case in CASES]
    cases = [case for case, plain in zip(CASES, default, strict=True) if plain != bool(int(variants))]
    chosen = [case for case in cases if not names or case[0].name in names]
    json.dump({named(case): digests(case, int(rows), int(columns)) for case in chosen}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

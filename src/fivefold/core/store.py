"""Model files: skops, with types that hold data trusted and nothing else.

skops has no registry to join: `load` needs the list of trusted types. Trusted are a dataclass, a NamedTuple or an
estimator that the package defines below its faces, what scikit-learn's estimators are made of, and plain data. A file
is audited by the names in it; nothing of it is built before. Functions are not trusted, unless the caller names them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import is_dataclass
from importlib import import_module
from os import PathLike
from typing import Any
from zipfile import ZIP_DEFLATED

from fivefold.core._sklearn import BaseEstimator

TRUSTED = frozenset(  # data and nothing else
    {
        "builtins.frozenset",
        "datetime.datetime",
        "numpy.dtype",
        "numpy.random._pickle.__randomstate_ctor",
        "numpy.random.mtrand.RandomState",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
    }
)
PARTS = (  # modules whose classes are parts of scikit-learn's fitted estimators
    "sklearn._loss.",
    "sklearn.calibration",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.gaussian_process.",
    "sklearn.metrics._dist_metrics",
    "sklearn.model_selection._split",
    "sklearn.neighbors._",
    "sklearn.neural_network._stochastic_optimizers",
    "sklearn.tree._tree",
)
FACES = ("__main__", "cli", "datasets", "plot", "study")


class Untrusted(ValueError):
    """A file or a model holds types that are not trusted."""


def save(model: Any, file: str | PathLike[str], also: Collection[str] = ()) -> None:
    """Write a fitted model; one that `load` would refuse is not written to the end."""
    try:
        _skops().dump(model, file, compression=ZIP_DEFLATED, compresslevel=6)
    except (AttributeError, TypeError, ValueError, NotImplementedError) as error:  # skops has no error of its own
        raise ValueError(f"skops cannot hold this model: {error}") from error
    if foreign := _foreign(_skops().get_untrusted_types(file=file), also):
        raise Untrusted(f"the model holds types that would not be trusted when it is read: {', '.join(foreign)}")


def load(file: str | PathLike[str], also: Collection[str] = ()) -> Any:
    """Read a fitted model; a file that holds any other type than those trusted, and those in `also`, is refused."""
    types = _skops().get_untrusted_types(file=file)
    if foreign := _foreign(types, also):
        raise Untrusted(
            f"{file} holds types that are not trusted: {', '.join(foreign)}; it was not read. If you made the file "
            "yourself, read it with skops.io.load and its `trusted` argument"
        )
    return _skops().load(file, trusted=types)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError('model files need skops: pip install "fivefold[study]"') from error
    return skops.io


def _foreign(types: Collection[str], also: Collection[str]) -> list[str]:
    return [name for name in types if name not in TRUSTED and name not in also and not _is_known(name)]


def _is_known(name: str) -> bool:
    """Is it a class, ours or a part of scikit-learn's, that only holds what was learned?"""
    module, _, cls = name.rpartition(".")
    package, _, below = module.partition(".")
    ours = package == __name__.partition(".")[0] and below.split(".")[0] not in FACES
    if not ours and not module.startswith(PARTS):
        return False
    try:
        found = getattr(import_module(module), cls, None)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module:
        return False
    return not ours or is_dataclass(found) or issubclass(found, tuple | BaseEstimator)

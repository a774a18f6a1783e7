"""Model files: skops, with our own types trusted and nothing else.

skops has no registry to join: `load` needs the list of trusted types. A type of ours is a dataclass, a
NamedTuple or an estimator defined in the package; every method, model and family is one.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib import import_module
from os import PathLike
from typing import Any

from fivefold.core._sklearn import BaseEstimator

TRUSTED = frozenset(  # data and nothing else
    {
        "numpy.dtype",
        "numpy.random._pickle.__randomstate_ctor",
        "numpy.random.mtrand.RandomState",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
    }
)


def save(model: Any, file: str | PathLike[str]) -> None:
    """Write a fitted model."""
    _skops().dump(model, file)


def load(file: str | PathLike[str]) -> Any:
    """Read a fitted model; a file that holds any other type is refused."""
    types = _skops().get_untrusted_types(file=file)
    foreign = [name for name in types if name not in TRUSTED and not _is_ours(name)]
    if foreign:
        raise ValueError(
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


def _is_ours(name: str) -> bool:
    module, _, cls = name.rpartition(".")
    if module.split(".")[0] != __name__.split(".")[0]:
        return False
    found = getattr(import_module(module), cls, None)
    ours = isinstance(found, type) and found.__module__ == module
    return ours and (is_dataclass(found) or issubclass(found, tuple | BaseEstimator))  # type: ignore[arg-type]

"""What needs Numba itself: imported at the first compiled call, never before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import __version__, njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.registry import cpu_target
from numba.extending import overload

from fivefold.core.compile import cache_folder, stamp


class _Locator(_CacheLocator):
    """Our folder; the name of an entry holds the stamp, so that versions of the package live side by side."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._stamp = stamp(file)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return f"{self._line}-{self._stamp}"

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _Locator:
        return cls(function, file)


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # as Numba declares it


class _Files(IndexDataCacheFile):
    """A file for each set of types and no index, so that processes compiling at the same time cannot mix theirs up."""

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (key, data))

    def load(self, key: Any) -> Any:
        try:
            found, data = self._load_data(self._name(key))
        except OSError:
            return None
        return data if found == key else None

    def _name(self, key: Any) -> str:
        digest = hashlib.sha256(repr((__version__, key)).encode()).hexdigest()[:16]
        return f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"


class _Cache(FunctionCache):
    _impl_class = _Implementation

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())


def compiled(function: FunctionType, options: dict[str, Any]) -> Any:
    """The dispatcher of a loop, with its cache on disk where there is a place for one."""
    options = {**options, "fastmath": set(options["fastmath"])} if "fastmath" in options else options
    dispatcher = njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "_cache") and cache_folder() is not None:
        dispatcher._cache = _Cache(function)
    return dispatcher


def overloaded(chosen: Callable[..., Any], lowered: Callable[..., Any]) -> Callable[..., Any]:
    overload(chosen)(lowered)
    return chosen


cpu_target.target_context.refresh()  # what the first call would do: here no garbage is looked for meanwhile

"""Machine code on disk, by Numba's private cache classes; `_numba.py` does without where they cannot be imported."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import IO, Any
from uuid import uuid4

from numba import __version__
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime.nrt import rtsys

from fivefold.core.compilation import code_cache
from fivefold.core.compilation.jit import source_digest


class _FolderLocator(_CacheLocator):
    """Fivefold's folder; an entry's name holds the digest of the sources, so that versions live side by side."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._digest = source_digest(file)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(code_cache.cache_folders().write)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return f"{self._line}-{self._digest}"

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _FolderLocator:
        return cls(function, file)


class _CacheImplementation(CompileResultCacheImpl):
    _locator_classes = [_FolderLocator]  # noqa: RUF012  # as Numba declares it


class _CacheFiles(IndexDataCacheFile):
    """One file per set of types and no index, so that processes that compile at the same time cannot mix theirs up."""

    # keys and entries are Numba's, which has no types
    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (key, data))

    def load(self, key: Any) -> Any:
        for folder in code_cache.cache_folders().read:
            content = code_cache.read_entry(folder / self._name(key))
            found, data = (None, None) if content is None else pickle.loads(content)
            if found == key:
                return data
        return None

    def _dump(self, entry: Any) -> bytes:
        return code_cache.with_digest(super()._dump(entry))

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[IO[bytes]]:
        """A draft that nobody else can open; it gets its name once it is complete."""
        draft = Path(f"{path}.{uuid4().hex[:16]}.tmp")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | code_cache.NO_FOLLOW, 0o644), "wb") as file:
                yield file
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def _name(self, key: Any) -> str:
        digest = hashlib.sha256(repr((__version__, key)).encode()).hexdigest()[:16]
        return f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"


class LoopCache(FunctionCache):
    """The machine code of one loop, for every set of argument types, on disk."""

    _impl_class = _CacheImplementation

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _CacheFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, types: Any, context: Any) -> Any:  # of Numba, which has no types
        """The code kept for these types; None also where it cannot be read or turned into code again.

        Numba would first load all that it can compile, which takes longer than to import it.
        """
        with suppress(Exception):
            rtsys.initialize(context)  # what counts references, which the code may call
            return self._load_overload(types, context)
        return None

    def save_overload(self, types: Any, data: Any) -> None:
        """Keep what was compiled, if possible: a full disk is no reason not to run it."""
        if code_cache.cache_folders().write is not None:
            with suppress(Exception):
                super().save_overload(types, data)

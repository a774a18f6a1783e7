"""What needs Numba itself: imported at the first compiled call, never before."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import IO, Any
from uuid import uuid4

from numba import __version__, njit
from numba._dynfunc import make_function
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target
from numba.extending import overload

from fivefold.core.compilation import code_cache
from fivefold.core.compilation.jit import garbage_collection_off, source_digest

SUPPORTED = __version__.startswith(
    "0.68."
)  # versions whose insides `_Part` relies on; others compile in Numba's own way
NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # Python cannot call it


class _FolderLocator(_CacheLocator):
    """Our folder; the name of an entry holds the stamp, so that versions of the package live side by side."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._stamp = source_digest(file)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(code_cache.cache_folders().write)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return f"{self._line}-{self._stamp}"

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _FolderLocator:
        return cls(function, file)


class _CacheImplementation(CompileResultCacheImpl):
    _locator_classes = [_FolderLocator]  # noqa: RUF012  # as Numba declares it


class _CacheFiles(IndexDataCacheFile):
    """A file for each set of types and no index, so that processes compiling at the same time cannot mix theirs up."""

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
        """A file for nobody else to change, under its name when it is whole."""
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


class _LoopCache(FunctionCache):
    _impl_class = _CacheImplementation

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _CacheFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, types: Any, context: Any) -> Any:
        """What is kept for these types; whatever cannot be read, or not be made code again, is not there."""
        with suppress(Exception):
            return super().load_overload(types, context)
        return None

    def save_overload(self, types: Any, data: Any) -> None:
        """Keep what was compiled, where that can be done: a full disk is no reason not to run it."""
        if code_cache.cache_folders().write is not None:
            with suppress(Exception):
                super().save_overload(types, data)


class _LoopCompiler(Compiler):
    """The compiler of loops that Python calls: it makes many objects and hardly any garbage, so none is looked for."""

    def _compile_core(self) -> Any:
        with garbage_collection_off():
            result = super()._compile_core()
        for environment in result._find_referenced_environments():  # those of its parts, which nobody else sets
            result.codegen.set_env(environment.env_name, environment)
        return result


class _CalleeCompiler(Compiler):
    """The compiler of loops as others call them: to intermediate code, optimised once with that of the caller.

    Numba would make machine code of each, and optimise what a loop calls, and what that calls, at every level again.
    """

    def _compile_core(self) -> Any:
        self.state.flags.no_compile = True
        self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        result = super()._compile_core()
        result.library.finalize()
        name = result.fndesc.qualname.rsplit(".", 1)[-1]
        entry = make_function(result.fndesc.lookup_module(), name, "", 0, result.environment, (result.library,))
        result.target_context.insert_user_function(entry, result.fndesc, [result.library])
        return result._replace(entry_point=entry)  # no address: Numba asks for a function, and nobody calls it


class _CalleeLibrary(JITCodeLibrary):
    """Intermediate code of a loop and of what it calls."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


def make_dispatcher(function: FunctionType, options: dict[str, Any]) -> Any:
    """The dispatcher of a loop, with its cache on disk where there is a place for one."""
    more: dict[str, Any] = {"pipeline_class": _LoopCompiler, "no_cfunc_wrapper": True} if SUPPORTED else {}
    dispatcher = njit(nogil=True, **{**more, **_numba_options(options)})(function)
    if hasattr(dispatcher, "_cache") and code_cache.cache_folders().read:
        dispatcher._cache = _LoopCache(function)
    return dispatcher


def make_callee(function: FunctionType, options: dict[str, Any]) -> Any:
    """The dispatcher of a loop for other loops to call."""
    return njit(nogil=True, **{**_numba_options(options), **_callee_options()})(function)


def make_overload(chosen: Callable[..., Any], lowered: Callable[..., Any], inline: bool) -> Callable[..., Any]:
    """`chosen`, which loops replace by what `lowered` gives for the types at hand."""
    overload(chosen, jit_options=_callee_options(), inline="always" if inline else "never")(lowered)
    return chosen


def _callee_options() -> Any:
    return {**NO_WRAPPERS, "pipeline_class": _CalleeCompiler} if SUPPORTED else NO_WRAPPERS


def _numba_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options as Numba takes them."""
    return {**options, "fastmath": set(options["fastmath"])} if "fastmath" in options else options


cpu_target.target_context.refresh()  # what the first call would do: here no garbage is looked for meanwhile

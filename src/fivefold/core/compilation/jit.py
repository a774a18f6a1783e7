"""Compiled loops: `jit` for loops, `generic` for functions chosen by the type of an argument.

Numba is imported, and machine code made or read from disk, at the first call: importing a module of
loops costs nothing. What a loop calls becomes part of its code, and is optimised once with it. The code
is kept in a folder of ours (code_cache.py); Numba's settings, and the caches of other libraries, are left as they are.
Numba does not notice an edited callee in another file, so what is kept is keyed by a hash of the file
and of every file of the package it imports.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast, overload

PACKAGE = Path(__file__).resolve().parents[2]
IMPORTS = re.compile(  # of the package; a tenth of the time that a parser takes, and every process reads many files
    rf"^[ \t]*(?:from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)|import ({PACKAGE.name}[\w.]*))", re.MULTILINE
)
FAST = frozenset({"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})
FAST_WITH_NAN = FAST - {"nnan", "ninf"}  # fast arithmetic for numbers that may be NaN or infinite

Loop: TypeAlias = Callable[..., Any]  # a plain function; Numba finds the types of what it takes at the call
L = TypeVar("L", bound=Loop)

COMPILED_LOOPS: list[CompiledLoop] = []  # every compiled loop of the modules imported so far


class CompiledLoop:
    """A loop that is compiled on its first call, without the interpreter lock, and kept on disk."""

    def __init__(self, function: Loop, options: dict[str, object]) -> None:
        self.function, self.options = cast(FunctionType, function), options
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.__wrapped__ = function
        COMPILED_LOOPS.append(self)

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    def for_types_of(self, *args: Any) -> Callable[..., Any]:
        """The form for arguments of these types, which later calls must have: it does not look at types again.

        For short loops called often with records: Numba spends a microsecond on the type of each record.
        """
        from fivefold.core.compilation._numba import form_for_types

        return form_for_types(self.dispatcher, args)

    @cached_property
    def dispatcher(self) -> Any:  # Numba's classes have no types
        """The form that Python calls."""
        with garbage_collection_off():
            from fivefold.core.compilation._numba import make_dispatcher
        return make_dispatcher(_with_compiled_callees(self.function), self.options)

    @cached_property
    def callee(self) -> Any:  # as `dispatcher`
        """The form that other loops call."""
        with garbage_collection_off():
            from fivefold.core.compilation._numba import make_callee
        return make_callee(_with_compiled_callees(self.function), self.options)

    def __reduce__(self) -> str:
        return self.__name__


@overload
def jit(function: Loop, /) -> CompiledLoop: ...


@overload
def jit(**options: object) -> Callable[[Loop], CompiledLoop]: ...


def jit(function: Loop | None = None, /, **options: object) -> CompiledLoop | Callable[[Loop], CompiledLoop]:
    """Compile a loop on its first call: `@jit` or `@jit(fastmath=FAST)`; options are Numba's, and two more.

    `reference_counting=False` is for loops that make no array, also not in what they call: up to twice as fast. What
    loops or tasks of teams call takes it over from them, so one that makes arrays or calls `np.dot` needs True.
    `any_integer=True` is for what loops call with different integers written in the calls: it is compiled once, not for
    each of them. Where Numba's private parts are not known both are ignored.
    """
    if function is None:
        return lambda function: CompiledLoop(function, options)
    return CompiledLoop(function, options)


@overload
def generic(stub: Loop) -> GenericFunction: ...


@overload
def generic(*, inline: bool = False) -> Callable[[Loop], GenericFunction]: ...


def generic(stub: Loop | None = None, *, inline: bool = False) -> GenericFunction | Callable[[Loop], GenericFunction]:
    """Let `stub` pick its rule by the type of its first argument, in Python and in compiled loops.

    Rules are plain functions registered by `stub.rule(Type, ...)`; the types are NamedTuples of numbers
    and arrays. A loop that calls `stub` is compiled once per Type and cached like any other. With `inline` the rule is
    copied into the loop and no argument is passed: for rules that take many arrays and do little work.
    """
    if stub is None:
        return lambda stub: GenericFunction(stub, inline)
    return GenericFunction(stub, inline)


class GenericFunction:
    """A function that picks its rule by the type of its first argument."""

    def __init__(self, stub: Loop, inline: bool) -> None:
        self.stub, self.inline, self.rules = stub, inline, dict[object, FunctionType]()
        self.names = list(signature(stub).parameters)
        self.__name__, self.__doc__ = stub.__name__, stub.__doc__

    def __call__(self, *args: Any) -> Any:
        return self.rules[type(args[0])](*args)

    def rule(self, *kinds: type) -> Callable[[L], L]:
        def register(function: L) -> L:
            if list(signature(function).parameters) != self.names:
                raise TypeError(f"{self.__name__}: a rule takes {', '.join(self.names)}, by these names")
            for kind in kinds:
                self.rules.setdefault(kind, cast(FunctionType, function))
            return function

        return register

    @cached_property
    def callee(self) -> Loop:
        """A Python function that Numba replaces by the rule for the type it meets."""
        with garbage_collection_off():
            from fivefold.core.compilation._numba import make_overload

        def chosen(*args: Any) -> Any:
            return self(*args)

        def lowered(*args: object) -> FunctionType | None:
            rule = self.rules.get(getattr(args[0], "instance_class", None))
            return None if rule is None else _with_compiled_callees(rule)

        bare = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.names])
        for function in list[Any]([chosen, lowered]):
            function.__signature__ = bare
        chosen.__name__ = self.__name__
        return make_overload(chosen, lowered, self.inline)


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """No garbage collection meanwhile: importing Numba makes a million objects that stay; to scan them takes a third of
    the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_compiled_callees(function: FunctionType) -> FunctionType:
    """The function with the compiled form of every loop and generic it names."""
    scope = {**function.__globals__, **{name: thing.callee for name, thing in _callees(function).items()}}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def _callees(function: FunctionType) -> dict[str, CompiledLoop | GenericFunction]:
    """The loops and generics that a function names."""
    scope, names = function.__globals__, function.__code__.co_names
    return {name: scope[name] for name in names if isinstance(scope.get(name), CompiledLoop | GenericFunction)}


def called_loops() -> set[CompiledLoop]:
    """Loops that other loops call, of the modules imported so far; on their own they are compiled only if Python calls
    them.
    """
    found, seen = set[CompiledLoop](), set[FunctionType]()
    ahead = [loop.function for loop in COMPILED_LOOPS]
    while ahead:
        seen.add(function := ahead.pop())
        for thing in _callees(function).values():
            if isinstance(thing, CompiledLoop):
                found.add(thing)
            else:
                ahead += set(thing.rules.values()) - seen
    return found


@cache
def source_digest(file: str) -> str:
    """Digest of a source file and of every file of the package it imports, directly or not.

    A loop that imports `generic` functions may be lowered to any of their rules, so then the modules
    that hold rules of these functions count too: such a module imports them.
    """
    files = _import_closure({Path(file).resolve()})
    if stubs := {path for path in files if re.search(rb"^@generic\b", path.read_bytes(), re.MULTILINE)}:
        files = _import_closure(files | {path for path in _rule_files() if _imports(path) & stubs})
    digest = hashlib.sha256()
    for path in sorted(files):
        name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


@cache
def _rule_files() -> tuple[Path, ...]:
    """Files of the package that hold rules of generic functions."""
    return tuple(path for path in PACKAGE.rglob("*.py") if b".rule(" in path.read_bytes())


def _import_closure(files: set[Path]) -> set[Path]:
    found, ahead = set(files), list(files)
    while ahead:
        for path in _imports(ahead.pop()) - found:
            found.add(path)
            ahead.append(path)
    return found


@cache
def _imports(file: Path) -> set[Path]:
    """Files of the package that a file imports, or seems to: its docstring may show an import too."""
    names: set[str] = set()
    for module, things, package in IMPORTS.findall(re.sub(r"#.*", "", file.read_text(encoding="utf-8"))):
        names |= {module or package, *(f"{module}.{thing}" for thing in re.findall(r"\w+", things))}
    paths = (PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names)
    return {path for path in paths if path.is_file()}

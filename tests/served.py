"""Does a test run what docs/coverage.csv says it shows? Hooks of pytest that watch the tests named there, no others.

A row is served by a dotted name. A function has run when its code was entered; a class when a method of its own or of a
subclass was, constructors included; a module when anything defined in it was; a constant when one of its methods or of
the functions inside it was; a compiled loop when Python called it, or a loop that names it. What C runs unseen (a
ufunc, a warning that is raised) has to be named by the test or by a function of its file that it uses.

Of several names of a row one has to run. Where a row names a test without [...], every case of the test has to run it.
A watch ends when every row of the test has been seen, so it costs little.
"""

import csv
import inspect
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numpy as np
import pytest

from fivefold.core.compilation.jit import COMPILED_LOOPS, CompiledLoop, GenericFunction, _callees

ROOT = Path(__file__).parents[1]
ROWS = list(csv.DictReader((ROOT / "docs" / "coverage.csv").read_text().splitlines()))


@cache
def resolve(dotted):
    """The object of a dotted name, and the class it was found in, if any."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing, owner = import_module(".".join(parts[:cut])), None
        except ImportError:
            continue
        for part in parts[cut:]:
            owner = thing if inspect.isclass(thing) else None
            thing = getattr(thing, part)
        return thing, owner
    raise ImportError(dotted)


@cache
def rows_by_test():
    """The rows of each test: file::name, or file::name[case], to {row: names that serve it}."""
    found = defaultdict(dict)
    for row in ROWS:
        found[row["test"]][row["row"]] = frozenset(row["served_by"].split())
    return found


def rows_of(item):
    """What a test has to show."""
    file = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
    name = getattr(item, "originalname", None) or item.name
    return rows_by_test().get(f"{file}::{name}", {}) | rows_by_test().get(f"{file}::{item.name}", {})


@cache
def codes(dotted):
    """Code objects that show that the thing of this name runs, each with whom it has to belong to, or None."""
    thing, owner = resolve(dotted)
    if isinstance(thing, np.ufunc):
        return {}
    if isinstance(thing, CompiledLoop | GenericFunction):
        rules = thing.rules.values() if isinstance(thing, GenericFunction) else ()
        return {rule.__code__: None for rule in rules} | {type(thing).__call__.__code__: (thing,), **_callers(thing)}
    bare = _bare(thing)
    if isinstance(bare, FunctionType):
        return {bare.__code__: owner}
    if inspect.isclass(thing):
        kinds = [thing, *_below(thing)]
        own = {code: None for kind in kinds for part in vars(kind).values() for code in _codes(part)}
        return own or {code: thing for kind in thing.__mro__ for part in vars(kind).values() for code in _codes(part)}
    if isinstance(thing, ModuleType):
        inside = [part for part in vars(thing).values() if getattr(part, "__module__", "") == thing.__name__]
        return {code: None for part in inside for held in _held(part) for code in _codes(held)}
    found = dict.fromkeys(_codes(thing))
    for one in (thing, *getattr(thing, "__dict__", {}).values()):
        if not type(one).__module__.startswith(("builtins", "numpy")):
            methods = [part for kind in type(one).__mro__ for part in vars(kind).values()]
            found = {code: one for part in methods for code in _codes(part)} | found
    return found


def _callers(thing):
    """Compiled loops that Python calls and that call this one, themselves or through a rule of a generic."""
    known, grown = {thing}, True
    while grown:
        generics = {
            part
            for kernel in COMPILED_LOOPS
            for part in _callees(kernel.function).values()
            if isinstance(part, GenericFunction)
        }
        more = {kernel for kernel in COMPILED_LOOPS if known & set(_callees(kernel.function).values())}
        more |= {g for g in generics if any(known & set(_callees(rule).values()) for rule in g.rules.values())}
        known, grown = known | more, not more <= known
    return {CompiledLoop.__call__.__code__: tuple(part for part in known if isinstance(part, CompiledLoop))}


def _below(kind):
    return [each for sub in type.__subclasses__(kind) for each in (sub, *_below(sub))]


def _held(part):
    return vars(part).values() if inspect.isclass(part) else [part]


def _bare(thing):
    thing = inspect.unwrap(getattr(thing, "fget", None) or getattr(thing, "fn", None) or thing)
    return getattr(thing, "__func__", thing)


def _codes(thing, depth=3):
    """Of a function, or of the functions that a value holds."""
    bare = _bare(thing) if callable(thing) or isinstance(thing, property | staticmethod | classmethod) else thing
    if isinstance(bare, FunctionType):
        return [bare.__code__]
    if inspect.isclass(bare) or isinstance(bare, ModuleType) or not depth:
        return []
    parts = bare.values() if isinstance(bare, Mapping) else bare if isinstance(bare, list | tuple) else None
    if parts is None:
        parts = getattr(bare, "__dict__", {}).values()
    return [code for part in parts for code in _codes(part, depth - 1)]


class Watch:
    """Within it calls are watched until each of the rows has been seen to run; `left` are those that have not."""

    def __init__(self, rows):
        self.left, self.seen = dict(rows), set()
        self.watched = defaultdict(list)
        for name in {name for names in rows.values() for name in names}:
            for code, owner in codes(name).items():
                self.watched[code].append((name, owner))
            getattr(resolve(name)[0], "cache_clear", int)()  # what is kept would not run again

    def __enter__(self):
        if self.left:
            sys.setprofile(self._called)
            threading.setprofile(self._called)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)
        threading.setprofile(None)

    def _called(self, frame, event, arg):
        if event != "call" or frame.f_code not in self.watched:
            return
        for name, owner in self.watched[frame.f_code]:
            if owner is None or _belongs(frame, owner):
                self.seen |= {row for row, names in self.left.items() if name in names}
        for row in self.seen & self.left.keys():
            del self.left[row]
        if not self.left:
            sys.setprofile(None)


def _belongs(frame, owner):
    first = next(iter(frame.f_locals.values()), None)
    if inspect.isclass(owner):
        return isinstance(first, owner) or (inspect.isclass(first) and issubclass(first, owner))
    return any(first is one for one in owner) if isinstance(owner, tuple) else first is owner


def _mentions(function, last):
    """Is the name used by this test, or by what it calls of its own file?"""
    module, done, waiting = vars(sys.modules[function.__module__]), set(), [inspect.unwrap(function)]
    while waiting:
        one = waiting.pop()
        if one in done:
            continue
        done.add(one)
        names = _names(one.__code__)
        if last in names or (last in OPERATORS and OPERATORS[last] in inspect.getsource(one)):
            return True
        waiting += [f for name in names if isinstance(f := inspect.unwrap(module.get(name)), FunctionType)
                    and f.__module__ == function.__module__]  # fmt: skip
    return False


OPERATORS = {"matmul": " @ ", "add": " + "}


def _names(code):
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return {*code.co_names, *code.co_freevars, *(name for part in inner for name in _names(part))}


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """A fixture of a file or of a class is made once, for the first test that asks for it: what it ran is kept."""
    with Watch({} if sys.getprofile() else _of_file(request)) as watch:
        yield
    fixturedef.ran = watch.seen


def _of_file(request):
    if request.scope == "session" or not request.path.is_relative_to(ROOT):
        return {}
    start = f"{request.path.relative_to(ROOT).as_posix()}::"
    return {
        row: names for test, rows in rows_by_test().items() if test.startswith(start) for row, names in rows.items()
    }


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    made = pyfuncitem._fixtureinfo.name2fixturedefs
    ran = {row for name in pyfuncitem.fixturenames for row in getattr(made.get(name, [None])[-1], "ran", ())}
    with Watch({row: names for row, names in rows_of(pyfuncitem).items() if row not in ran}) as watch:
        outcome = yield
    unseen = [row for row, names in watch.left.items() if not any(_is_named(n, pyfuncitem.function) for n in names)]
    if unseen and outcome.excinfo is None:
        told = "; ".join(f"{row}, served by {' '.join(sorted(watch.left[row]))}" for row in unseen)
        outcome.force_exception(AssertionError(f"docs/coverage.csv: this test is to show {told}, but does not run it"))


def _is_named(name, function):
    """Of what has no code that Python enters: is it named?"""
    thing, _ = resolve(name)
    hidden = not codes(name) or (inspect.isclass(thing) and issubclass(thing, BaseException))
    return hidden and _mentions(function, name.rpartition(".")[2])

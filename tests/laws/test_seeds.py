"""Every model, sample and shuffle in tests, benchmarks and examples has a seed: by reading what they say.

`guard.py` fails a test that draws without a seed while it runs; here nothing has to run. A call is resolved through the
imports of its file, so new methods, generators of data and splitters are found, not listed:

| what is called                                  | what it must be given                                            |
|-------------------------------------------------|------------------------------------------------------------------|
| a model with random_state whose fit draws       | random_state                                                     |
| a splitter or a function that takes a seed      | it, unless shuffle is off; our own `rng=None` is a fixed seed    |
| default_rng, RandomState, random.Random         | a seed                                                           |
| a method named rvs                              | random_state or rng                                              |
| np.random.normal, random.random, torch.rand ... | they are never called: they draw from a generator that all share |
"""

import ast
import doctest
import importlib
import inspect
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

import guard
import hypothesis
import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_regressor
from tables import METHODS, table

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))
GENERATORS = ("default_rng", "RandomState", "Random", "SeedSequence", "PCG64", "Philox", "MT19937", "SFC64")
SHARED = ("numpy.random", "random")  # modules whose functions draw from a generator that all share
SEEDS = ("random_state", "rng", "seed")
UNLOADED = ("pyagrum",)  # a rival whose extension ends the process where those of all others are loaded


@cache
def draws(cls, **settings):
    """Does a fit with these settings ask for random numbers? Where they are refused: with the defaults, and what
    cannot be fitted with those may."""
    method = next((method for method in METHODS if method.cls is cls), None)
    try:
        with guard.watched() as places, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cls(**{**(method.card.given if method else {}), **settings})
            if method:
                X, y = table((method, method.card.given))
            else:
                X = np.random.RandomState(0).poisson(2.0, size=(60, 4)).astype(float)
                y = X[:, 0] + X[:, 1] + 0.5 if is_regressor(model) else np.arange(60) % 3
            model.fit(X, y)
            return bool(places)
    except Exception:
        return draws(cls) if settings else True


def imported(tree, names):
    """What the imports of a file, those inside functions too, bind; names that cannot be imported here are left out."""
    names = dict(names)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if alias.name == "torch":  # takes seconds to import, and its name is enough
                names[alias.asname or alias.name] = (ModuleType("torch"), None)
                continue
            if (getattr(node, "module", None) or alias.name).split(".")[0] in UNLOADED:
                continue
            try:
                if isinstance(node, ast.ImportFrom):
                    module = importlib.import_module(node.module)
                    names[alias.asname or alias.name] = (module, alias.name)
                elif alias.asname:
                    names[alias.asname] = (importlib.import_module(alias.name), None)
                else:
                    importlib.import_module(alias.name)
                    root = alias.name.split(".")[0]
                    names[root] = (sys.modules[root], None)
            except ImportError:
                continue
    return names


def resolved(function, names):
    """The module or object that holds what is called, its name there, and the thing itself."""
    if isinstance(function, ast.Name):
        owner, name = names.get(function.id, (None, None))
        return owner, name or function.id, owner if name is None else getattr(owner, name, None)
    if isinstance(function, ast.Attribute):
        *_, owner = resolved(function.value, names)
        return owner, function.attr, getattr(owner, function.attr, None) if owner is not None else None
    return None, "", None


def given(call, parameter, parameters):
    """Is this argument passed? What comes out of ** or * may hold it."""
    named = {keyword.arg for keyword in call.keywords}
    starred = None in named or any(isinstance(argument, ast.Starred) for argument in call.args)
    place = list(parameters).index(parameter) if parameter in parameters else 99
    return starred or parameter in named or len(call.args) > place


def is_off(call, parameter, parameters):
    """Is this argument False, or left to a default that is?"""
    passed = [keyword.value for keyword in call.keywords if keyword.arg == parameter]
    if passed:
        return isinstance(passed[0], ast.Constant) and not passed[0].value
    return parameter in parameters and parameters[parameter].default is False


def makes_no_seed(call, owner, name):
    """Is it a draw from a generator that all share, or a generator without a seed?"""
    if not isinstance(owner, ModuleType):
        return False
    if owner.__name__ == "torch" and name.startswith("rand"):
        return not given(call, "generator", ())
    if owner.__name__ not in SHARED:
        return False
    if name not in GENERATORS:
        return name[:1].islower()
    first = next(iter([*call.args, *(keyword.value for keyword in call.keywords)]), ast.Constant(None))
    return isinstance(first, ast.Constant) and first.value is None


def lacks_seed(call, names):
    """Does this call draw, or make something that will, without a seed?"""
    owner, name, thing = resolved(call.func, names)
    if name == "rvs":
        return not (given(call, "random_state", ()) or given(call, "rng", ()))
    if makes_no_seed(call, owner, name):
        return True
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return False
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):  # compiled
        return False
    if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
        if "random_state" not in parameters or given(call, "random_state", parameters):
            return False
        constants = [keyword for keyword in call.keywords if isinstance(keyword.value, ast.Constant)]
        chosen = {k.arg: k.value.value for k in constants if isinstance(k.value.value, str | bool)}  # solver, shuffle
        return draws(thing, **chosen)
    ours = thing.__module__.startswith("fivefold")
    wanted = [seed for seed in SEEDS[: 1 if ours else 3] if seed in parameters and parameters[seed].default is None]
    if not wanted or any(given(call, seed, parameters) for seed in (wanted if ours else SEEDS)):  # rng has two names
        return False
    cyclic = "selection" in parameters and not given(call, "selection", parameters)  # coordinates in their order
    exact = "permutations" in parameters and not given(call, "permutations", parameters)  # SciPy 1.15: none are drawn
    return not cyclic and not exact and not is_off(call, "shuffle", parameters)


def calls_of(source, names=()):
    """Every call in a piece of code, with what the imports bind."""
    tree = ast.parse(source)
    names = imported(tree, names)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)], names


def without_seed(source, names=()):
    """The calls in a piece of code that lack a seed."""
    calls, names = calls_of(source, names)
    return [call for call in calls if lacks_seed(call, names)]


def said(path, call, line=0):
    return f"{path.relative_to(ROOT)}:{line + call.lineno}: {ast.unparse(call)}"


def test_every_call_in_tests_benchmarks_and_examples_that_draws_is_given_a_seed():
    wrong = [said(path, call) for path in FILES for call in without_seed(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_every_call_in_docstrings_that_draws_is_given_a_seed():
    wrong = []
    for path in SOURCES:
        if ">>> " not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            names = {key: (module, key) for key in vars(module)}
            for example in test.examples:
                names = imported(ast.parse(example.source), names)
                place = (test.lineno or 0) + example.lineno
                wrong += [said(path, call, place) for call in without_seed(example.source, names)]
    assert not wrong, "\n".join(wrong)


def test_the_sources_draw_from_no_generator_that_all_share_and_make_none_without_a_seed():
    """Members that a method makes for itself get their seeds from its own."""
    wrong = []
    for path in SOURCES:
        calls, names = calls_of(path.read_text(encoding="utf-8"))
        wrong += [said(path, call) for call in calls if makes_no_seed(call, *resolved(call.func, names)[:2])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        ("from sklearn.cluster import KMeans as Rival\nRival(3)", True),
        ("from sklearn.cluster import KMeans as Rival\nRival(3, random_state=0)", False),
        ("import fivefold.tree as ours\nours.ExtraTreeClassifier()", True),
        ("from fivefold.linear_model import Ridge\nRidge()", False),
        ("import numpy as np\nnp.random.default_rng()", True),
        ("import numpy as np\nnp.random.default_rng(None)", True),
        ("import numpy as np\nnp.random.default_rng(0).normal()", False),
        ("import numpy as np\nnp.random.seed(0)", True),
        ("from numpy.random import normal\nnormal()", True),
        ("import random\nrandom.shuffle([])", True),
        ("import random\nrandom.Random(1).shuffle([])", False),
        ("from sklearn import datasets\ndatasets.make_blobs()", True),
        ("from sklearn.model_selection import KFold\nKFold(3)", False),
        ("from sklearn.model_selection import KFold\nKFold(3, shuffle=True)", True),
        ("from sklearn.model_selection import train_test_split\ntrain_test_split([1, 2])", True),
        ("from sklearn.model_selection import train_test_split\ntrain_test_split([1, 2], shuffle=False)", False),
        ("from sklearn.utils import shuffle\nshuffle([1, 2])", True),
        ("from scipy import stats\nstats.norm.rvs(size=3)", True),
        ("from scipy import stats\nstats.bootstrap(([1, 2],), sum)", True),
    ],
)
def test_the_reader_finds_what_lacks_a_seed(source, lacking):
    assert bool(without_seed(source)) == lacking


GUARDED = """
import numpy as np, pytest
from sklearn.utils import check_random_state
def test_a_model_draws(): check_random_state(None).normal()
def test_a_generator_is_made(): np.random.default_rng()
def test_what_is_swallowed_counts():
    try: check_random_state(None).randint(3); raise ValueError
    except Exception: pass
def test_nothing_is_drawn(): check_random_state(None)
def test_seeds_are_fine(): check_random_state(0).normal()
def test_skipped(): pytest.skip("no time")
@pytest.mark.may_skip("needs another machine")
def test_justified(): pytest.skip("no such machine")
"""


def test_the_guard_fails_a_draw_without_a_seed_and_a_skip_without_a_reason(tmp_path):
    (tmp_path / "test_guarded.py").write_text(GUARDED)
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_package')\n")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "guard",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
    ]
    path = os.pathsep.join([str(ROOT / "tests"), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "FIVEFOLD_STRICT_SEEDS": "1"}
    environment.pop("CI", None)  # pytest then repeats in its summary what it said above
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "4 failed, 2 passed, 1 skipped" in done.stdout and "1 error" in done.stdout, done.stdout
    assert done.stdout.count("What is skipped guards nothing") == 2 and "no_such_package" in done.stdout


def test_generated_examples_are_the_same_in_every_run():
    profile = hypothesis.settings()
    assert profile.derandomize and profile.deadline is None and profile.database is None


CLOCKS = ("perf_counter", "process_time", "thread_time", "perf_counter_ns", "monotonic_ns", "time_ns")


def test_no_test_measures_seconds():
    """A machine may be busy: tests count work and wait for events; `monotonic` only bounds how long is waited."""
    wrong = []
    for path in (ROOT / "tests").rglob("*.py"):
        calls, names = calls_of(path.read_text(encoding="utf-8"))
        wrong += [said(path, call) for call in calls if resolved(call.func, names)[1] in CLOCKS]
    assert not wrong, "\n".join(wrong)

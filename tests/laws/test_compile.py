"""Compiled loops: lazy, kept on disk, never stale."""

import os
import subprocess
import sys

import pytest

from fivefold.core.compilation import jit as floor

LOOPS = """
from typing import NamedTuple
import numpy as np
from fivefold.core.compilation.jit import generic, jit
from callee import twice

class Square(NamedTuple):
    scale: float

@generic
def shape(kind, z):
    "A function chosen by the type of its first argument."

@shape.rule(Square)
def _(kind, z):
    return kind.scale * z * z

@jit
def total(kind, x):
    s = 0.0
    for i in range(len(x)):
        s += shape(kind, twice(x[i]))
    return s
"""
CALLEE = """
from fivefold.core.compilation.jit import jit

@jit
def twice(z):
    return {factor} * z
"""
RUN = """
import sys
import numpy as np
from loops import Square, total
assert "numba" not in sys.modules
print(total(Square(3.0), np.arange(4.0)))
stats = getattr(total.dispatcher, "stats", None)
print(sum(stats.cache_hits.values()) if stats else 0, sum(stats.cache_misses.values()) if stats else 0)
"""
NUMBAS_OWN_WAY = """
from fivefold.core.compilation import _numba
_numba._pipeline = None
assert _numba.compilation_mode().pipeline == "numba"
"""
WITHOUT_PRIVATE_PARTS = """
import sys
for name in ("numba.core.codegen", "numba.core.caching"):
    __import__(name)
    module = sys.modules[name]
    for private in ("JITCodeLibrary", "IndexDataCacheFile"):
        if hasattr(module, private):
            delattr(module, private)
from fivefold.core.compilation._numba import compilation_mode
mode = compilation_mode()
assert mode.pipeline == "numba" and "JITCodeLibrary" in mode.why_not_fivefold, mode
assert "IndexDataCacheFile" in mode.why_no_cache, mode
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS)
    (tmp_path / "callee.py").write_text(CALLEE.format(factor="2.0"))

    def run(code=RUN, **environment):
        env = {
            **os.environ,
            "FIVEFOLD_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            **environment,
        }
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        value, counts = done.stdout.split("\n")[:2]
        return float(value), tuple(map(int, counts.split()))

    return run


def test_a_second_process_reads_what_the_first_compiled(run):
    assert run() == (168.0, (0, 1))
    assert run() == (168.0, (1, 0))


def test_loops_run_as_plain_python_when_compilation_is_off(run):
    assert run(NUMBA_DISABLE_JIT="1")[0] == 168.0


@pytest.mark.parametrize("off", ["0", "1"])
def test_the_form_for_types_that_are_known_gives_what_the_loop_gives(run, off):
    code = RUN.replace("total(Square(3.0), ", "total.for_types_of(Square(2.0), np.ones(2))(Square(3.0), ")
    assert run(code, NUMBA_DISABLE_JIT=off)[0] == 168.0


def test_versions_of_numba_that_are_not_known_compile_in_its_own_way(run):
    code = RUN.replace("print(total", NUMBAS_OWN_WAY + "print(total")
    assert run(code) == (168.0, (0, 1))
    assert run(code) == (168.0, (1, 0))


def test_a_numba_without_the_private_parts_still_compiles(run, tmp_path):
    code = RUN.replace("print(total", WITHOUT_PRIVATE_PARTS + "print(total")
    assert run(code) == (168.0, (0, 1))
    assert run(code) == (168.0, (0, 1))
    assert not list((tmp_path / "cache").rglob("*.nbc"))


def test_the_installed_numba_is_known():
    """A canary: with a new Numba this fails, and not what users call."""
    from fivefold.core.compilation._numba import compilation_mode

    mode = compilation_mode()
    assert (mode.pipeline, mode.why_not_fivefold, mode.why_no_cache) == ("fivefold", "", "")


CANARY = """
import numpy as np
from loops import Square
from canary import total, unrolled
{way}
x = np.arange(4.0)
print(total(Square(3.0), x) + unrolled(Square(3.0), x))
print(len(total.dispatcher.signatures), len(unrolled.dispatcher.signatures))
"""
CANARY_LOOPS = (
    LOOPS.replace("@generic\n", "@generic(inline=True)\n")
    .replace("class Square(NamedTuple):\n    scale: float", ("from loops import Square, total"))
    .replace("@jit\ndef total", "@jit(reference_counting=False, fastmath=FAST)\ndef unrolled")
    .replace("generic, jit", "FAST, generic, jit")
)


@pytest.mark.parametrize("way", ["", NUMBAS_OWN_WAY, WITHOUT_PRIVATE_PARTS], ids=["fivefold", "numba", "no-parts"])
def test_loops_callees_and_generics_compile_each_way(run, tmp_path, way):
    """Inlined rules and loops without reference counting too."""
    (tmp_path / "canary.py").write_text(CANARY_LOOPS)
    assert run(CANARY.format(way=way)) == (336.0, (1, 1))


PARTS = """
import sys
import numpy as np
from fivefold.core.compilation.jit import jit

@jit
def place(x, i, z):
    x[i] = z

@jit(any_integer=True)
def place_anywhere(x, i, z):
    x[i] = z

@jit
def fill(x, y, z):
    x[:] = y
    {place}(x, 0, z)
    {place}(x, 1, z)
    {place}(x, len(x) - 1, z)
    return x[0] + x[1] + x[2] + x[3]
"""
RUN_PARTS = """
import sys
import numpy as np
import parts
print(parts.fill(np.zeros(4), np.ones(4), 2.0))
loads, forms = "numba.np.linalg" in sys.modules, 0
if getattr(parts.fill.dispatcher, "overloads", None):
    forms = len(parts.{place}.callee.overloads)
print(int(loads), forms)
try:
    parts.fill(np.zeros(4), np.ones(3), 2.0)
except ValueError:
    pass
else:
    raise AssertionError("arrays of other sizes are not refused")
if loads:
    assert not [text for text in parts.fill.dispatcher.inspect_llvm().values() if "unicode" in text]
"""


@pytest.mark.parametrize(("place", "forms"), [("place", 3), ("place_anywhere", 1)])
def test_integers_written_in_calls_need_no_code_of_their_own(run, tmp_path, place, forms):
    """Arrays of another size are refused, without the many functions that Numba needs to write sizes into a message."""
    (tmp_path / "parts.py").write_text(PARTS.format(place=place))
    assert run(RUN_PARTS.format(place=place)) == (7.0, (1, forms))


def test_kept_code_runs_without_all_that_numba_loads_to_compile(run, tmp_path):
    (tmp_path / "parts.py").write_text(PARTS.format(place="place"))
    assert run(RUN_PARTS.format(place="place")) == (7.0, (1, 3))
    assert run(RUN_PARTS.format(place="place")) == (7.0, (0, 0))


CALLERS = """
from fivefold.core.compilation.jit import FAST, jit

@jit
def add(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s

@jit
def between(x):
    return add(x)

@jit(fastmath=FAST)
def fast(x):
    return between(x)

@jit
def exact(x):
    return between(x)
"""
RUN_CALLERS = """
import numpy as np
from callers import exact, fast
x = np.random.default_rng(0).random(10_007)
for first in ({first},):
    first(x)
print(np.cumsum(x)[-1] - exact(x))
print(int(fast(x) != exact(x)), 0)
"""


@pytest.mark.parametrize("first", ["fast", "exact"])
def test_the_caller_that_is_compiled_first_does_not_decide_how_others_round(run, tmp_path, first):
    """A callee takes over the options of each of its callers, at any depth of calls."""
    (tmp_path / "callers.py").write_text(CALLERS)
    assert run(RUN_CALLERS.format(first=first)) == (0.0, (1, 0))


def test_without_a_place_to_write_loops_are_compiled_in_memory(run, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert run(FIVEFOLD_CACHE_DIR=str(tmp_path / "file"))[0] == 168.0
    assert not (tmp_path / "cache").exists()


def test_the_stamp_of_a_file_changes_with_the_files_it_imports(tmp_path, monkeypatch):
    package = tmp_path / "fivefold"
    (package / "core").mkdir(parents=True)
    (package / "core" / "a.py").write_text("from fivefold.core.b import f\n")
    (package / "core" / "b.py").write_text("from fivefold.core import c\n")
    (package / "core" / "c.py").write_text("x = 1\n")
    (package / "core" / "other.py").write_text("y = 1\n")
    monkeypatch.setattr(floor, "PACKAGE", package)

    def stamps():
        floor.source_digest.cache_clear()
        floor._imports.cache_clear()
        floor._rule_files.cache_clear()
        return floor.source_digest(str(package / "core" / "a.py"))

    before = stamps()
    (package / "core" / "other.py").write_text("y = 2\n")
    assert stamps() == before
    (package / "core" / "c.py").write_text("x = 2\n")
    assert stamps() != before
    floor.source_digest.cache_clear()
    floor._imports.cache_clear()
    floor._rule_files.cache_clear()


@pytest.mark.parametrize("decorator", ["@generic", "@generic(inline=True)"])
def test_the_stamp_counts_the_rules_of_the_generics_a_file_uses_and_no_others(tmp_path, monkeypatch, decorator):
    package = tmp_path / "fivefold"
    package.mkdir()
    (package / "plain.py").write_text("x = 1\n")
    stubs = f"from fivefold.core.compilation.jit import generic\n{decorator}\ndef f(kind): ...\n"
    (package / "stubs.py").write_text(stubs)
    (package / "rules.py").write_text("from fivefold.stubs import f\n@f.rule(int)\ndef g(kind): return 1\n")
    (package / "apart.py").write_text("from fivefold.others import h\n@h.rule(int)\ndef g(kind): return 1\n")
    monkeypatch.setattr(floor, "PACKAGE", package)

    def stamps():
        floor.source_digest.cache_clear()
        floor._imports.cache_clear()
        floor._rule_files.cache_clear()
        return [floor.source_digest(str(package / name)) for name in ("plain.py", "stubs.py")]

    before = stamps()
    with (package / "apart.py").open("a") as file:
        file.write("# edited\n")
    assert stamps() == before
    with (package / "rules.py").open("a") as file:
        file.write("# edited\n")
    after = stamps()
    assert after[0] == before[0] and after[1] != before[1]
    floor.source_digest.cache_clear()
    floor._imports.cache_clear()
    floor._rule_files.cache_clear()


def test_a_rule_with_other_argument_names_is_refused():
    @floor.generic
    def stub(kind, z):
        """Chosen by kind."""

    with pytest.raises(TypeError, match="a rule takes kind, z, by these names"):
        stub.rule(tuple)(lambda penalty, z: z)


MAXIMUM = """
import numpy as np
from fivefold.core.compilation.jit import FAST, FAST_WITH_NAN, jit

{decorator}
def largest(x):
    found = x[0]
    for i in range(len(x)):
        found = x[i] if x[i] > found else found
    return found
"""
COUNT_MAXIMA = """
import platform
import numpy as np
from maximum import largest
assert largest(np.arange(100.0)) == 99.0
code = " ".join(largest.dispatcher.inspect_asm().values())
whole = {"x86_64": "maxpd", "AMD64": "maxpd"}.get(platform.machine(), "fmaxnm.*2d")
import re
print(len(re.findall(whole, code)))
print("0 0")
"""


def test_a_maximum_over_a_row_is_vectorised_where_nothing_is_nan(run, tmp_path):
    (tmp_path / "maximum.py").write_text(MAXIMUM.format(decorator="@jit(fastmath=FAST)"))
    assert run(COUNT_MAXIMA)[0] > 0
    (tmp_path / "maximum.py").write_text(MAXIMUM.format(decorator="@jit(fastmath=FAST_WITH_NAN)"))
    assert run(COUNT_MAXIMA)[0] == 0

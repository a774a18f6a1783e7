"""`fivefold doctor`, `methods`, `warm`, and what the command costs to start."""

import json
import os
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from resource import RUSAGE_CHILDREN, getrusage
from types import ModuleType, SimpleNamespace

import pytest
from typer.testing import CliRunner

from fivefold.cli import loop_cache
from fivefold.cli.app import app
from fivefold.cli.commands import doctor
from fivefold.core.compilation import code_cache
from fivefold.core.registry import methods

HEAVY = ("numba", "sklearn", "matplotlib", "scipy", "numpy", "polars", "torch")


def python(*arguments, **environment):
    """A fresh process."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=600
    )


def run(*arguments, width=80):
    """A command in this process."""
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width)})


def imported(shown):
    """The modules that a process started with `-X importtime` said it imported."""
    return {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines() if line.startswith("import time:")}


def test_importing_the_package_is_quick_and_brings_nothing_heavy():
    """What takes time is what is imported: a few modules, none of them heavy."""
    bare, whole = (imported(python("-X", "importtime", "-c", code)) for code in ("pass", "import fivefold"))
    assert "fivefold" in whole and not whole & set(HEAVY)
    assert len(whole - bare) < 100


def test_help_is_quick_and_names_the_commands():
    shown = python("-X", "importtime", "-m", "fivefold", "--help")
    assert shown.returncode == 0
    assert all(command in shown.stdout for command in ("study", "methods", "doctor", "warm"))
    assert "typer" in imported(shown) and not imported(shown) & set(HEAVY)
    assert len(imported(shown)) < 700


@pytest.mark.parametrize("command", ["study", "fit", "predict", "evaluate"])
def test_help_names_the_limit_on_what_is_unpacked(command):
    assert "FIVEFOLD_MAX_UNPACKED" in run(command, "--help", width=300).stdout


def test_doctor_of_this_machine_finds_all_well():
    shown = python("-m", "fivefold", "doctor")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    for word in ("numpy", "numba", "extra study", "threads", "device", "cache", "loops compiled"):
        assert word in shown.stdout
    assert shown.stdout.strip().splitlines()[-1].startswith("All well")


def test_doctor_gives_json_and_sees_an_empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "cache_folders", lambda: code_cache.CacheFolders((tmp_path,), tmp_path, ()))
    found = json.loads(run("doctor", "--json").stdout)
    assert found["healthy"] is True
    assert found["cache"]["files"] == 0
    assert found["cache"]["absent"] == found["cache"]["kernels"] != []


def test_doctor_says_when_compiled_code_has_nowhere_to_go(monkeypatch):
    monkeypatch.setattr(code_cache, "cache_folders", lambda: code_cache.CacheFolders((), None, ()))
    shown = run("doctor")
    assert shown.exit_code == 0
    assert "set FIVEFOLD_CACHE_DIR" in shown.stdout


def test_doctor_names_a_module_that_does_not_import(monkeypatch):
    monkeypatch.setattr(loop_cache, "import_all_modules", lambda: {"fivefold.cluster": "ImportError: torn"})
    shown = run("doctor")
    assert shown.exit_code == 1
    assert "fivefold.cluster: ImportError: torn" in shown.stdout and "Not well" in shown.stdout


@pytest.mark.parametrize(
    ("cuda", "count", "said"),
    [("12.4", 1, "cuda:0 H200, 139 GiB"), ("12.4", 0, "no such device is found"), (None, 0, "built without CUDA")],
)
def test_doctor_says_which_device_there_is_or_why_there_is_none(monkeypatch, cuda, count, said):
    torch = ModuleType("torch")
    torch.__spec__ = ModuleSpec("torch", None)
    torch.__version__, torch.version = "2.9", SimpleNamespace(cuda=cuda)
    torch.cuda = SimpleNamespace(
        is_available=lambda: count > 0,
        device_count=lambda: count,
        get_device_properties=lambda i: SimpleNamespace(name="H200", total_memory=139 * 2**30),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert said in doctor.find_devices()[0]


def test_doctor_says_how_to_install_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "torch is not installed" in doctor.find_devices()[0]


WITHOUT = """
import sys
sys.modules.update(typer=None, rich=None)
sys.argv = ["fivefold", {!r}]
from fivefold.cli import main
main()
"""


def test_without_the_extra_a_command_says_how_to_install_it():
    shown = python("-c", WITHOUT.format("study"))
    assert shown.returncode == 2
    assert shown.stderr.strip() == 'fivefold: typer, rich not installed; run: pip install "fivefold[study]"'


def test_without_the_extra_doctor_still_works():
    shown = python("-c", WITHOUT.format("doctor"))
    assert shown.returncode == 0, shown.stderr
    assert "All well" in shown.stdout


@pytest.mark.parametrize("width", [80, 120])
def test_methods_lists_every_method_under_its_chapter(width):
    shown = run("methods", width=width)
    assert shown.exit_code == 0
    for method in methods():
        assert method.name in shown.stdout and f"fivefold.{method.chapter}" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= width


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_method_prints_its_whole_card(method):
    """A-03."""
    shown = run("methods", method.name.lower())
    assert shown.exit_code == 0
    for title in ("Formula", "Discussion", "Algorithm", "Parameters", "Takes and gives", "Literature"):
        assert f"\n{title}\n" in shown.stdout
    assert f"from fivefold.{method.chapter} import {method.name}" in shown.stdout
    assert all(parameter.name in shown.stdout for parameter in method.parameters)


def test_a_card_in_json_has_every_part():
    card = json.loads(run("methods", "KMeans", "--json").stdout)
    assert card["import"] == "from fivefold.cluster import KMeans"
    assert {"name": "n_clusters", "default": 8}.items() <= card["parameters"][0].items()
    assert all(card[part] for part in ("summary", "applications", "formula", "use", "steps", "abilities", "source"))
    assert len(json.loads(run("methods", "--json").stdout)) == len(methods())


def test_an_unknown_method_is_answered_with_near_names():
    shown = run("methods", "KMean")
    assert shown.exit_code == 2
    assert "no method is called 'KMean'; did you mean KMeans" in shown.stderr


def test_version_is_printed():
    import fivefold

    assert run("--version").stdout.strip() == f"fivefold {fivefold.__version__}"


WARM_ONE = """
from fivefold.cli import loop_cache
from fivefold.cli.commands.warm import warm_method
loop_cache.import_all_modules()
first, second = warm_method("GaussianNB", True), warm_method("GaussianNB", True)
state = loop_cache.read_cache_state()
print(first.compiled > 0, second.compiled, first.failures, len(state.absent) < len(state.kernels))
"""


def test_warming_a_method_compiles_its_loops_once_and_leaves_them_on_disk(tmp_path):
    shown = python("-c", WARM_ONE, FIVEFOLD_CACHE_DIR=str(tmp_path))
    assert shown.stdout.split() == ["True", "0", "()", "True"], shown.stderr
    again = python("-c", WARM_ONE, FIVEFOLD_CACHE_DIR=str(tmp_path))
    assert again.stdout.split()[0] == "False"  # found on disk


def test_pruning_removes_only_what_is_old_and_of_another_version(tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "cache_folders", lambda: code_cache.CacheFolders((tmp_path,), tmp_path, ()))
    loop_cache.import_all_modules()
    old, current = (
        time.time() - 31 * loop_cache.SECONDS_PER_DAY,
        f"{loop_cache.entry_name(loop_cache.COMPILED_LOOPS[0])}.py311.1.nbc",
    )
    for name, used in (("a.f-1-0123.py311.1.nbc", old), ("b.f-1-0123.py311.1.nbc", time.time()), (current, old)):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (used, used))
    assert loop_cache.prune_cache() == 1
    assert {path.name for path in tmp_path.iterdir()} == {"b.f-1-0123.py311.1.nbc", current}


@pytest.mark.slow
def test_warming_everything_leaves_hardly_a_loop_to_compile_and_takes_under_a_minute_on_two_cores(tmp_path):
    before = getrusage(RUSAGE_CHILDREN)
    shown = python("-m", "fivefold", "warm", "--json", FIVEFOLD_CACHE_DIR=str(tmp_path))
    after = getrusage(RUSAGE_CHILDREN)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    found = json.loads(shown.stdout)
    assert len(found["absent"]) <= 0.05 * found["loops"]  # a loop for a rare repair may wait for its first use
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 2 * 60  # seconds of the processor

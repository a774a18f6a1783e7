"""The cache of compiled loops: damage is a miss, a full disk no failure, and nobody else's code is read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fivefold.cli import loop_cache
from fivefold.cli.commands import doctor
from fivefold.core.compilation import code_cache
from fivefold.core.compilation._numba import compilation_mode

WAYS = ("empty", "cut", "garbage", "flipped", "sound")
LOOPS = "from fivefold.core.compilation.jit import jit\n" + "".join(
    f"@jit\ndef {way}(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i]\n    return s\n" for way in WAYS
)
RUN = """
import json
import numpy as np
import loops
names = {names!r}
values = {{name: getattr(loops, name)(np.arange(4.0)) for name in names}}
hits = {{name: sum(getattr(loops, name).dispatcher.stats.cache_hits.values()) for name in names}}
print(json.dumps([values, hits]))
"""
READ_ONLY = """
import tempfile
def refused(*args, **options):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = refused
"""
FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"  # writing fails beyond 100 bytes


@pytest.fixture
def run(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS)

    def run(before="", names=WAYS):
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "FIVEFOLD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
        code = before + RUN.format(names=names)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        values, hits = json.loads(done.stdout)
        assert set(values.values()) == {6.0}
        return {name for name, count in hits.items() if count}

    return run


def files(tmp_path):
    return {path.name.split(".")[1].split("-")[0]: path for path in (tmp_path / "cache").rglob("*.nbc")}


def test_damaged_files_are_compiled_again_and_replaced(run, tmp_path):
    """An empty or cut file broke every later fit for good."""
    assert run() == set()
    kept = files(tmp_path)
    content = {way: path.read_bytes() for way, path in kept.items()}
    kept["empty"].write_bytes(b"")
    kept["cut"].write_bytes(content["cut"][:-100])
    kept["garbage"].write_bytes(bytes(range(256)) * 20)
    flipped = bytearray(content["flipped"])
    flipped[len(flipped) // 2] ^= 1
    kept["flipped"].write_bytes(flipped)
    assert run() == {"sound"}
    assert run() == set(WAYS)


def test_a_read_only_cache_that_is_filled_is_used(run, tmp_path):
    run(names=("sound",))
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path).values()}
    assert run(READ_ONLY, ("sound", "cut")) == {"sound"}
    assert {path: path.stat().st_mtime_ns for path in files(tmp_path).values()} == before


def test_a_full_disk_is_no_reason_not_to_run(run, tmp_path):
    assert run(FULL, ("sound",)) == set()
    assert files(tmp_path) == {}
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]  # no draft is left behind


def test_folders_are_made_for_this_user_alone(run, tmp_path):
    run(names=("sound",))
    for folder in (tmp_path / "cache", *(path for path in (tmp_path / "cache").iterdir() if path.is_dir())):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_read_and_doctor_says_so(tmp_path, monkeypatch):
    folder = tmp_path / "cache" / f"py{sys.version_info[0]}{sys.version_info[1]}"
    folder.mkdir(parents=True)
    monkeypatch.setenv("FIVEFOLD_CACHE_DIR", str(tmp_path / "cache"))
    for open_folder in (folder, folder.parent):
        open_folder.chmod(0o777)
        found = code_cache.cache_folders.__wrapped__()
        assert found.read == () and found.write is None
        assert f"others may write to {open_folder} (mode 0777)" in found.refused[0]
        open_folder.chmod(0o700)
    folder.chmod(0o1777)  # nobody can replace a file there, and anybody add one
    monkeypatch.setattr(code_cache, "cache_folders", code_cache.cache_folders.__wrapped__)
    state = loop_cache.read_cache_state()
    assert state.folder is None and "mode 1777" in state.refused[0]
    mode = compilation_mode()
    findings = doctor.Findings({}, {}, {"fivefold": 1, "blas": ""}, (), compiler=mode, cache=state, broken={})
    assert "All well" not in doctor.verdict(findings)
    assert f"others may write to {folder}" in " ".join(doctor.findings_text(findings).split())
    folder.chmod(0o755)
    assert code_cache.cache_folders().write == folder


def test_a_folder_of_another_user_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "_trusted_owners", lambda: {os.stat("/").st_uid + 70_000})
    assert "belongs to another user" in code_cache.why_unsafe(tmp_path)


def test_links_are_followed_with_the_same_care(tmp_path):
    target, open_to_all = tmp_path / "target", tmp_path / "open"
    target.mkdir(0o700)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "inner").mkdir(0o700)
    link = tmp_path / "link"
    link.symlink_to(target)
    assert code_cache.why_unsafe(link) == ""
    (open_to_all / "link").symlink_to(target)  # anybody may point it elsewhere
    assert str(open_to_all) in code_cache.why_unsafe(open_to_all / "link")
    link.unlink()
    link.symlink_to(Path("open") / "inner")
    assert str(open_to_all) in code_cache.why_unsafe(link)
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match="circle"):
        code_cache.why_unsafe(circle)


def test_a_file_that_is_a_link_is_not_read(tmp_path):
    (tmp_path / "file").write_bytes(code_cache.with_digest(b"code"))
    assert code_cache.read_entry(tmp_path / "file") == b"code"
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert code_cache.read_entry(tmp_path / "link") is None


def test_doctor_counts_damaged_files(tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache, "cache_folders", lambda: code_cache.CacheFolders((tmp_path,), tmp_path, ()))
    loop_cache.import_all_modules()
    (tmp_path / f"{loop_cache.entry_name(loop_cache.COMPILED_LOOPS[0])}.py311.1.nbc").write_bytes(b"")
    state = loop_cache.read_cache_state()
    assert len(state.damaged) == 1 and len(state.absent) == len(state.kernels)
    mode = compilation_mode()
    findings = doctor.Findings({}, {}, {"fivefold": 1, "blas": ""}, (), compiler=mode, cache=state, broken={})
    assert "1 files of compiled code are damaged" in doctor.verdict(findings)

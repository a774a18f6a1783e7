"""scikit-learn's own tests with fivefold's classes in the place of its own, judged by docs/drop_in.md.

    python -m benchmarks.drop_in                     every chapter that both libraries have
    python -m benchmarks.drop_in svm linear_model    some of them
    python -m benchmarks.drop_in --read FOLDER       judge junit files that an earlier run left

The test files come from the scikit-learn that is installed. In a copy every name that fivefold has in the same chapter
is imported from fivefold. A wrong type of error or a missing warning is a failure; the words of a message are not
compared. Every failure has to be named in docs/drop_in.md, with its reason; tests of private parts are counted apart.
The exit code is 1 where a failure has no entry or fewer than 97 % of the other tests pass.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import sklearn

import fivefold

PAGE = Path(__file__).parents[1] / "docs" / "drop_in.md"
HOME = Path(sklearn.__file__).parent
SHARE = 0.97
PARTS = ("gaussian_process.kernels",)  # modules of a chapter that scripts import from
PLUGIN = """
import pytest
raises, warns = pytest.raises, pytest.warns
pytest.raises = lambda kind, *args, match=None, **options: raises(kind, *args, **options)
pytest.warns = lambda kind=Warning, *args, match=None, **options: warns(kind, *args, **options)
"""
CHAPTER = '''
from importlib import import_module
class Chapter:
    """A chapter of scikit-learn with our names first."""
    def __init__(self, name, ours):
        vars(self).update(ours=ours, mine=import_module("fivefold." + name), theirs=import_module("sklearn." + name))
    def __getattr__(self, key):
        return getattr(self.mine if key in self.ours else self.theirs, key)
    def __setattr__(self, key, value):
        setattr(self.theirs, key, value)
'''


def shared() -> dict[str, list[str]]:
    """Chapter -> the names that both libraries have."""
    found = {}
    for folder in sorted(Path(fivefold.__file__).parent.iterdir()):
        if (HOME / folder.name).is_dir() or (HOME / f"{folder.name}.py").exists():
            ours, theirs = import_module(f"fivefold.{folder.name}"), import_module(f"sklearn.{folder.name}")
            names = [n for n in getattr(theirs, "__all__", dir(theirs)) if n in dir(ours) and not n.startswith("_")]
            kept = [n for n in names if getattr(getattr(ours, n), "__module__", "").startswith("fivefold")]
            found.update({folder.name: kept} if kept else {})
    for part in PARTS:
        ours, theirs = import_module(f"fivefold.{part}"), import_module(f"sklearn.{part}")
        found[part] = [name for name in dir(ours) if hasattr(theirs, name) and not name.startswith("_")]
    return found


def rewritten(source: str, names: dict[str, list[str]]) -> str | None:
    """A test file with our names imported from fivefold; None where it has none of them."""
    lines, changes = source.split("\n"), []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.level or not (node.module or "").startswith("sklearn"):
            continue
        inner = (node.module or "").removeprefix("sklearn").removeprefix(".")
        chapter = [inner] if inner in PARTS else inner.split(".")[:1] if inner else []
        text = []
        for alias in node.names:
            whole = not chapter and alias.name in names
            ours = bool(chapter) and alias.name in names.get(chapter[0], ())
            origin = "suite_chapters" if whole else f"fivefold.{chapter[0]}" if ours else node.module
            text.append(f"from {origin} import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
        if any(not line.startswith(f"from {node.module} ") for line in text):
            changes.append((node.lineno - 1, node.end_lineno, [" " * node.col_offset + line for line in text]))
    for first, last, text in sorted(changes, reverse=True):
        lines[first:last] = text
    made = "\n".join(lines)
    return made if changes and "from ." not in made else None


def run(chapters: list[str], out: Path) -> None:
    """Write a junit file for each file of tests."""
    names = shared()
    out.mkdir(parents=True, exist_ok=True)
    (out / "suite_words.py").write_text(PLUGIN)
    (out / "suite_chapters.py").write_text(
        CHAPTER + "\n".join(f"{c} = Chapter({c!r}, {n!r})" for c, n in names.items() if c not in PARTS)
    )
    path = os.pathsep.join([str(out), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"}
    # no configuration of ours: in our own checkout pytest would turn every warning into an error
    options = f"-q -c {os.devnull} --rootdir=. -p suite_words -p sklearn.conftest -p no:cacheprovider".split()

    def run_file(file: Path) -> None:
        if (text := rewritten(file.read_text(), names)) is None:
            return
        stem = "_".join(file.relative_to(HOME).with_suffix("").parts).replace("tests_", "")
        (out / f"test_{stem}.py").write_text(text)
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={out / stem}.xml", f"test_{stem}.py"]
        with (out / f"{stem}.log").open("w") as log:
            subprocess.run(command, cwd=out, env=env, stdout=log, stderr=subprocess.STDOUT, check=False)
        print(stem, flush=True)

    files = [
        file
        for chapter in chapters or [name for name in names if name not in PARTS]
        for file in [*(HOME / chapter).rglob("tests/test_*.py"), HOME / "tests" / f"test_{chapter}.py"]
        if file.exists()
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the largest first: they take longest
        list(pool.map(run_file, sorted(files, key=lambda file: -file.stat().st_size)))


def entries() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """File, names of tests and kind of every line of the page's tables of reasons."""
    for line in PAGE.read_text().split("\n"):
        cells = [cell.strip(" `") for cell in line.strip("|").split(" | ")]
        if len(cells) == 4 and cells[2].split(":")[0] in ("private", "random", "deliberate"):
            for name in cells[1].split("`, `"):
                yield cells[0], re.compile(re.escape(name).replace(r"\*", ".*")), cells[2]


def judge(out: Path) -> int:
    """Print the table, what has no entry, and the share of tests without private parts that pass."""
    known, passed, failed, private, unnamed = list(entries()), 0, 0, 0, []
    print("| file | passed | failed | of private parts | skipped |\n|---|---|---|---|---|")
    for report in sorted(out.rglob("*.xml")):
        cases = list(ET.parse(report).getroot().iter("testcase"))
        bad = [c.get("name", "") for c in cases if c.find("failure") is not None or c.find("error") is not None]
        skipped = sum(c.find("skipped") is not None for c in cases)
        kinds = [next((k for f, p, k in known if f == report.stem and p.fullmatch(n)), "") for n in bad]
        unnamed += [f"{report.stem}::{n}" for n, kind in zip(bad, kinds, strict=True) if not kind]
        hidden, good = kinds.count("private"), len(cases) - len(bad) - skipped
        passed, failed, private = passed + good, failed + len(bad) - hidden, private + hidden
        print(f"| {report.stem} | {good} | {len(bad) - hidden} | {hidden} | {skipped} |")
    share = passed / max(1, passed + failed)
    print(
        f"\n{passed} of {passed + failed} tests without private parts pass ({share:.1%}); {private} touch private parts"
    )
    print(*(f"no entry in {PAGE.name}: {name}" for name in unnamed), sep="\n")
    return int(bool(unnamed) or share < SHARE)


if __name__ == "__main__":
    given = sys.argv[1:]
    folder = Path(given[1]) if given[:1] == ["--read"] else Path(os.environ.get("OUT", "drop-in")).resolve()
    if given[:1] != ["--read"]:
        run(given, folder)
    sys.exit(judge(folder))

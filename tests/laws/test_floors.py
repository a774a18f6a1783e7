"""The lowest versions that pyproject.toml admits are safe ones.

The table says, per package, the first version without the advisories known for what the package is used for here. A
floor is raised with it. The floors were installed together, under Python 3.11, and the tests of commands, tables, model
files, studies and a few methods run with them; what did not work there is named behind the floor it moved.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

SAFE = {
    "numpy": "1.22",  # CVE-2021-41496: a buffer overflow; 2.0 is the first of today's types
    "scipy": "1.15",  # CVE-2023-25399, CVE-2023-29824: references counted wrongly; the first whose bootstrap takes rng
    "scikit-learn": "1.5.0",  # CVE-2024-5206: a vectoriser kept its training text; 1.9 has the callbacks
    "numba": "0.61",
    "joblib": "1.2",  # CVE-2022-21797: code in an argument that was evaluated; 1.4 is what scikit-learn asks for
    "narwhals": "2.0.1",  # as scikit-learn asks
    "grakel": "0.1.10",
    "rapidfuzz": "3.0",
    "libsvm-official": "3.35",
    "hmmlearn": "0.3.3",  # the first for NumPy 2
    "pykalman": "0.10",
    "filterpy": "1.4.5",
    "fastcluster": "1.2.6",
    "openTSNE": "1.0",
    "minisom": "2.3",
    "pyagrum": "2.0",
    "python-crfsuite": "0.9.11",  # the first with wheels for Python 3.13
    "threadpoolctl": "3.5",  # as scikit-learn asks
    "typer": "0.26",  # the first that does not lean on Click's own version, whose changes broke it
    "rich": "13.8",  # as typer asks
    "matplotlib": "3.10.8",  # the first that today's pyparsing does not warn of
    "jinja2": "3.1.6",  # CVE-2025-27516, CVE-2024-56326, CVE-2024-34064: escapes from the sandbox, attributes of tags
    "markupsafe": "2.1",
    "polars": "1.35.2",  # below, damaged JSON and mixed records end in panics, and arrays are refused
    "skops": "0.16",  # CVE-2025-54412, CVE-2025-54413, CVE-2025-54886: files that ran code
    "torch": "2.10",  # CVE-2025-32434, CVE-2026-24747: files that ran code although only weights were asked for
    "dask": "2026.1.1",  # as distributed asks
    "distributed": "2026.1.1",  # CVE-2026-23528: code through the dashboard
    "panel": "1.8",  # as bokeh asks
    "bokeh": "3.8.2",  # CVE-2026-21883: sockets open to other sites
    "scikit-learn-intelex": "2025.0",
    "skglm": "0.5",
    "statsmodels": "0.15",  # the version that was measured beside
    "wittgenstein": "0.3.4",
    "hypothesis": "6.100",
    "mpmath": "1.3",  # CVE-2021-29063: a pattern that took forever
    "mypy": "1.11",
    "pandas": "2.2.2",  # the first for NumPy 2
    "pyarrow": "23.0.1",  # CVE-2023-47248: files that ran code; CVE-2026-25087: use after free
    "pytest": "9.0.3",  # CVE-2025-71176: a folder in /tmp with a name that can be guessed
    "pytest-xdist": "3.6.1",  # 3.6.0 was withdrawn
    "ruff": "0.6",
    "array-api-strict": "2.0",
}


def floors():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return [line for line in lines if not line.startswith("fivefold")]


@pytest.mark.parametrize("line", floors())
def test_a_floor_admits_no_version_with_a_known_advisory(line):
    found = re.fullmatch(r"([\w-]+)(?:\[\w+\])?[>=]=([\d.]+)", line)
    assert found, f"{line}: write a name and its lowest version"
    name, floor = found.groups()
    assert name in SAFE, f"{name}: look for its advisories, and give it a line in SAFE"
    assert Version(floor) >= Version(SAFE[name])

"""What must be measured in a fresh process: `python -m benchmarks.harness.probe WHAT ARGUMENT ...`, answers in JSON.

    memory CASE CONTESTANT ROWS     growth of the resident size while the call runs
    cold CHAPTER NAME               first and later fits of a method

`fresh` is the caller's side; `imported` times an import in a process that has loaded nothing else.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOY = 2000  # rows of the first call, which loads code and is not measured
HEAVY = ("numba", "sklearn", "matplotlib")
IMPORT = """
import json, sys, time
start = time.perf_counter()
exec(sys.argv[1])
print(json.dumps({"seconds": time.perf_counter() - start, "loaded": [p for p in sys.argv[2:] if p in sys.modules]}))
"""


def fresh(*arguments: object, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer of a new Python process."""
    return _answer(["-m", __spec__.name, *map(str, arguments)], environment or {})


def imported(statement: str) -> dict[str, Any]:
    """Seconds of an import statement, and the heavy packages it loaded."""
    return _answer(["-c", IMPORT, statement, *HEAVY], {})


def memory(name: str, contestant: str, rows: str) -> dict[str, float]:
    """Bytes the process grew by at most during the call, and bytes of the data."""
    from benchmarks.harness.case import find

    case = find(name)
    prepare = case.contestants[contestant]
    prepare(case.data(min(TOY, int(rows))))()
    data = case.data(int(rows))
    return {"growth": peak_growth(prepare(data)), "data": data.nbytes}


def peak_growth(call: Any) -> int:
    """Bytes by which the largest resident size during `call` exceeds that before it."""
    gc.collect()
    with suppress(AttributeError):  # freed memory that the allocator keeps would hide what the call needs
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again
    before = _status("VmRSS")
    result = call()
    after = _status("VmHWM")
    del result
    return max(0, after - before)


def cold(chapter: str, name: str) -> dict[str, float]:
    """Seconds of the first fit and the first use in this process, and of later ones.

    A method that answers for the rows of its fit only has no use but its fit, which then takes no time.
    """
    from benchmarks.harness.contestants import seeded

    cls = getattr(import_module(chapter), name)
    model = seeded(cls(**cls.card.given))
    X, y = toy(model)
    fits = [_timed(lambda: model.fit(X, y)) for _ in range(3)]
    names = ("predict", "transform", "score_samples", "kneighbors")
    use = next((getattr(model, name) for name in names if hasattr(model, name)), None)
    uses = [0.0] * 3 if use is None else [_timed(lambda: use(X)) for _ in range(3)]
    return {"fit": fits[0], "warm fit": min(fits[1:]), "use": uses[0], "warm use": min(uses[1:])}


def toy(model: Any) -> tuple[Any, Any]:
    """Small counts, which every method takes, and the target it wants."""
    import numpy as np
    from sklearn.base import is_regressor
    from sklearn.utils import get_tags

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=TOY)
    X = rng.poisson(1.0 + y[:, None] % np.arange(1, 7)).astype(np.float64)
    numbers = 1.0 + X @ np.arange(6.0)  # positive, as some families want
    if not get_tags(model).target_tags.single_output:
        numbers = np.column_stack([numbers, X[:, 0]])
    return X, (numbers if is_regressor(model) else y)


def _answer(arguments: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"in a fresh process: {last_words(done.stderr) or 'it died'}")
    return json.loads(done.stdout.splitlines()[-1])


def last_words(trace: str) -> str:
    """The error at the end of a traceback, without its further lines."""
    errors = [line for line in trace.splitlines() if line and not line[0].isspace()]
    return next((line for line in reversed(errors) if ":" in line), "")


def _timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _status(key: str) -> int:
    """A size from /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _, what, *rest = sys.argv
    print(json.dumps({"memory": memory, "cold": cold}[what](*rest)))

"""Tables of more bytes than the process may allocate are fitted and predicted in chunks."""

import os
import subprocess
import sys

import numpy as np
import pytest

ROWS, COLUMNS = 800_000, 20  # 128 MB
ROOM = 90 << 20  # bytes that the process may allocate beside what it has when its code is loaded and compiled
CHILD = """
import resource, sys
import numpy as np
from fivefold.cluster import KMeans
from fivefold.data import Chunks
from fivefold.decomposition import PCA
from fivefold.ensemble import HistGradientBoostingClassifier
from fivefold.linear_model import LogisticRegression
from fivefold.naive_bayes import GaussianNB

path, rows, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
y = np.arange(rows) % 2
methods = (
    GaussianNB(),
    PCA(3),
    LogisticRegression(),
    KMeans(3, max_iter=2, random_state=0),
    HistGradientBoostingClassifier(max_iter=2, random_state=0, early_stopping=False),
)
for model in methods:  # compiles
    few = Chunks(lambda: [np.array(np.load(path, mmap_mode="r")[:3000])] * 2)
    model.fit(few, y[:6000])
used = dict(line.split(":") for line in open("/proc/self/status"))["VmData"]
limit = 1024 * int(used.split()[0]) + room
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.load(path)
    raise SystemExit("the table fits into memory")
except MemoryError:
    pass
for model in methods:
    table = Chunks(path, memory="32 MB")
    model.fit(table, y)
    answer = model.predict(table) if hasattr(model, "predict") else model.transform(table)
    assert len(answer) == rows
    print(type(model).__name__, float(np.mean(answer[:, 0] if answer.ndim > 1 else answer == y)))
"""


@pytest.mark.may_skip("the memory of a process is limited so on Linux")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is limited so on Linux")
def test_a_table_larger_than_the_limit_is_fitted_in_chunks(tmp_path):
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (ROWS, COLUMNS))
    for lo in range(0, ROWS, 100_000):
        X[lo : lo + 100_000] = rng.standard_normal((100_000, COLUMNS)) + (np.arange(100_000) % 2)[:, None]
    X.flush()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "X.npy"), str(ROWS), str(ROOM)]
    own = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}  # each thread has a stack
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | own)
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert list(found) == ["GaussianNB", "PCA", "LogisticRegression", "KMeans", "HistGradientBoostingClassifier"]
    assert float(found["GaussianNB"]) > 0.95 and float(found["LogisticRegression"]) > 0.95
    assert float(found["HistGradientBoostingClassifier"]) > 0.6

import os
import subprocess
import sys

CODE = """
import sys
import numpy as np
from numba.core import caching
slow = caching.IndexDataCacheFile._save_data
def pause(self, *args):  # widen the gap between choosing a file and writing it
    import time; time.sleep(0.3); slow(self, *args)
caching.IndexDataCacheFile._save_data = pause
from fivefold.core.numerics.softmax import softmax
from loops import total
print(total(np.arange(4, dtype=sys.argv[1])))
"""
LOOPS = """
from fivefold.core.compilation.jit import jit

@jit
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s
"""


def test_processes_that_compile_at_the_same_time_do_not_mix_up_their_types(tmp_path):
    """Numba numbers its files through an index: two processes could store one type's code under the other's key."""
    (tmp_path / "loops.py").write_text(LOOPS)
    env = {
        **os.environ,
        "FIVEFOLD_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }

    def start(kind):
        return subprocess.Popen([sys.executable, "-c", CODE, kind], env=env, stdout=subprocess.PIPE, text=True)

    for _ in range(2):  # the first round writes, the second reads
        for process in [start("float64"), start("float32")]:
            assert process.communicate(timeout=600)[0].strip() == "6.0"
            assert process.returncode == 0

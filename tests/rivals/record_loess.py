"""statsmodels' lowess and kernel regression, kept in loess.json so that their tests run everywhere.

    PYTHONPATH=tests:. python -m rivals.record_loess

writes the file anew where statsmodels is installed; rows and settings are those of the tests.
"""

import json
from importlib.metadata import version
from pathlib import Path

from rivals.test_rival_smoothing import LOWESS_CASES, curve, curve_of_two, query_places

PATH = Path(__file__).with_name("loess.json")


def main():
    from statsmodels.nonparametric.kernel_regression import KernelReg
    from statsmodels.nonparametric.smoothers_lowess import lowess

    found = {"statsmodels": version("statsmodels"), "lowess": {}, "xvals": {}, "kernel": {}}
    for name, (ties, settings) in LOWESS_CASES.items():
        x, y = curve(ties)
        found["lowess"][name] = lowess(y, x, **settings)[:, 1].tolist()
        if not settings.get("delta"):
            found["xvals"][name] = lowess(y, x, xvals=query_places(), **settings).tolist()
    X, y = curve_of_two()
    for kind in ("lc", "ll"):  # local constant, local line
        model = KernelReg(y, X, "cc", reg_type=kind, bw=[0.4, 0.4], rng=0)
        found["kernel"][kind] = model.fit(X[:20])[0].tolist()
    PATH.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

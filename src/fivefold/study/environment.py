"""What a study ran on, for its journal, its results and its models; and values made plain for JSON.

It imports no other part of the study, so that every part may use it.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

import fivefold

if TYPE_CHECKING:
    from fivefold.study.planning.plan import Plan

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


def installed_versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of fivefold, Python and these packages, and the platform; a package that is not installed is absent."""
    found = {
        "fivefold": fivefold.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for name in packages:
        try:
            found.setdefault(name, version(name))
        except PackageNotFoundError:
            continue
    return found


def relevant_packages(plan: Plan) -> tuple[str, ...]:
    """The packages that results may depend on, including those of learners that are not ours."""
    roots = {learner.method.cls.__module__.split(".")[0] for learner in plan.learners}
    return tuple(dict.fromkeys([*PACKAGES, *sorted(roots - {"sklearn"})]))


def to_plain_values(value: Any) -> Any:  # any value in, what JSON can hold out
    """Values that JSON knows: a number that is not finite becomes null, anything unknown its repr."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)

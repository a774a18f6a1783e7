"""Equal work: what must hold of two results before their times are compared.

Objectives are recomputed from the learned parameters by code that neither contestant uses; what a
method says of itself proves nothing. Every check gives a few words for the table, or raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.case import Data

Agreement = Callable[[Data, Any, Any], str]


class Disagreement(AssertionError):
    """The contestants did not solve the same problem equally well."""


def same(*names: str, rtol: float = 1e-6) -> Agreement:
    """The learned attributes `names` are equal, relative to the largest entry of each."""

    def agree(data: Data, ours: Any, rival: Any) -> str:
        for name in names:
            a, b = _flat(getattr(ours, name)), _flat(getattr(rival, name))
            if a.shape != b.shape:
                raise Disagreement(f"{name} has {a.size} entries, the rival's {b.size}")
            _close(name, np.abs(a - b).max(), rtol * np.abs(b).max())
        return f"{', '.join(names)} equal to {rtol:g}"

    return agree


def same_output(rtol: float = 1e-6) -> Agreement:
    """The results are arrays, equal relative to the largest entry."""

    def agree(data: Data, ours: Any, rival: Any) -> str:
        a, b = _flat(ours), _flat(rival)
        if a.shape != b.shape:
            raise Disagreement(f"the result has {a.size} entries, the rival's {b.size}")
        _close("the result", np.abs(a - b).max(), rtol * np.abs(b).max())
        return f"results equal to {rtol:g}"

    return agree


def same_predictions(share: float = 1.0, *, rows: int = 20_000) -> Agreement:
    """The predicted labels, or those the fitted models predict for the first rows, are equal."""

    def agree(data: Data, ours: Any, rival: Any) -> str:
        a, b = (r if isinstance(r, np.ndarray) else r.predict(data.X[:rows]) for r in (ours, rival))
        equal = float(np.mean(np.asarray(a) == np.asarray(b)))
        if not equal >= share:
            raise Disagreement(f"{equal:.4%} of the predictions are the rival's, {share:.4%} are needed")
        return f"{equal:.2%} of predictions equal"

    return agree


def as_good(objective: Callable[[Data, Any], float], rtol: float = 1e-6) -> Agreement:
    """`objective`, recomputed for both, is equal: for methods that start from the same place."""

    def agree(data: Data, ours: Any, rival: Any) -> str:
        a, b = objective(data, ours), objective(data, rival)
        _close(_words(objective), abs(a - b), rtol * abs(b))
        return f"{_words(objective)} {a:.6g}, rival {b:.6g}"

    return agree


def no_worse(objective: Callable[[Data, Any], float], slack: float) -> Agreement:
    """Our `objective`, to be small, exceeds the rival's by a share `slack` at most: for random starts."""

    def agree(data: Data, ours: Any, rival: Any) -> str:
        a, b = objective(data, ours), objective(data, rival)
        if not a <= b + slack * abs(b):
            raise Disagreement(f"{_words(objective)} is {a:.8g}, the rival's {b:.8g}; {slack:g} more is allowed")
        return f"{_words(objective)} {a:.6g}, rival {b:.6g}"

    return agree


def both(*checks: Agreement) -> Agreement:
    """All of the checks."""
    return lambda data, ours, rival: "; ".join(check(data, ours, rival) for check in checks)


def _close(name: str, difference: float, allowed: float) -> None:
    if not difference <= allowed:  # NaN fails too
        raise Disagreement(f"{name} differs from the rival's by {difference:.3g}; {allowed:.3g} is allowed")


def _words(objective: Callable[..., float]) -> str:
    return objective.__name__.replace("_", " ")


def _flat(value: Any) -> np.ndarray:
    parts = value if isinstance(value, list | tuple) else [value]
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])

"""Beliefs in hypotheses as data arrive: one curve per hypothesis, from the prior to the last observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Matrix
from fivefold.plot.style import GREY, INK, axes, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED = 6  # hypotheses with a colour and a name; the others are grey


def belief_path(path: Matrix, names: Sequence[object] | None = None, *, ax: Axes | None = None) -> Axes:
    """Probabilities (n + 1, H) before and after each observation; those that are largest at some time have names.

    `path` is what `Hypotheses.path` gives, or `CoinLearning.probability`.
    """
    values = np.asarray(path, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"a path has a row per observation and a column per hypothesis; got shape {values.shape}")
    labels = [f"hypothesis {h}" for h in range(values.shape[1])] if names is None else list(map(str, names))
    if len(labels) != values.shape[1]:
        raise ValueError(f"{values.shape[1]} hypotheses have as many names; got {len(labels)}")
    ax = axes(ax, x="observations", y="probability")
    named = np.argsort(-values.max(axis=0), kind="stable")[:MAX_NAMED].tolist()
    for h in sorted(set(range(values.shape[1])) - set(named)):
        ax.plot(values[:, h], color=GREY, lw=0.6)
    for i, h in enumerate(sorted(named)):
        ax.plot(values[:, h], color=colour(i), lw=1.6, label=labels[h])
    ax.axhline(1.0, color=INK, lw=0.4)
    ax.set_ylim(0.0, 1.03)
    legend(ax)
    return ax

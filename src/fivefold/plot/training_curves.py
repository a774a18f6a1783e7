"""Fits during training: the curve after chosen passes, and losses on training and unseen rows after each pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from fivefold.core.types import Table, Target, UserTarget
from fivefold.evaluation.protocols import FittedModel
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class IncrementalModel(FittedModel, Protocol):
    """A model that learns from one pass over rows at a time."""

    def partial_fit(self, X: Table, y: Target, /, **params: Any) -> object: ...
    def score(self, X: Table, y: Target, /) -> float: ...


def fits_after(
    model: IncrementalModel,
    x: ArrayLike,
    y: UserTarget,
    passes: Sequence[int] = (1, 10, 100, 1000),
    *,
    ax: Axes | None = None,
) -> Axes:
    """The curve of a regressor with partial_fit after chosen numbers of passes over points (x, y)."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    grid = np.linspace(x.min(), x.max(), 200)
    ax = axes(ax, x="x", y="y")
    ax.scatter(x, y, s=14, color=GREY, lw=0, alpha=0.7)
    done = 0
    for count, (wanted, ink) in enumerate(zip(sorted(passes), np.linspace(0.35, 1.0, len(passes)), strict=True)):
        for _ in range(wanted - done):
            model.partial_fit(x[:, None], y)
        done, style = wanted, ("-", "--", "-.", ":")[::-1][count % 4]
        label = f"{wanted} pass{'es' if wanted > 1 else ''}"
        ax.plot(grid, model.predict(grid[:, None]), color=COLOURS[0], alpha=ink, lw=1.6, ls=style, label=label)
    legend(ax, loc="best")
    return ax


def evolution(
    model: IncrementalModel,
    train: tuple[Table, Target],
    unseen: tuple[Table, Target],
    passes: int = 100,
    *,
    loss: Callable[[IncrementalModel, Table, Target], float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Loss on training and on unseen rows after each pass of `partial_fit`; a line marks the least loss on unseen rows.

    `loss(model, X, y)` is one minus the model's score by default.
    """
    extra = {"classes": np.unique(train[1])} if hasattr(model, "classes_") or is_classifier(model) else {}
    seen = np.empty((passes, 2))
    for k in range(passes):
        model.partial_fit(*train, **extra)
        for j, (X, y) in enumerate((train, unseen)):
            seen[k, j] = 1 - model.score(X, y) if loss is None else loss(model, X, y)
    ax = axes(ax, x="pass", y="loss")
    for j, (ink, name) in enumerate(((COLOURS[1], "training rows"), (COLOURS[0], "unseen rows"))):
        ax.plot(np.arange(1, passes + 1), seen[:, j], color=ink, lw=1.5, label=name)
    best = int(seen[:, 1].argmin()) + 1
    ax.axvline(best, color=INK, lw=1, ls=":", label=f"least: {best}")
    ax.grid(color=LIGHT_GREY, lw=0.8)
    legend(ax, loc="best")
    return ax

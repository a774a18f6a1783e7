"""What chance gives: scores and counts of features under permuted labels, with what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import GREY, INK, axes, colour, legend
from fivefold.theory.beliefs.chance_structure import ChanceStructure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 30  # of a histogram over permutations
MAX_MARKED = 20  # features whose scores are drawn as lines


def permutation_null(structure: ChanceStructure, *, ax: Axes | None = None) -> Axes:
    """The largest score under each permutation, and the scores seen that beat most of them; finite scores only."""
    ax = axes(ax, x=f"largest {structure.statistic} of {len(structure.scores)} features", y="permutations")
    null = structure.null_largest[np.isfinite(structure.null_largest)]
    ax.hist(null, bins=BINS, color=GREY, alpha=0.6, label="labels permuted")
    order = np.argsort(-structure.magnitudes, kind="stable")[:MAX_MARKED]
    kept = structure.significant()
    shown = [j for j in order.tolist() if np.isfinite(structure.magnitudes[j]) and (kept[j] or j == order[0])]
    for i, j in enumerate(shown):
        ax.axvline(structure.magnitudes[j], color=colour(1), lw=1.4, label="labels as they are" if i == 0 else None)
        if i == 0:
            words = f"{structure.features[j]}, p = {structure.westfall_young[j]:.2g}"
            ax.annotate(words, (structure.magnitudes[j], 0.6), xycoords=("data", "axes fraction"), rotation=90,
                        ha="right", va="center", fontsize=8, color=INK)  # fmt: skip
    legend(ax)
    return ax


def chance_counts(structure: ChanceStructure, *, ax: Axes | None = None) -> Axes:
    """How many features have p <= alpha under each permutation, and how many as the labels are."""
    seen = int(structure.significant("none").sum())
    ax = axes(ax, x=f"features with p ≤ {structure.alpha:g}", y="permutations")
    low, high = int(structure.null_counts.min()), int(structure.null_counts.max())
    width = 1 + (high - low) // BINS  # whole numbers per bar
    ax.hist(
        structure.null_counts,
        bins=[low - 0.5 + width * i for i in range((high - low) // width + 2)],
        color=GREY,
        alpha=0.6,
        label="labels permuted",
    )
    ax.axvline(seen, color=colour(1), lw=1.6, label=f"labels as they are: {seen}")
    legend(ax)
    return ax

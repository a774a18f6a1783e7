"""Rows inside their class: all rows whose Voronoi cells touch theirs have the same label.

Without them the cells of their neighbours grow into the gap, all within one class: the boundary of the rule of the
nearest neighbour stays where it was, even if all of them are left out at once.

Toussaint, Bhattacharya & Poulsen (1984).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay

from fivefold.core.types import Labels, Mask, Matrix


def interior_rows(X: Matrix, y: Labels) -> Mask:
    """Which rows of X (n, d) have only Voronoi neighbours of their own label; for few columns.

    >>> interior_rows(np.array([[0, 0], [0, 2], [1, 1], [2, 0], [2, 2], [3, 1]]), np.array([0, 0, 0, 0, 0, 1]))
    array([ True,  True,  True, False, False, False])
    """
    starts, near = Delaunay(X).vertex_neighbor_vertices
    of = np.repeat(np.arange(len(y)), np.diff(starts))
    foreign = np.bincount(of, y[near] != y[of], minlength=len(y))
    return np.asarray(foreign == 0)

"""Nearest rows, exactly: neighbor_index.py (any metric), vector_search.py (chooses between comparing all rows, in
brute_force.py, in single precision first, in filtered_search.py, and a tree, in tree_search.py), object_rows.py
(distances that come in blocks), neighborhoods.py (rows within a radius), row_votes.py (sums over
them), proximity_graphs.py (edges).
"""

from fivefold.spatial.search.neighbor_index import NeighborIndex
from fivefold.spatial.search.neighborhoods import Neighborhoods

__all__ = ["NeighborIndex", "Neighborhoods"]

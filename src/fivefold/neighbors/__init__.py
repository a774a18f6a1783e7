"""Nearest neighbours: methods that store rows and answer by those near a new one, and centroids of classes."""

from fivefold.density.kernel_density import KernelDensity as KernelDensity
from fivefold.neighbors.adaptive_neighbors import (
    DiscriminantAdaptiveNeighborsClassifier as DiscriminantAdaptiveNeighborsClassifier,
)
from fivefold.neighbors.binary_trees import BallTree as BallTree
from fivefold.neighbors.binary_trees import KDTree as KDTree
from fivefold.neighbors.condensed_neighbors import CondensedNeighborsClassifier as CondensedNeighborsClassifier
from fivefold.neighbors.edited_neighbors import EditedNeighborsClassifier as EditedNeighborsClassifier
from fivefold.neighbors.k_neighbors import KNeighborsClassifier as KNeighborsClassifier
from fivefold.neighbors.k_neighbors import KNeighborsRegressor as KNeighborsRegressor
from fivefold.neighbors.lmca import LMCA as LMCA
from fivefold.neighbors.lmnn import LMNN as LMNN
from fivefold.neighbors.local_outlier_factor import LocalOutlierFactor as LocalOutlierFactor
from fivefold.neighbors.nca import NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis
from fivefold.neighbors.nearest_centroid import NearestCentroid as NearestCentroid
from fivefold.neighbors.nearest_cluster import NearestClusterClassifier as NearestClusterClassifier
from fivefold.neighbors.nearest_neighbors import NearestNeighbors as NearestNeighbors
from fivefold.neighbors.nearest_neighbors import kneighbors_graph as kneighbors_graph
from fivefold.neighbors.nearest_neighbors import radius_neighbors_graph as radius_neighbors_graph
from fivefold.neighbors.neighbor_transformers import KNeighborsTransformer as KNeighborsTransformer
from fivefold.neighbors.neighbor_transformers import RadiusNeighborsTransformer as RadiusNeighborsTransformer
from fivefold.neighbors.radius_neighbors import RadiusNeighborsClassifier as RadiusNeighborsClassifier
from fivefold.neighbors.radius_neighbors import RadiusNeighborsRegressor as RadiusNeighborsRegressor
from fivefold.neighbors.shared.neighbor_graphs import sort_graph_by_row_values as sort_graph_by_row_values
from fivefold.neighbors.tree_neighbors import TreeNeighborsClassifier as TreeNeighborsClassifier

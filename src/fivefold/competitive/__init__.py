"""Competitive learning: units that compete for rows, maps of units, networks that learn from one row at a time."""

from fivefold.competitive.glvq import GLVQ as GLVQ
from fivefold.competitive.gmlvq import GMLVQ as GMLVQ
from fivefold.competitive.kmeans_by_row import OnlineKMeans as OnlineKMeans
from fivefold.competitive.leader_clustering import LeaderClustering as LeaderClustering
from fivefold.competitive.lvq import LVQClassifier as LVQClassifier
from fivefold.competitive.self_organizing_map import SelfOrganizingMap as SelfOrganizingMap
from fivefold.competitive.winner_take_all import winner_take_all as winner_take_all

"""Competitive learning: units that compete for rows, maps of units, networks that learn from one row at a time."""

from fivefold.competitive.fuzzy_art import FuzzyART as FuzzyART
from fivefold.competitive.fuzzy_artmap import FuzzyARTMAP as FuzzyARTMAP
from fivefold.competitive.glvq import GLVQ as GLVQ
from fivefold.competitive.gmlvq import GMLVQ as GMLVQ
from fivefold.competitive.growing_map import GrowingMap as GrowingMap
from fivefold.competitive.gtm import GTM as GTM
from fivefold.competitive.hebbian_learning import hebbian_learning as hebbian_learning
from fivefold.competitive.kmeans_by_row import OnlineKMeans as OnlineKMeans
from fivefold.competitive.leader_clustering import LeaderClustering as LeaderClustering
from fivefold.competitive.lvq import LVQClassifier as LVQClassifier
from fivefold.competitive.online_lda import OnlineLDA as OnlineLDA
from fivefold.competitive.online_pca import OnlinePCA as OnlinePCA
from fivefold.competitive.ring_tour import ring_tour as ring_tour
from fivefold.competitive.self_organizing_map import SelfOrganizingMap as SelfOrganizingMap
from fivefold.competitive.winner_take_all import winner_take_all as winner_take_all

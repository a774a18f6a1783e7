"""Ensembles: many models that err differently, and answer together."""

from fivefold.ensemble.adaboost import AdaBoostClassifier as AdaBoostClassifier
from fivefold.ensemble.adaboost import AdaBoostRegressor as AdaBoostRegressor
from fivefold.ensemble.bagging import BaggingClassifier as BaggingClassifier
from fivefold.ensemble.bagging import BaggingRegressor as BaggingRegressor
from fivefold.ensemble.cascade import CascadeClassifier as CascadeClassifier
from fivefold.ensemble.cascade import EnrichmentCascade as EnrichmentCascade
from fivefold.ensemble.embedding import RandomTreesEmbedding as RandomTreesEmbedding
from fivefold.ensemble.extra_trees import ExtraTreesClassifier as ExtraTreesClassifier
from fivefold.ensemble.extra_trees import ExtraTreesRegressor as ExtraTreesRegressor
from fivefold.ensemble.gradient_boosting import GradientBoostingClassifier as GradientBoostingClassifier
from fivefold.ensemble.gradient_boosting import GradientBoostingRegressor as GradientBoostingRegressor
from fivefold.ensemble.greedy import SparseLinearClassifier as SparseLinearClassifier
from fivefold.ensemble.hist_boosting import HistGradientBoostingClassifier as HistGradientBoostingClassifier
from fivefold.ensemble.hist_boosting import HistGradientBoostingRegressor as HistGradientBoostingRegressor
from fivefold.ensemble.isolation import IsolationForest as IsolationForest
from fivefold.ensemble.random_forest import RandomForestClassifier as RandomForestClassifier
from fivefold.ensemble.random_forest import RandomForestRegressor as RandomForestRegressor
from fivefold.ensemble.stacking import StackingClassifier as StackingClassifier
from fivefold.ensemble.stacking import StackingRegressor as StackingRegressor
from fivefold.ensemble.voting import VotingClassifier as VotingClassifier
from fivefold.ensemble.voting import VotingRegressor as VotingRegressor

"""Baselines that any model has to beat: the majority class, the mean target, and learning by rote."""

from fivefold.baselines.majority import MajorityClassifier as MajorityClassifier
from fivefold.baselines.mean import MeanRegressor as MeanRegressor
from fivefold.baselines.memory import MemorisingClassifier as MemorisingClassifier
from fivefold.baselines.memory import MemorisingRegressor as MemorisingRegressor

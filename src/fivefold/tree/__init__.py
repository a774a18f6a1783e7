"""Trees: the input space cut into boxes by questions about single columns."""

from fivefold.tree.decision import DecisionTreeClassifier as DecisionTreeClassifier
from fivefold.tree.decision import DecisionTreeRegressor as DecisionTreeRegressor

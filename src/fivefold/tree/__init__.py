"""Trees: the input space cut into boxes by questions about single columns."""

from fivefold.tree.c45 import C45Classifier as C45Classifier
from fivefold.tree.cart import CARTClassifier as CARTClassifier
from fivefold.tree.cart import choose_alpha as choose_alpha
from fivefold.tree.decision import DecisionTreeClassifier as DecisionTreeClassifier
from fivefold.tree.decision import DecisionTreeRegressor as DecisionTreeRegressor
from fivefold.tree.extra import ExtraTreeClassifier as ExtraTreeClassifier
from fivefold.tree.extra import ExtraTreeRegressor as ExtraTreeRegressor
from fivefold.tree.id3 import ID3Classifier as ID3Classifier
from fivefold.tree.linear_leaves import LinearLeafClassifier as LinearLeafClassifier
from fivefold.tree.model_tree import ModelTreeRegressor as ModelTreeRegressor
from fivefold.tree.occam import OccamTreeClassifier as OccamTreeClassifier
from fivefold.tree.pruning import prune_on as prune_on

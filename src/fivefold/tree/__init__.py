"""Trees: the input space cut into parts, by questions about single columns or about whole rows."""

from fivefold.tree.c45 import C45Classifier as C45Classifier
from fivefold.tree.cart import CARTClassifier as CARTClassifier
from fivefold.tree.cart import choose_alpha as choose_alpha
from fivefold.tree.cart_regressor import CARTRegressor as CARTRegressor
from fivefold.tree.curved import CurvedTreeClassifier as CurvedTreeClassifier
from fivefold.tree.decision import DecisionTreeClassifier as DecisionTreeClassifier
from fivefold.tree.decision import DecisionTreeRegressor as DecisionTreeRegressor
from fivefold.tree.discriminant_tree import DiscriminantTreeClassifier as DiscriminantTreeClassifier
from fivefold.tree.extra import ExtraTreeClassifier as ExtraTreeClassifier
from fivefold.tree.extra import ExtraTreeRegressor as ExtraTreeRegressor
from fivefold.tree.familiar import export_graphviz as export_graphviz
from fivefold.tree.familiar import export_text as export_text
from fivefold.tree.familiar import plot_tree as plot_tree
from fivefold.tree.id3 import ID3Classifier as ID3Classifier
from fivefold.tree.kway_tree import GaussianTreeClassifier as GaussianTreeClassifier
from fivefold.tree.linear_leaves import LinearLeafClassifier as LinearLeafClassifier
from fivefold.tree.model_tree import ModelTreeRegressor as ModelTreeRegressor
from fivefold.tree.oblique import ObliqueTreeClassifier as ObliqueTreeClassifier
from fivefold.tree.oblique import ObliqueTreeRegressor as ObliqueTreeRegressor
from fivefold.tree.occam import OccamTreeClassifier as OccamTreeClassifier
from fivefold.tree.omnivariate import OmnivariateTreeClassifier as OmnivariateTreeClassifier
from fivefold.tree.pruning import prune_on as prune_on
from fivefold.tree.soft import SoftTreeClassifier as SoftTreeClassifier
from fivefold.tree.soft import SoftTreeRegressor as SoftTreeRegressor

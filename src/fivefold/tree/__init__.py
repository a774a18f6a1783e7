"""Trees: the input space cut into parts, by questions about single columns or about whole rows."""

from fivefold.tree.c45 import C45Classifier as C45Classifier
from fivefold.tree.cart import CARTClassifier as CARTClassifier
from fivefold.tree.cart import choose_alpha as choose_alpha
from fivefold.tree.cart_regressor import CARTRegressor as CARTRegressor
from fivefold.tree.curved_tree import CurvedTreeClassifier as CurvedTreeClassifier
from fivefold.tree.decision_tree import DecisionTreeClassifier as DecisionTreeClassifier
from fivefold.tree.decision_tree import DecisionTreeRegressor as DecisionTreeRegressor
from fivefold.tree.discriminant_tree import DiscriminantTreeClassifier as DiscriminantTreeClassifier
from fivefold.tree.extra_tree import ExtraTreeClassifier as ExtraTreeClassifier
from fivefold.tree.extra_tree import ExtraTreeRegressor as ExtraTreeRegressor
from fivefold.tree.gaussian_tree import GaussianTreeClassifier as GaussianTreeClassifier
from fivefold.tree.id3 import ID3Classifier as ID3Classifier
from fivefold.tree.linear_leaf_tree import LinearLeafClassifier as LinearLeafClassifier
from fivefold.tree.model_tree import ModelTreeRegressor as ModelTreeRegressor
from fivefold.tree.oblique_tree import ObliqueTreeClassifier as ObliqueTreeClassifier
from fivefold.tree.oblique_tree import ObliqueTreeRegressor as ObliqueTreeRegressor
from fivefold.tree.occam_tree import OccamTreeClassifier as OccamTreeClassifier
from fivefold.tree.omnivariate_tree import OmnivariateTreeClassifier as OmnivariateTreeClassifier
from fivefold.tree.reduced_error_pruning import prune_on as prune_on
from fivefold.tree.sklearn_export import export_graphviz as export_graphviz
from fivefold.tree.sklearn_export import export_text as export_text
from fivefold.tree.sklearn_export import plot_tree as plot_tree
from fivefold.tree.soft_tree import SoftTreeClassifier as SoftTreeClassifier
from fivefold.tree.soft_tree import SoftTreeRegressor as SoftTreeRegressor

"""Which columns tell about the target: mutual information of each column with it."""

from fivefold.feature_selection.mutual_info import mutual_info_classif as mutual_info_classif
from fivefold.feature_selection.mutual_info import mutual_info_regression as mutual_info_regression

"""Gaussian processes: regression and classification by distributions over functions."""

from fivefold.gaussian_process.gp_classifier import GaussianProcessClassifier as GaussianProcessClassifier
from fivefold.gaussian_process.gp_regressor import GaussianProcessRegressor as GaussianProcessRegressor
from fivefold.gaussian_process.sparse_gp_regressor import (
    SparseGaussianProcessRegressor as SparseGaussianProcessRegressor,
)

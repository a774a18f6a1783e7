"""Ridge regression in the feature space of a kernel."""

from fivefold.kernel_ridge.kernel_ridge import KernelRidge as KernelRidge
from fivefold.kernel_ridge.kernel_ridge_classifier import KernelRidgeClassifier as KernelRidgeClassifier
from fivefold.kernel_ridge.smoothing_spline import SmoothingSpline as SmoothingSpline

"""Ridge regression in the feature space of a kernel."""

from fivefold.kernel_ridge.kernel_ridge import KernelRidge as KernelRidge
from fivefold.kernel_ridge.kernel_ridge_classifier import KernelRidgeClassifier as KernelRidgeClassifier


def __getattr__(name: str) -> object:
    """Smoothing splines are in `fivefold.smoothing`, and are found here as before."""
    if name == "SmoothingSpline":
        from fivefold.smoothing import SmoothingSpline

        return SmoothingSpline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

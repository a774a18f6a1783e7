"""Isotonic regression under scikit-learn's module name; the method is in `fivefold.smoothing`."""

from fivefold.smoothing.isotonic_regression import IsotonicRegression, check_increasing, isotonic_regression

__all__ = ["IsotonicRegression", "check_increasing", "isotonic_regression"]

"""Smoothers: curves and surfaces of no given form, from the rows around a query."""

from fivefold.smoothing.additive_model import AdditiveModel as AdditiveModel
from fivefold.smoothing.condensed_running_mean import CondensedRunningMean as CondensedRunningMean
from fivefold.smoothing.k_nearest_smoother import KNearestSmoother as KNearestSmoother
from fivefold.smoothing.local_learning import LocalLearningClassifier as LocalLearningClassifier
from fivefold.smoothing.local_learning import LocalLearningRegressor as LocalLearningRegressor
from fivefold.smoothing.local_polynomial import LocalPolynomial as LocalPolynomial
from fivefold.smoothing.loess import Loess as Loess
from fivefold.smoothing.loess import lowess as lowess
from fivefold.smoothing.nadaraya_watson import NadarayaWatson as NadarayaWatson
from fivefold.smoothing.regressogram import Regressogram as Regressogram
from fivefold.smoothing.running_line import RunningLine as RunningLine
from fivefold.smoothing.running_mean import RunningMean as RunningMean
from fivefold.smoothing.running_median import RunningMedian as RunningMedian
from fivefold.smoothing.smoothing_spline import SmoothingSpline as SmoothingSpline


def __getattr__(name: str) -> object:
    """Isotonic regression takes one column: it is found here, but is not among the methods for tables of any width."""
    if name in ("IsotonicRegression", "check_increasing"):
        from fivefold.smoothing import isotonic_regression

        return getattr(isotonic_regression, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

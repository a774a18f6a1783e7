"""Judgement of any fitted model: validation, metrics, calibration, conformal prediction, decisions.

comparison holds the tests between learners, experiments the simulations and comparisons built from them, inspection
what a model learned: effects of columns, contributions to single predictions, errors by group.
"""

from typing import TYPE_CHECKING, Any

from fivefold.evaluation.bootstrap import OutOfBag as OutOfBag
from fivefold.evaluation.bootstrap import bootstrap_error as bootstrap_error
from fivefold.evaluation.calibration import brier as brier
from fivefold.evaluation.calibration import reliability as reliability
from fivefold.evaluation.comparison.estimate import Estimate as Estimate
from fivefold.evaluation.comparison.estimate import corrected_t as corrected_t
from fivefold.evaluation.conformal import APS as APS
from fivefold.evaluation.conformal import LAC as LAC
from fivefold.evaluation.conformal import conformal_classifier as conformal_classifier
from fivefold.evaluation.conformal import conformal_regressor as conformal_regressor
from fivefold.evaluation.cross_conformal import cross_conformal_regressor as cross_conformal_regressor
from fivefold.evaluation.curves import learning_curve as learning_curve
from fivefold.evaluation.curves import validation_curve as validation_curve
from fivefold.evaluation.experiments.bias_variance import bootstrap_bias_variance as bootstrap_bias_variance
from fivefold.evaluation.experiments.bias_variance import decompose as decompose
from fivefold.evaluation.experiments.bias_variance import simulate_bias_variance as simulate_bias_variance
from fivefold.evaluation.experiments.paradigms import compare_paradigms as compare_paradigms
from fivefold.evaluation.experiments.paradigms import generative_view as generative_view
from fivefold.evaluation.experiments.paradigms import paradigm_classifier as paradigm_classifier
from fivefold.evaluation.experiments.reductions import compare_reductions as compare_reductions
from fivefold.evaluation.holdout import hold_out as hold_out
from fivefold.evaluation.inspection.group_errors import errors_by_group as errors_by_group
from fivefold.evaluation.inspection.partial_dependence import partial_dependence as partial_dependence
from fivefold.evaluation.inspection.shapley import shapley_values as shapley_values
from fivefold.evaluation.locked_test import lock_away as lock_away
from fivefold.evaluation.metrics import ConfusionCounts as ConfusionCounts
from fivefold.evaluation.monte_carlo_risk import RiskEstimate as RiskEstimate
from fivefold.evaluation.monte_carlo_risk import expected_loss as expected_loss
from fivefold.evaluation.scores import SCORES as SCORES
from fivefold.evaluation.scores import Score as Score
from fivefold.evaluation.selection import diagnose as diagnose
from fivefold.evaluation.selection import diagnose_gain as diagnose_gain
from fivefold.evaluation.selection import nested_selection as nested_selection
from fivefold.evaluation.selection import select as select
from fivefold.evaluation.selection import within_one_error as within_one_error
from fivefold.evaluation.thresholds import Costs as Costs
from fivefold.evaluation.thresholds import ThresholdClassifier as ThresholdClassifier
from fivefold.evaluation.validation import cross_validate as cross_validate
from fivefold.evaluation.validation import three_way_split as three_way_split

if TYPE_CHECKING:
    from fivefold.decision.minimum_risk import MinimumRiskClassifier as MinimumRiskClassifier
    from fivefold.decision.minimum_risk import error_reject as error_reject

DECISIONS = ("MinimumRiskClassifier", "error_reject")  # names that are in fivefold.decision now, which imports this


def __getattr__(name: str) -> Any:
    if name in DECISIONS:
        from fivefold.decision import minimum_risk

        return getattr(minimum_risk, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

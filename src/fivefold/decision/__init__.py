"""Bayesian decision theory: class-conditional models, Bayes error, least risk, rejection, regions.

class_conditional holds the posterior from any densities, minimum_risk the decision by a loss matrix around any
classifier; the estimator that fits a density per class is fivefold.naive_bayes.GenerativeClassifier.
"""

from fivefold.decision.bayes_error import bayes_error as bayes_error
from fivefold.decision.bayes_error import bhattacharyya_bound as bhattacharyya_bound
from fivefold.decision.bayes_error import chernoff_bound as chernoff_bound
from fivefold.decision.class_conditional import ClassConditionalModel as ClassConditionalModel
from fivefold.decision.cost_matrix import CostMatrix as CostMatrix
from fivefold.decision.decision_process import DecisionProcess as DecisionProcess
from fivefold.decision.decision_process import discounted_return as discounted_return
from fivefold.decision.gaussian_discriminants import GaussianDiscriminants as GaussianDiscriminants
from fivefold.decision.minimum_risk import MinimumRiskClassifier as MinimumRiskClassifier
from fivefold.decision.minimum_risk import conditional_risks as conditional_risks
from fivefold.decision.minimum_risk import decide as decide
from fivefold.decision.minimum_risk import error_reject as error_reject
from fivefold.decision.neyman_pearson import NeymanPearsonClassifier as NeymanPearsonClassifier
from fivefold.decision.neyman_pearson import neyman_pearson_threshold as neyman_pearson_threshold
from fivefold.decision.regions import boundary_points as boundary_points
from fivefold.decision.regions import decision_regions as decision_regions
from fivefold.decision.rejection_cost import rejection_costs as rejection_costs
from fivefold.decision.uncertain_features import marginal_posterior as marginal_posterior
from fivefold.decision.uncertain_features import noisy_posterior as noisy_posterior

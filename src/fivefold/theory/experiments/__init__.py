"""Experiments of learning theory: a learning task whose true risk is known, and uniform convergence."""

from fivefold.theory.experiments.learning_task import KnownLaw as KnownLaw
from fivefold.theory.experiments.learning_task import LearningTask as LearningTask
from fivefold.theory.experiments.learning_task import RiskInterval as RiskInterval
from fivefold.theory.experiments.learning_task import empirical_risk as empirical_risk
from fivefold.theory.experiments.learning_task import finite_law as finite_law
from fivefold.theory.experiments.learning_task import gaussian_law as gaussian_law
from fivefold.theory.experiments.learning_task import half_absolute_loss as half_absolute_loss
from fivefold.theory.experiments.learning_task import no_noise as no_noise
from fivefold.theory.experiments.learning_task import risk_interval as risk_interval
from fivefold.theory.experiments.learning_task import uniform_law as uniform_law
from fivefold.theory.experiments.uniform_convergence import UniformConvergence as UniformConvergence
from fivefold.theory.experiments.uniform_convergence import uniform_convergence as uniform_convergence

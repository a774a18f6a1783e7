"""Sequences: models of rows in an order, and the container that holds them."""

from fivefold.core.admission.sequences import Sequences as Sequences
from fivefold.sequence.categorical_hmm import CategoricalHMM as CategoricalHMM
from fivefold.sequence.explicit_duration_hmm import ExplicitDurationHMM as ExplicitDurationHMM
from fivefold.sequence.factorial_hmm import FactorialHMM as FactorialHMM
from fivefold.sequence.family_hmm import FamilyHMM as FamilyHMM
from fivefold.sequence.gaussian_hmm import GaussianHMM as GaussianHMM
from fivefold.sequence.gmm_hmm import GMMHMM as GMMHMM
from fivefold.sequence.graph_crf import GraphCRF as GraphCRF
from fivefold.sequence.hidden_markov.convergence_monitor import ConvergenceMonitor as ConvergenceMonitor
from fivefold.sequence.kalman_filter import KalmanFilter as KalmanFilter
from fivefold.sequence.linear_chain_crf import LinearChainCRF as LinearChainCRF
from fivefold.sequence.multinomial_hmm import MultinomialHMM as MultinomialHMM
from fivefold.sequence.poisson_hmm import PoissonHMM as PoissonHMM
from fivefold.sequence.sequence_losses import sequence_hamming_loss as sequence_hamming_loss
from fivefold.sequence.sequence_losses import sequence_zero_one_loss as sequence_zero_one_loss
from fivefold.sequence.structured_perceptron import StructuredPerceptron as StructuredPerceptron
from fivefold.sequence.structured_states.dynamic_network import DynamicBayesianNetwork as DynamicBayesianNetwork
from fivefold.sequence.structured_states.explicit_durations import explicit_duration_chain as explicit_duration_chain
from fivefold.sequence.structured_states.hierarchical_states import HierarchicalStates as HierarchicalStates
from fivefold.sequence.structured_states.state_chain import StateChain as StateChain
from fivefold.sequence.structured_svm import StructuredSVM as StructuredSVM
from fivefold.sequence.variational_categorical_hmm import VariationalCategoricalHMM as VariationalCategoricalHMM
from fivefold.sequence.variational_gaussian_hmm import VariationalGaussianHMM as VariationalGaussianHMM

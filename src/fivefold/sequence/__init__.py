"""Models of sequences."""

from fivefold.sequence.factorial_hmm import FactorialHMM as FactorialHMM
from fivefold.sequence.kalman_filter import KalmanFilter as KalmanFilter
from fivefold.sequence.linear_chain_crf import LinearChainCRF as LinearChainCRF
from fivefold.sequence.structured_states.dynamic_network import DynamicBayesianNetwork as DynamicBayesianNetwork
from fivefold.sequence.structured_states.explicit_durations import explicit_duration_chain as explicit_duration_chain
from fivefold.sequence.structured_states.hierarchical_states import HierarchicalStates as HierarchicalStates
from fivefold.sequence.structured_states.state_chain import StateChain as StateChain

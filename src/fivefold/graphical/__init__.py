"""Graphical models: networks of variables, what they say about independence, queries, and learning from data."""

from fivefold.graphical.assignments import Assignment as Assignment
from fivefold.graphical.bayesian_network import BayesianNetwork as BayesianNetwork
from fivefold.graphical.factor_graph import FactorGraph as FactorGraph
from fivefold.graphical.files.network_files import read_network as read_network
from fivefold.graphical.files.network_files import write_network as write_network
from fivefold.graphical.graphs.d_separation import active_path as active_path
from fivefold.graphical.graphs.d_separation import bayes_ball as bayes_ball
from fivefold.graphical.graphs.d_separation import d_separated as d_separated
from fivefold.graphical.graphs.directed_graph import DirectedGraph as DirectedGraph
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph as PartiallyDirectedGraph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph as UndirectedGraph
from fivefold.graphical.linear_gaussian_network import GaussianPosterior as GaussianPosterior
from fivefold.graphical.linear_gaussian_network import LinearGaussian as LinearGaussian
from fivefold.graphical.linear_gaussian_network import LinearGaussianNetwork as LinearGaussianNetwork
from fivefold.graphical.markov_network import MarkovNetwork as MarkovNetwork
from fivefold.graphical.parameters.canonical_tables import function_table as function_table
from fivefold.graphical.parameters.canonical_tables import noisy_or as noisy_or
from fivefold.graphical.parameters.potential_fit import fit_potentials as fit_potentials
from fivefold.graphical.parameters.table_fit import fit_tables as fit_tables
from fivefold.graphical.queries.posterior import Explanation as Explanation
from fivefold.graphical.queries.posterior import Posterior as Posterior
from fivefold.graphical.queries.sensitivity import explaining_away as explaining_away
from fivefold.graphical.queries.sensitivity import query_kind as query_kind
from fivefold.graphical.queries.sensitivity import sensitivity as sensitivity
from fivefold.graphical.variables import Variables as Variables

"""Graphical models: networks of variables, what they say about independence, queries, and learning from data."""

from fivefold.graphical.assignments import Assignment as Assignment
from fivefold.graphical.bayesian_network import BayesianNetwork as BayesianNetwork
from fivefold.graphical.graphs.d_separation import active_path as active_path
from fivefold.graphical.graphs.d_separation import bayes_ball as bayes_ball
from fivefold.graphical.graphs.d_separation import d_separated as d_separated
from fivefold.graphical.graphs.directed_graph import DirectedGraph as DirectedGraph
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph as PartiallyDirectedGraph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph as UndirectedGraph
from fivefold.graphical.queries.posterior import Posterior as Posterior
from fivefold.graphical.variables import Variables as Variables

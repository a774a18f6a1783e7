"""Learning the structure of a Bayesian network from a table: scores, searches, tests, and averaging over structures."""

from fivefold.graphical.structure_learning.best_first import best_first as best_first
from fivefold.graphical.structure_learning.chow_liu import chow_liu as chow_liu
from fivefold.graphical.structure_learning.chow_liu import k_dependence as k_dependence
from fivefold.graphical.structure_learning.chow_liu import mutual_information as mutual_information
from fivefold.graphical.structure_learning.chow_liu import tree_augmented_naive_bayes as tree_augmented_naive_bayes
from fivefold.graphical.structure_learning.coded_table import code_table as code_table
from fivefold.graphical.structure_learning.exact_search import exact_search as exact_search
from fivefold.graphical.structure_learning.family_scores import AIC as AIC
from fivefold.graphical.structure_learning.family_scores import BIC as BIC
from fivefold.graphical.structure_learning.family_scores import BayesianDirichlet as BayesianDirichlet
from fivefold.graphical.structure_learning.family_scores import BDeu as BDeu
from fivefold.graphical.structure_learning.family_scores import K2Score as K2Score
from fivefold.graphical.structure_learning.family_scores import LogLikelihood as LogLikelihood
from fivefold.graphical.structure_learning.family_scores import StructurePrior as StructurePrior
from fivefold.graphical.structure_learning.hill_climbing import hill_climbing as hill_climbing
from fivefold.graphical.structure_learning.independence_tests import independence_test as independence_test
from fivefold.graphical.structure_learning.k2_search import k2_search as k2_search
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure as LearnedStructure
from fivefold.graphical.structure_learning.model_averaging import structure_posterior as structure_posterior
from fivefold.graphical.structure_learning.pc_algorithm import pc_algorithm as pc_algorithm
from fivefold.graphical.structure_learning.score_cache import FamilyScores as FamilyScores
from fivefold.graphical.structure_learning.structure_annealing import structure_annealing as structure_annealing
from fivefold.graphical.structure_learning.structure_sampling import structure_sampling as structure_sampling

"""Occam's razor: bounds on the error of a rule from its length, and choices by them.

code_length_bounds.py has the forms of the bound, occam_selection.py chooses among rules, price_tuning.py
finds the price per bit, tree_pruning.py prunes trees, stump_votes.py writes votes of boosted stumps in few bits,
occam_certificates.py makes the bounds ones that `certify` finds.
"""

from fivefold.theory.occam.code_length_bounds import RULES as RULES
from fivefold.theory.occam.code_length_bounds import binomial_bound as binomial_bound
from fivefold.theory.occam.code_length_bounds import kl_bound as kl_bound
from fivefold.theory.occam.code_length_bounds import occam_interval as occam_interval
from fivefold.theory.occam.occam_selection import OccamSelection as OccamSelection
from fivefold.theory.occam.occam_selection import occam_select as occam_select
from fivefold.theory.occam.occam_selection import occam_stages as occam_stages
from fivefold.theory.occam.occam_selection import select_by_length as select_by_length
from fivefold.theory.occam.price_tuning import price_path as price_path
from fivefold.theory.occam.price_tuning import tune_price as tune_price
from fivefold.theory.occam.tree_pruning import occam_prune as occam_prune

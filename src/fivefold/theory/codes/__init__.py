"""Codes: how many bits it takes to write a model down, and the prior that the bits stand for.

prefix_codes.py has Kraft's inequality and priors, number_codes.py fractions, ranges, integers and doubles,
formula_codes.py Boolean formulas, arithmetic_coder.py turns probabilities into real bits. descriptions.py has
`describe`, the length of a fitted model; tree_codes.py, rule_codes.py, linear_codes.py, term_codes.py and vote_codes.py
register with it. precision.py rounds the numbers of a model to the digits that pay, by threshold_precision.py and
weight_precision.py.
"""

from fivefold.theory.codes import linear_codes as linear_codes
from fivefold.theory.codes import rule_codes as rule_codes
from fivefold.theory.codes import term_codes as term_codes
from fivefold.theory.codes import threshold_precision as threshold_precision
from fivefold.theory.codes import tree_codes as tree_codes
from fivefold.theory.codes import vote_codes as vote_codes
from fivefold.theory.codes import weight_precision as weight_precision
from fivefold.theory.codes.descriptions import Description as Description
from fivefold.theory.codes.descriptions import describe as describe
from fivefold.theory.codes.precision import ShortModel as ShortModel
from fivefold.theory.codes.precision import choose_precision as choose_precision

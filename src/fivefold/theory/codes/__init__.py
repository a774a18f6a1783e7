"""Codes: how many bits it takes to write a model down, and the prior that the bits stand for.

prefix_codes.py has Kraft's inequality and priors, number_codes.py fractions, ranges, integers and doubles,
tree_codes.py decision trees; descriptions.py is `describe`, the length of a fitted model.
"""

from fivefold.theory.codes import tree_codes as tree_codes  # registers with `describe`
from fivefold.theory.codes.descriptions import Description as Description
from fivefold.theory.codes.descriptions import describe as describe

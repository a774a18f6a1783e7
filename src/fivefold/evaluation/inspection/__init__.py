"""What a fitted model learned: partial_dependence.py, the effect of a column; shapley.py, what each column contributes
to a prediction, exact for linear models (linear_form.py) and sums of trees (additive_trees.py); group_errors.py, where
it is wrong.
"""

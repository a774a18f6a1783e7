"""Factors over discrete variables, and exact inference with them in any semiring.

The algebra: semirings.py, factor.py, sparse_factor.py; gaussian_factor.py for continuous variables.
What it will cost: elimination_order.py with elimination_order_loops.py.
Engines: variable_elimination.py (one query), configurations.py (the most probable ones), junction_tree.py with
clique_tree.py (all marginals at once), tree_messages.py with message_schedule.py (message by message on trees),
case_factor.py (recursion on cases), enumeration.py (the oracle of the others).
Uses: model_counting.py (clauses), series_parallel.py (graphs of width two).
"""

"""Factors over discrete variables, and exact inference with them in any semiring.

semirings.py, factor.py: the algebra; elimination_order.py: what an order costs, by
elimination_order_loops.py; variable_elimination.py: one query;
configurations.py: the most probable ones;
clique_tree.py, junction_tree.py: all marginals at once, with evidence_arrays.py in and clique_beliefs.py out, by
clique_layout.py and clique_loops.py, or log_calibration.py; message_schedule.py,
tree_messages.py: message by message on trees;
case_factor.py: by recursion on cases; model_counting.py: clauses; series_parallel.py: graphs of
width two; enumeration.py: the oracle of the others.
"""

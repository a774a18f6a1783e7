"""Factors over discrete variables, and exact inference with them in any semiring.

semirings.py, factor.py, sparse_factor.py: the algebra; elimination_order.py: what an order costs; elimination.py,
junction_tree.py, case_factor.py, tree_messages.py: exact engines; enumeration.py: their oracle.
"""

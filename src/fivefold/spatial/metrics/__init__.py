"""Distances between rows and between objects: named_metrics.py (by name and parameters), metric.py (values that
searches take), rule_loops.py (compiled), object_metrics.py (functions of users, strings, kernels, tables of distances),
row_coordinates.py (coordinates in which a metric is a plain one), metric_axioms.py (is it a metric?).
"""

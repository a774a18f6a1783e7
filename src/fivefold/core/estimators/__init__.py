"""Base classes of all methods: base.py (unsupervised), supervised_learning.py (classifiers, regressors), params.py
(typed parameters and their checks).
"""

"""Conjugate updating: conjugate_pair.py is the contract, with pairs of likelihood and prior by kind of data;
conjugate_priors.py finds the pair. Distributions of parameters that are no family of rows are here too: wishart.py,
normal_gamma.py, normal_wishart.py, and predictives.py.
"""

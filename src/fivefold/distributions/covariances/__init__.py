"""Covariances of K Gaussians: structures.py (full, tied, diagonal, spherical, fixed), covariance_matrices.py
(densities, factors), gaussian_loops.py.
"""

"""Covariances of K Gaussians: structures.py (full, tied, diagonal, spherical, fixed), covariance_matrices.py
(densities, samples, marginals), inverses.py (factors, refusals), missing_patterns.py, gaussian_loops.py.
"""

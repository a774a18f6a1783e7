"""What the decompositions share: svd_solvers.py, projection.py, probabilistic_pca.py (the density), n_components.py
(how many to keep).
"""

"""What the mixtures share: finite_mixture.py (the model and its EM steps), initialisation.py (starts),
gaussian_components.py (given starts, priors, collapse).
"""

"""Losses of a linear predictor: value, slope, curvature, conjugate; likelihoods of generalized linear models; noise
of an output.
"""

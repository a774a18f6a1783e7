"""Impurities and gains: Gini, entropy, squared error, Poisson deviance, absolute error, gain ratio; `base` names the
rules each has.
"""

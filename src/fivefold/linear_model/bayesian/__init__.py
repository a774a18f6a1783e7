"""Bayesian linear models: ridge, ARD, full posterior, logistic by Laplace; and the spectrum they share."""

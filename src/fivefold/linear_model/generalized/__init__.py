"""Generalized linear models: any family and link, and the Poisson, Gamma and Tweedie regressors."""

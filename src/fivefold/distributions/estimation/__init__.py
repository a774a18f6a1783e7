"""Estimation of parameters: family_estimation.py is the one call for maximum likelihood, MAP and full Bayes;
grid_posterior.py any prior and likelihood; hypotheses.py a few of them; simulation_calibration.py and plug_in.py
what to expect of estimates; limit_theorems.py laws of averages.
"""

"""Losses of a linear predictor, by what they depend on: `margin_losses`, `regression_losses`, `likelihood_losses`.

`catalogue` lists all of them by name; `glm_families` makes a loss of a family and a link, `output_noise` one of the
noise of an output.
"""

"""Optimisation: an objective, a solver, one loop (`minimise`).

At this level: objectives and their answers, the loop, the linear predictor (`design`) and its empirical risk. Below:
`losses`, `penalties` (with proximal operators); solvers by kind: `smooth` (with line searches), `proximal`, `dual`,
`constrained`, `stochastic`; `risk_minimisation`, whole procedures for linear models; `textbook`, demonstrations.
"""

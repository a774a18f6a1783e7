"""Stochastic gradient rules, learning rates, compiled passes over rows; simulated annealing and a genetic algorithm."""

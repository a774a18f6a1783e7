"""Chains of discrete states: chain.py holds the tables of a batch of sequences; forward_backward.py sums over paths,
best_paths.py finds the best ones, path_sampling.py draws them. Compiled loops are beside them.
"""

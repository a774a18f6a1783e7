"""Approximate inference on factors.

loopy_propagation.py sends messages on graphs with cycles; mean_field.py and structured_variational.py maximise a lower
bound; gibbs_sampling.py, metropolis_hastings.py and weighted_sampling.py draw; markov_chain.py and chain_diagnostics.py
say whether a chain forgets its start, and what its draws are worth. factor_arrays.py is the flat form of a list of
factors that the compiled loops read.
"""

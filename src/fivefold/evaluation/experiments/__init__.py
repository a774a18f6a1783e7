"""Experiments: bias and variance, generative against discriminative, direct learners against reductions, and how
often each test of `comparison` rejects equal learners.
"""

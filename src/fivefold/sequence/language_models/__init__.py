"""Language models: the probability of a word after the words before it.

`ngram_counter.py` counts, `ngram_model.py` has what all models share (perplexity, sampling), then one model per file;
`convex_weights.py` fits weights of any distributions on held-out data.
"""

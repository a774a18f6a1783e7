"""Compiled loop over counts of features: inner products with the objects that share one."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def add_shared_counts(starts, features, values, feature_starts, objects, counts, lo, hi, out):
    """out[i, j] += sum over features f of a_if b_jf for i = lo..hi; a is stored by rows, b by features."""
    for i in range(lo, hi):
        for e in range(starts[i], starts[i + 1]):
            f, value = features[e], values[e]
            for t in range(feature_starts[f], feature_starts[f + 1]):
                out[i, objects[t]] += value * counts[t]

"""Compiled stochastic gradient descent on the likelihood of labelled sequences, one sequence after the other.

Weights are kept as `scale` times numbers that a sequence changes only where it has features, so that the ridge, which
shrinks all of them in every step, costs one multiplication.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.inference.chains.forward_backward_loops import backward, forward, log_posterior
from fivefold.sequence.features.state_feature_loops import add_state_scores

MIN_SCALE = 1e-9  # below it the scale is multiplied into the weights, which would overflow


@jit(error_model="numpy")
def sgd_pass(order, sequences, price, features, state, transition, rate, clock, work):
    """A step per sequence against the gradient of price (ln Z - score) + ridge |w|^2 / 2.

    `rate` is (ridge, t0): step t has the length 1 / (ridge (t0 + t)). Returns the sum of price (ln Z - score) before
    each step, and the clock; the scale is multiplied into the weights at the end.
    """
    offsets, start, attribute, value, codes = sequences
    feature_start, label, has = features
    scores, marginals, counts = work[0], work[1], work[2]
    ridge, t0 = rate
    scale, loss = 1.0, 0.0
    K = len(has)
    for i in range(len(order)):
        s = order[i]
        lo, hi = offsets[s], offsets[s + 1]
        eta = 1.0 / (ridge * (t0 + clock))
        clock += 1.0
        add_state_scores(start, attribute, value, feature_start, label, state, lo, hi, scores)
        for t in range(lo, hi):
            for k in range(K):
                scores[t, k] *= scale
        right = 0.0
        for t in range(lo, hi):
            right += scores[t, codes[t]] + (scale * transition[codes[t - 1], codes[t]] if t > lo else 0.0)
        loss += price[s] * (_expectations(scale, transition, lo, hi, work) - right)
        scale *= 1.0 - eta * ridge
        step = eta * price[s] / scale
        for t in range(lo, hi):
            marginals[t, codes[t]] -= 1.0
            if t > lo:
                counts[codes[t - 1], codes[t]] -= 1.0
            for e in range(start[t], start[t + 1]):
                a, v = attribute[e], step * value[e]
                for f in range(feature_start[a], feature_start[a + 1]):
                    state[f] -= v * marginals[t, label[f]]
        for j in range(K):
            for k in range(K):
                if has[j, k]:
                    transition[j, k] -= step * counts[j, k]
        if scale < MIN_SCALE or i == len(order) - 1:
            for f in range(len(state)):
                state[f] *= scale
            for j in range(K):
                for k in range(K):
                    transition[j, k] *= scale
            scale = 1.0
    return loss, clock


@jit(error_model="numpy")
def _expectations(factor, transition, lo, hi, work):
    """ln Z; the marginals of positions lo .. hi and the expected counts of transitions are left in `work`."""
    scores, marginals, counts, emission, sums, rows, steps, vectors, pairs = work
    K = len(counts)
    starts, beta, ahead, transposed = vectors[0], vectors[1], vectors[2], vectors[3:]
    top = transition[0, 0]
    for j in range(K):
        starts[j] = 1.0
        for k in range(K):
            top = max(top, transition[j, k])
    top *= factor
    for j in range(K):
        for k in range(K):
            steps[0, j, k] = np.exp(transition[j, k] * factor - top)
            transposed[k, j] = steps[0, j, k]
            counts[j, k] = 0.0
    total = (hi - lo - 1) * top
    for t in range(lo, hi):
        best = scores[t, 0]
        for k in range(1, K):
            best = max(best, scores[t, k])
        total += best
        for k in range(K):
            emission[t, k] = np.exp(scores[t, k] - best)
    if forward(starts, steps, emission, rows, lo, hi, marginals, sums):
        for t in range(lo, hi):
            total += np.log(sums[t])
        backward(steps, transposed, emission, rows, lo, hi, 1.0, sums, marginals, counts, pairs, beta, ahead)
        for j in range(K):
            for k in range(K):
                counts[j, k] *= steps[0, j, k]
        return total
    for j in range(K):
        starts[j], beta[j] = 0.0, 0.0
        for k in range(K):
            steps[0, j, k] = transition[j, k] * factor
            counts[j, k] = 0.0
    return log_posterior(starts, steps, scores, rows, lo, hi, 1.0, marginals, beta, counts, pairs, sums)

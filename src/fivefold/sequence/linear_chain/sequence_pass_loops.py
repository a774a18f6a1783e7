"""Compiled passes over sequences, one after the other: the best path under the weights so far, then a change of them.

`sequences` are offsets, start, attribute and value of PositionFeatures with the codes of the labels; `features` the
labels that each attribute has a weight for, and which transitions have one; `work` the scratch of a pass.
"""

from __future__ import annotations

from fivefold.core.compilation.jit import jit
from fivefold.inference.chains.best_path_loops import viterbi
from fivefold.sequence.features.state_feature_loops import add_state_scores


@jit(error_model="numpy")
def perceptron_pass(order, sequences, features, state, transition, state_sums, transition_sums, clock, work):
    """Add the features of the labels given, and subtract those of the best path, where they differ.

    The sums collect each change times the number of sequences seen before it. Returns the mistakes and the clock.
    """
    offsets, start, attribute, value, codes = sequences
    feature_start, label, has = features
    scores, rows, path, best, zeros, longest = work
    steps = transition.reshape((1, len(zeros), len(zeros)))
    mistakes = 0
    for i in range(len(order)):
        s = order[i]
        lo, hi = offsets[s], offsets[s + 1]
        add_state_scores(start, attribute, value, feature_start, label, state, lo, hi, scores)
        viterbi(zeros, steps, scores, rows, offsets, s, s + 1, longest, path, best)
        clock += 1.0
        wrong = False
        for t in range(lo, hi):
            if path[t] != codes[t]:
                wrong = True
                for e in range(start[t], start[t + 1]):
                    a = attribute[e]
                    for f in range(feature_start[a], feature_start[a + 1]):
                        change = (1.0 if label[f] == codes[t] else 0.0) - (1.0 if label[f] == path[t] else 0.0)
                        state[f] += change * value[e]
                        state_sums[f] += change * value[e] * clock
        for t in range(lo + 1, hi):
            if path[t] != codes[t] or path[t - 1] != codes[t - 1]:
                _change_transition(transition, transition_sums, has, codes[t - 1], codes[t], 1.0, clock)
                _change_transition(transition, transition_sums, has, path[t - 1], path[t], -1.0, clock)
        mistakes += wrong
    return mistakes, clock


@jit(error_model="numpy")
def _change_transition(transition, sums, has, before, after, change, clock):
    if has[before, after]:
        transition[before, after] += change
        sums[before, after] += change * clock


@jit(error_model="numpy")
def frank_wolfe_pass(order, sequences, features, state, transition, shares, pairs, price, work, totals):
    """Move the mixture of paths of each sequence towards its worst path, as far as the dual falls.

    `shares` (positions, K) and `pairs` (sequences, K, K) are the mixtures; `price` (sequences,) is C times the weight;
    `totals` is scratch, one number per state feature, zero before and after. Returns the sum of the gaps.
    """
    offsets, start, attribute, value, codes = sequences
    feature_start, label, has = features
    scores, rows, path, best, zeros, longest = work
    K = len(zeros)
    steps = transition.reshape((1, K, K))
    gap = 0.0
    for i in range(len(order)):
        s = order[i]
        lo, hi = offsets[s], offsets[s + 1]
        add_state_scores(start, attribute, value, feature_start, label, state, lo, hi, scores)
        for t in range(lo, hi):
            for k in range(K):
                scores[t, k] += 1.0 if k != codes[t] else 0.0
        viterbi(zeros, steps, scores, rows, offsets, s, s + 1, longest, path, best)
        for t in range(lo + 1, hi):
            pairs[s, path[t - 1], path[t]] -= 1.0  # mixture less path, until the end of this turn
        own, norm = 0.0, 0.0
        for k in range(K):
            for j in range(K):
                if has[k, j]:
                    own -= pairs[s, k, j] * transition[k, j]
                    norm += pairs[s, k, j] ** 2
        for t in range(lo, hi):
            shares[t, path[t]] -= 1.0
            for k in range(K):
                own -= shares[t, k] * scores[t, k]
            _add_features(start, attribute, value, feature_start, label, shares, t, 1.0, totals)
        norm += _squares(start, attribute, feature_start, totals, lo, hi)
        gap += price[s] * own
        step = min(max(own / (price[s] * norm), 0.0), 1.0) if norm > 0.0 else 0.0
        for t in range(lo, hi):
            _add_features(start, attribute, value, feature_start, label, shares, t, step * price[s], state)
            for k in range(K):
                shares[t, k] *= 1.0 - step
            shares[t, path[t]] += 1.0
        for k in range(K):
            for j in range(K):
                if has[k, j]:
                    transition[k, j] += step * price[s] * pairs[s, k, j]
                pairs[s, k, j] *= 1.0 - step
        for t in range(lo + 1, hi):
            pairs[s, path[t - 1], path[t]] += 1.0
    return gap


@jit(error_model="numpy")
def _add_features(start, attribute, value, feature_start, label, shares, t, factor, totals):
    """Add factor times the features of position t, weighted by the shares of its labels."""
    for e in range(start[t], start[t + 1]):
        a, v = attribute[e], factor * value[e]
        for f in range(feature_start[a], feature_start[a + 1]):
            totals[f] += v * shares[t, label[f]]


@jit(error_model="numpy")
def _squares(start, attribute, feature_start, totals, lo, hi):
    """The sum of squares of the totals of the attributes of positions lo .. hi, which are set to zero again."""
    found = 0.0
    for e in range(start[lo], start[hi]):
        a = attribute[e]
        for f in range(feature_start[a], feature_start[a + 1]):
            found += totals[f] ** 2
            totals[f] = 0.0
    return found

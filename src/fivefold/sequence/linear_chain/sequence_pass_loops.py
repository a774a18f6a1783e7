"""Compiled passes over sequences, one after the other: the best path under the weights so far, then a change of them.

`sequences` are offsets, start, attribute and value of PositionFeatures with the codes of the labels; `features` the
labels that each attribute has a weight for, and which transitions have one; `work` the scratch of a pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.inference.chains.best_path_loops import viterbi
from fivefold.sequence.features.state_feature_loops import add_state_scores

# kinds of steps
PERCEPTRON, PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_1, PASSIVE_AGGRESSIVE_2, AROW = range(5)


class StepRule(NamedTuple):
    """How far weights move where a path is wrong."""

    kind: int
    c: float = 1.0  # passive aggressive: the longest step (type 1), or how little slack costs (type 2)
    sensitive: bool = True  # does its margin grow with the number of wrong labels?
    gamma: float = 1.0  # AROW: how slowly variances shrink


@jit(error_model="numpy")
def online_pass(order, sequences, features, weights, sums, spread, clock, rule, work, scratch):
    """Where the best path of a sequence is wrong, a step towards the features of the labels given, away from its own.

    `rule` says how far. `spread` holds the variance of each weight, one unless the rule is AROW. The sums collect each
    change times the number of sequences seen before it. `scratch` are differences of features, of pairs of labels, the
    features that differ and whether each does; all zero before and after. Returns how many sequences were wrong, the
    loss that they had, and the clock.
    """
    offsets, start, attribute, value, codes = sequences
    feature_start, label, _ = features
    state, transition = weights
    scores, rows, path, best, zeros, longest = work
    steps = transition.reshape((1, len(zeros), len(zeros)))
    mistakes, loss = 0, 0.0
    for i in range(len(order)):
        s = order[i]
        lo, hi = offsets[s], offsets[s + 1]
        add_state_scores(start, attribute, value, feature_start, label, state, lo, hi, scores)
        viterbi(zeros, steps, scores, rows, offsets, s, s + 1, longest, path, best)
        clock += 1.0
        wrong, gap = 0, best[s]
        for t in range(lo, hi):
            wrong += path[t] != codes[t]
            gap -= scores[t, codes[t]] + (transition[codes[t - 1], codes[t]] if t > lo else 0.0)
        if wrong == 0:
            continue
        mistakes += 1
        count = _add_differences(sequences, features, path, lo, hi, scratch)
        step, cost = _step_length(rule, gap, wrong, _squared_length(count, spread, scratch), hi - lo)
        loss += cost
        _move(count, weights, sums, spread, clock, step, rule, scratch)
    return mistakes, loss, clock


@jit(error_model="numpy")
def _step_length(rule, gap, wrong, size, length):
    """How far to go, and the loss: `gap` is how much higher the best path scores, `size` the length of the features."""
    if rule.kind == PERCEPTRON:
        return 1.0, wrong / length
    if rule.kind == AROW:
        cost = gap + wrong
        return cost / (rule.gamma + size), cost
    cost = gap + (np.sqrt(wrong) if rule.sensitive else 1.0)
    if size == 0.0:
        return 0.0, cost
    if rule.kind == PASSIVE_AGGRESSIVE_2:
        return cost / (size + 0.5 / rule.c), cost
    step = cost / size
    return min(rule.c, step) if rule.kind == PASSIVE_AGGRESSIVE_1 else step, cost


@jit(error_model="numpy")
def _add_differences(sequences, features, path, lo, hi, scratch):
    """Features of the labels given less those of the path, where they differ; how many features do."""
    _, start, attribute, value, codes = sequences
    feature_start, label, has = features
    totals, pairs, touched, is_touched = scratch
    count = 0
    for t in range(lo, hi):
        if path[t] != codes[t]:
            for e in range(start[t], start[t + 1]):
                a = attribute[e]
                for f in range(feature_start[a], feature_start[a + 1]):
                    if label[f] == codes[t] or label[f] == path[t]:
                        totals[f] += value[e] if label[f] == codes[t] else -value[e]
                        if not is_touched[f]:
                            is_touched[f] = True
                            touched[count] = f
                            count += 1
        if t > lo and (path[t] != codes[t] or path[t - 1] != codes[t - 1]):
            pairs[codes[t - 1], codes[t]] += 1.0 if has[codes[t - 1], codes[t]] else 0.0
            pairs[path[t - 1], path[t]] -= 1.0 if has[path[t - 1], path[t]] else 0.0
    return count


@jit(error_model="numpy")
def _squared_length(count, spread, scratch):
    """The sum of squares of the differences, each times the variance of its weight."""
    totals, pairs, touched, _ = scratch
    states, transitions = spread
    found = 0.0
    for i in range(count):
        found += totals[touched[i]] ** 2 * states[touched[i]]
    for i in range(len(pairs)):
        for k in range(len(pairs)):
            found += pairs[i, k] ** 2 * transitions[i, k]
    return found


@jit(error_model="numpy")
def _move(count, weights, sums, spread, clock, step, rule, scratch):
    """Change the weights by the step times variance times difference; the scratch is zero again."""
    (state, transition), (state_sums, transition_sums), (states, transitions) = weights, sums, spread
    totals, pairs, touched, is_touched = scratch
    for i in range(count):
        f = touched[i]
        change = step * states[f] * totals[f]
        state[f] += change
        state_sums[f] += change * clock
        if rule.kind == AROW:
            states[f] = 1.0 / (1.0 / states[f] + totals[f] ** 2 / rule.gamma)
        totals[f], is_touched[f] = 0.0, False
    for i in range(len(pairs)):
        for k in range(len(pairs)):
            change = step * transitions[i, k] * pairs[i, k]
            transition[i, k] += change
            transition_sums[i, k] += change * clock
            if rule.kind == AROW:
                transitions[i, k] = 1.0 / (1.0 / transitions[i, k] + pairs[i, k] ** 2 / rule.gamma)
            pairs[i, k] = 0.0


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

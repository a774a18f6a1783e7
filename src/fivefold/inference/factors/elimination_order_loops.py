"""Compiled loops that choose elimination orders: greedily on rows of bits, exactly over subsets of variables."""

import numpy as np

from fivefold.core.compilation.jit import jit

MIN_FILL, MIN_WIDTH, WEIGHTED = 0, 1, 2


@jit(reference_counting=False)
def count_bits(word):
    """Ones of a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit(reference_counting=False)
def list_bits(words, row, found):
    """Positions of the ones of a row of words, into `found`; how many."""
    n = 0
    for w in range(words.shape[1]):
        word = words[row, w]
        while word:
            low = word & (~word + np.uint64(1))
            found[n] = 64 * w + count_bits(low - np.uint64(1))
            n += 1
            word ^= low
    return n


@jit(reference_counting=False)
def new_edges(words, row, around, degree):
    """Edges between the neighbours of a variable that are not there yet."""
    missing = 0
    for i in range(degree):
        for w in range(words.shape[1]):
            missing += count_bits(words[row, w] & ~words[around[i], w])
    return (missing - degree) // 2


@jit(reference_counting=False)
def score(words, log_cards, i, method, others, scores):
    """How costly it is to eliminate a variable now: two numbers, the second for ties."""
    degree = list_bits(words, i, others)
    fill, size = new_edges(words, i, others, degree), log_cards[i]
    for j in range(degree):
        size += log_cards[others[j]]
    scores[i, 0] = fill if method == MIN_FILL else degree if method == MIN_WIDTH else size
    scores[i, 1] = size if method == MIN_FILL else fill


@jit(reference_counting=False)
def join_neighbours(words, i, around, degree, others, touched):
    """Eliminate a variable: its neighbours become neighbours of each other. Mark those whose scores change."""
    simplicial = new_edges(words, i, around, degree) == 0
    for a in range(degree):
        j = around[a]
        touched[j] = True
        for w in range(words.shape[1]):
            words[j, w] |= words[i, w]
        words[j, j // 64] &= ~(np.uint64(1) << np.uint64(j % 64))
        words[j, i // 64] &= ~(np.uint64(1) << np.uint64(i % 64))
    if not simplicial:  # scores of neighbours of neighbours change only where edges were added
        for a in range(degree):
            for j in range(list_bits(words, around[a], others)):
                touched[others[j]] = True


@jit(reference_counting=False)
def greedy_order(words, log_cards, alive, method, order, touched, scores, around, others):
    """Variables that are `alive`, in the order of the smallest score, into `order`.

    `words` (n, n / 64) has bit j of row i set where i and j are neighbours; afterwards the row of an eliminated
    variable holds its neighbours at the time. The last four arrays are room for n entries, `scores` for two each.
    """
    n = len(words)
    for step in range(len(order)):
        best = -1
        for i in range(n):
            if not alive[i]:
                continue
            if touched[i]:
                score(words, log_cards, i, method, others, scores)
                touched[i] = False
            if (
                best < 0
                or scores[i, 0] < scores[best, 0]
                or (scores[i, 0] == scores[best, 0] and scores[i, 1] < scores[best, 1])
            ):
                best = i
        order[step], alive[best] = best, False
        degree = list_bits(words, best, around)
        join_neighbours(words, best, around, degree, others, touched)


@jit(reference_counting=False)
def reached(neighbours, gone, i):
    """Variables outside `gone` that i reaches by a path through `gone` only."""
    seen, ahead, found = np.uint64(1) << np.uint64(i), neighbours[i], np.uint64(0)
    while ahead:
        seen |= ahead
        found |= ahead & ~gone
        inner, ahead = ahead & gone, np.uint64(0)
        while inner:
            low = inner & (~inner + np.uint64(1))
            ahead |= neighbours[count_bits(low - np.uint64(1))]
            inner ^= low
        ahead &= ~seen
    return found & ~(np.uint64(1) << np.uint64(i))


@jit(reference_counting=False)
def table_size(clique, cards):
    """Cells of a table over a set of variables."""
    size = 1.0
    while clique:
        low = clique & (~clique + np.uint64(1))
        size *= cards[count_bits(low - np.uint64(1))]
        clique ^= low
    return size


@jit(reference_counting=False)
def exact_order(neighbours, cards, free, limit, cost, last, order):
    """The cheapest order among those of width at most `limit`, by its total cells; whether there is one.

    After a set of variables is gone, the neighbours of another depend on the set, not on the order within it: the best
    order of a set ends with some variable, after the best order of the rest. `cost`, of which only the first is finite,
    and `last` have room for every set.
    """
    n = len(free)
    for chosen in range((1 << n) - 1):
        if cost[chosen] == np.inf:
            continue
        gone = np.uint64(0)
        for j in range(n):
            if chosen >> j & 1:
                gone |= np.uint64(1) << np.uint64(free[j])
        for j in range(n):
            if chosen >> j & 1:
                continue
            clique = reached(neighbours, gone, free[j])
            if count_bits(clique) > limit:
                continue
            total = cost[chosen] + table_size(clique | np.uint64(1) << np.uint64(free[j]), cards)
            after = chosen | 1 << j
            if total < cost[after]:
                cost[after], last[after] = total, j
    chosen = (1 << n) - 1
    if cost[chosen] == np.inf:
        return False
    for step in range(n):
        order[n - 1 - step] = free[last[chosen]]
        chosen ^= 1 << last[chosen]
    return True

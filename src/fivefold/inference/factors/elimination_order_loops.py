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


@jit
def greedy_order(words, log_cards, free, method):
    """Variables in the order of the smallest score, with their neighbours at the time: order, starts, members.

    `words` (n, n / 64) has bit j of row i set where i and j are neighbours; it is used up.
    """
    n = len(words)
    first, second = np.full(n, np.inf), np.full(n, np.inf)
    around, others = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    touched = free.copy()
    steps = free.sum()
    order, starts = np.empty(steps, dtype=np.int64), np.zeros(steps + 1, dtype=np.int64)
    members = np.empty(max(8 * n, 64), dtype=np.int64)
    alive = free.copy()
    for step in range(steps):
        for i in range(n):
            if touched[i] and alive[i]:
                degree = list_bits(words, i, others)
                fill = float(new_edges(words, i, others, degree))
                size = log_cards[i]
                for j in range(degree):
                    size += log_cards[others[j]]
                first[i] = fill if method == MIN_FILL else float(degree) if method == MIN_WIDTH else size
                second[i] = size if method == MIN_FILL else fill
        best = -1
        for i in range(n):
            if alive[i] and (
                best < 0 or first[i] < first[best] or (first[i] == first[best] and second[i] < second[best])
            ):
                best = i
        degree = list_bits(words, best, around)
        if starts[step] + degree > len(members):
            longer = np.empty(2 * len(members) + n, dtype=np.int64)
            longer[: starts[step]] = members[: starts[step]]
            members = longer
        members[starts[step] : starts[step] + degree] = around[:degree]
        order[step], starts[step + 1], alive[best] = best, starts[step] + degree, False
        touched[:] = False
        simplicial = new_edges(words, best, around, degree) == 0
        for a in range(degree):
            i = around[a]
            touched[i] = True
            for w in range(words.shape[1]):
                words[i, w] |= words[best, w]
            words[i, i // 64] &= ~(np.uint64(1) << np.uint64(i % 64))
            words[i, best // 64] &= ~(np.uint64(1) << np.uint64(best % 64))
        if not simplicial:  # scores of neighbours of neighbours change only where edges were added
            for a in range(degree):
                for j in range(list_bits(words, around[a], others)):
                    touched[others[j]] = True
    return order, starts, members[: starts[steps]]


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


@jit
def exact_order(neighbours, cards, free, limit):
    """The cheapest order among those of width at most `limit`, by its total cells; the first entry is -1 if none is.

    After a set of variables is gone, the neighbours of another depend on the set, not on the order within it: the best
    order of a set ends with some variable, after the best order of the rest.
    """
    n = len(free)
    cost = np.full(1 << n, np.inf)
    last = np.full(1 << n, -1, dtype=np.int8)
    cost[0] = 0.0
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
    order = np.full(n, -1, dtype=np.int64)
    chosen = (1 << n) - 1
    for step in range(n):
        if last[chosen] < 0:
            order[0] = -1
            return order
        order[n - 1 - step] = free[last[chosen]]
        chosen ^= 1 << last[chosen]
    return order

"""Compiled loops over pairs of sequences of whole numbers: one sequence beside all from `start` on."""

import numpy as np

from fivefold.core.compilation.jit import jit

WORD_BITS = 64  # letters of a sequence that one machine word compares at once


@jit(error_model="numpy")
def subsequence_row(codes, offsets, i, start, length, decay, work, out):
    """out[j]: sum over common subsequences of sequences i and start + j, by dynamic programming over their prefixes."""
    a, n = offsets[i], offsets[i + 1] - offsets[i]
    squared = decay * decay
    for j in range(len(out)):
        b = offsets[start + j]
        m = offsets[start + j + 1] - b
        before, after = work[0], work[1]
        for p in range(n + 1):
            for q in range(m + 1):
                before[p, q] = 1.0
        for _ in range(length - 1):
            for q in range(m + 1):
                after[0, q] = 0.0
            for p in range(n):
                after[p + 1, 0] = 0.0
                inner = 0.0
                for q in range(m):
                    inner *= decay
                    if codes[a + p] == codes[b + q]:
                        inner += squared * before[p, q]
                    after[p + 1, q + 1] = decay * after[p, q + 1] + inner
            before, after = after, before
        total = 0.0
        for p in range(n):
            for q in range(m):
                if codes[a + p] == codes[b + q]:
                    total += before[p, q]
        out[j] = squared * total


@jit(error_model="numpy")
def edit_row(codes, offsets, i, start, places, up, down, out):
    """out[j]: edit distance of sequences i and start + j, a column of differences as bits (Myers, 1999; Hyyro, 2003).

    `places` (letters, words) is zero before and after; `up` and `down` are work of as many words.
    """
    one, zero = np.uint64(1), np.uint64(0)
    a, m = offsets[i], offsets[i + 1] - offsets[i]
    words = (m + WORD_BITS - 1) // WORD_BITS
    for p in range(m):
        places[codes[a + p], p // WORD_BITS] |= one << np.uint64(p % WORD_BITS)
    last = one << np.uint64((m - 1) % WORD_BITS)
    top = np.uint64(WORD_BITS - 1)
    for j in range(len(out)):
        b = offsets[start + j]
        n = offsets[start + j + 1] - b
        if m == 0:
            out[j] = n
            continue
        for w in range(words):
            up[w] = ~zero
            down[w] = zero
        score = m
        for q in range(n):
            letter = codes[b + q]
            rises, falls = one, zero
            for w in range(words):
                equal = places[letter, w]
                u, d = up[w], down[w]
                vertical = equal | d
                equal = equal | falls
                horizontal = (((equal & u) + u) ^ u) | equal
                rise = d | ~(horizontal | u)
                fall = u & horizontal
                if w == words - 1:
                    if rise & last:
                        score += 1
                    if fall & last:
                        score -= 1
                next_rises, next_falls = rise >> top, fall >> top
                rise = (rise << one) | rises
                fall = (fall << one) | falls
                up[w] = fall | ~(vertical | rise)
                down[w] = rise & vertical
                rises, falls = next_rises, next_falls
        out[j] = score
    for p in range(m):
        places[codes[a + p], p // WORD_BITS] = zero


@jit(error_model="numpy")
def alignment_row(codes, offsets, i, start, match, mismatch, gap, local, work, out):
    """out[j]: best score of an alignment of sequences i and start + j, of the whole or of any parts."""
    a, n = offsets[i], offsets[i + 1] - offsets[i]
    for j in range(len(out)):
        b = offsets[start + j]
        m = offsets[start + j + 1] - b
        best = 0.0
        for q in range(m + 1):
            work[q] = 0.0 if local else gap * q
        for p in range(n):
            diagonal = work[0]
            work[0] = 0.0 if local else gap * (p + 1)
            for q in range(m):
                value = diagonal + (match if codes[a + p] == codes[b + q] else mismatch)
                diagonal = work[q + 1]
                value = max(value, diagonal + gap, work[q] + gap)
                if local:
                    value = max(value, 0.0)
                    best = max(best, value)
                work[q + 1] = value
        out[j] = best if local else work[m]

"""Compiled loop over pairs of graphs: walks of their product graph."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def walk_row(offsets, labels, starts, targets, i, first, decay, steps, work, out):
    """out[j]: sum over walks with equal labels in graphs i and first + j of decay ** steps."""
    a = offsets[i]
    n = offsets[i + 1] - a
    ends, half, now = work[0], work[1], work[2]
    for j in range(len(out)):
        b = offsets[first + j]
        m = offsets[first + j + 1] - b
        total = 0.0
        for u in range(n):
            for v in range(m):
                now[u, v] = 1.0 if labels[a + u] == labels[b + v] else 0.0
                total += now[u, v]
        for _ in range(steps):
            for u in range(n):  # a step in the first graph
                for v in range(m):
                    half[u, v] = 0.0
                for e in range(starts[a + u], starts[a + u + 1]):
                    w = targets[e] - a
                    for v in range(m):
                        half[u, v] += now[w, v]
            for u in range(n):  # a step in the second, and equal labels where both arrive
                for v in range(m):
                    value = 0.0
                    if labels[a + u] == labels[b + v]:
                        for e in range(starts[b + v], starts[b + v + 1]):
                            value += half[u, targets[e] - b]
                    ends[u, v] = decay * value
            for u in range(n):
                for v in range(m):
                    now[u, v] = ends[u, v]
                    total += now[u, v]
        out[j] = total

"""Compiled loops over the tree of merges."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def name_nodes(merges, heights, order, parent, name, size, Z):
    """Fill Z (n - 1, 4): the clusters that merge, smaller number first, height and rows, in this order of the merges.

    `parent`, `name` and `size` (n,) begin as each row alone; clusters are found by following parents, with shorter ways
    for the next time.
    """
    n = len(parent)
    for i in range(len(order)):
        a, b = merges[order[i], 0], merges[order[i], 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if size[a] < size[b]:
            a, b = b, a
        Z[i, 0], Z[i, 1] = min(name[a], name[b]), max(name[a], name[b])
        Z[i, 2], Z[i, 3] = heights[order[i]], size[a] + size[b]
        parent[b], name[a] = a, n + i
        size[a] += size[b]


@jit(error_model="numpy")
def spread_labels(children, labels, n):
    """Give every leaf the label of its highest ancestor that has one; labels (nodes,) are -1 where there is none."""
    for i in range(len(children) - 1, -1, -1):
        if labels[n + i] >= 0:
            labels[children[i, 0]] = labels[children[i, 1]] = labels[n + i]

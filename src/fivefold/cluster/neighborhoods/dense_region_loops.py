"""Compiled loops that link dense rows, from lists of neighbours or down a tree of rows."""

from fivefold.cluster.neighborhoods.disjoint_set_loops import find_root, join_sets
from fivefold.core.compilation.jit import jit
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.tree_search_loops import node_bound

MIXED, EMPTY = -1, -2  # what is known of the dense rows of a node: they may be of several sets; there is none


@jit(error_model="numpy")
def weigh_listed(indptr, rows, w, mass):
    """The weight of the neighbours of each query."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            total += w[rows[t]]
        mass[i] = total


@jit(error_model="numpy")
def link_listed(first, indptr, rows, core, parent):
    """Join dense rows with dense neighbours; the queries are rows first, first + 1, and so on."""
    for i in range(len(indptr) - 1):
        if core[first + i]:
            for t in range(indptr[i], indptr[i + 1]):
                if core[rows[t]]:
                    join_sets(parent, first + i, rows[t])


@jit(error_model="numpy")
def lowest_listed(first, indptr, rows, core, labels):
    """Give a row that is not dense the lowest label of its dense neighbours, if any."""
    for i in range(len(indptr) - 1):
        if not core[first + i]:
            lowest = -1
            for t in range(indptr[i], indptr[i + 1]):
                if core[rows[t]] and (lowest < 0 or labels[rows[t]] < lowest):
                    lowest = labels[rows[t]]
            labels[first + i] = lowest


@jit(error_model="numpy", reference_counting=False)
def mark_dense_in_tree(rule, tree, Q, limit, w, least, work, stack, core):
    """Which queries have rows of at least this weight within the limit; near leaves first, and no more than needed."""
    inner = len(tree.ends) - len(tree.Z)
    for i in range(len(Q)):
        q, total, size, stack[0] = Q[i], 0.0, 1, 0
        while size > 0 and total < least:
            size -= 1
            node = stack[size]
            if node_bound(rule, tree, q, node, work) > limit:
                continue
            if node < inner:
                near = 2 * node + 1
                one, two = node_bound(rule, tree, q, near, work), node_bound(rule, tree, q, near + 1, work)
                stack[size], stack[size + 1] = (near + 1, near) if one <= two else (near, near + 1)
                size += 2
                continue
            leaf, m = node - inner, tree.ends[node, 1] - tree.ends[node, 0]
            panel_distances(rule, q, tree.Z[leaf], m, work)
            for t in range(m):
                if work[t] <= limit:
                    total += w[tree.ids[leaf, t]]
        core[i] = total >= least


@jit(error_model="numpy")
def _set_of_leaf(tree, leaf, m, core, parent):
    """A dense row of the leaf if all of them are in one set; MIXED, or EMPTY if there is none."""
    found = EMPTY
    for t in range(m):
        row = tree.ids[leaf, t]
        if core[row]:
            if found == EMPTY:
                found = find_root(parent, row)
            elif find_root(parent, row) != found:
                return MIXED
    return found


@jit(error_model="numpy", reference_counting=False)
def link_in_tree(rule, tree, Q, order, limit, core, work, stack, whole, parent):
    """Join dense rows at a reduced distance of at most `limit`.

    whole (nodes,): a dense row of each node whose dense rows are known to be in one set. The node is passed over by
    rows of that set, so that in dense places few distances are taken.
    """
    inner = len(tree.ends) - len(tree.Z)
    for node in range(len(tree.ends) - 1, -1, -1):
        if node < inner:
            whole[node] = EMPTY if whole[2 * node + 1] == EMPTY and whole[2 * node + 2] == EMPTY else MIXED
        else:
            m = tree.ends[node, 1] - tree.ends[node, 0]
            whole[node] = _set_of_leaf(tree, node - inner, m, core, parent)
    for i in order:
        if not core[i]:
            continue
        q, size, stack[0] = Q[i], 1, 0
        while size > 0:
            size -= 1
            node = stack[size]
            if node < inner and whole[node] == MIXED:
                one, two = whole[2 * node + 1], whole[2 * node + 2]
                if one == EMPTY or two == EMPTY:
                    whole[node] = max(one, two)
                elif one >= 0 and two >= 0 and find_root(parent, one) == find_root(parent, two):
                    whole[node] = one
            if whole[node] == EMPTY or (whole[node] >= 0 and find_root(parent, whole[node]) == find_root(parent, i)):
                continue
            if node_bound(rule, tree, q, node, work) > limit:
                continue
            if node < inner:
                stack[size], stack[size + 1] = 2 * node + 2, 2 * node + 1
                size += 2
                continue
            leaf, m = node - inner, tree.ends[node, 1] - tree.ends[node, 0]
            panel_distances(rule, q, tree.Z[leaf], m, work)
            for t in range(m):
                row = tree.ids[leaf, t]
                if work[t] <= limit and core[row]:
                    join_sets(parent, i, row)
                    if whole[node] >= 0:  # one of them is enough
                        break
            if whole[node] == MIXED:
                whole[node] = _set_of_leaf(tree, leaf, m, core, parent)


@jit(error_model="numpy", reference_counting=False)
def lowest_in_tree(rule, tree, Q, limit, core, work, stack, start, labels):
    """Give rows start..start + len(Q) that are not dense the lowest label of dense rows within the limit, if any."""
    inner = len(tree.ends) - len(tree.Z)
    for i in range(len(Q)):
        if core[start + i]:
            continue
        q, lowest, size, stack[0] = Q[i], -1, 1, 0
        while size > 0:
            size -= 1
            node = stack[size]
            if node_bound(rule, tree, q, node, work) > limit:
                continue
            if node < inner:
                stack[size], stack[size + 1] = 2 * node + 2, 2 * node + 1
                size += 2
                continue
            leaf, m = node - inner, tree.ends[node, 1] - tree.ends[node, 0]
            panel_distances(rule, q, tree.Z[leaf], m, work)
            for t in range(m):
                row = tree.ids[leaf, t]
                if work[t] <= limit and core[row] and (lowest < 0 or labels[row] < lowest):
                    lowest = labels[row]
        labels[start + i] = lowest


@jit(error_model="numpy")
def number_sets(parent, core, labels):
    """Labels of dense rows: their sets, numbered in the order of their first rows; -1 for the others."""
    count = 0
    for i in range(len(parent)):
        labels[i] = -1
        if core[i]:
            root = find_root(parent, i)
            if root == i:  # the first row of its set
                labels[i] = count
                count += 1
            else:
                labels[i] = labels[root]

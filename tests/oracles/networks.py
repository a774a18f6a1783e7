"""Slow and obvious computations on small networks: paths one by one, all graphs, sums over all assignments."""

from itertools import combinations, permutations, product

import numpy as np

from fivefold.graphical import BayesianNetwork, DirectedGraph


def simple_paths(graph, a, b):
    """All paths between two nodes, as numbers, without regard to directions."""
    neighbours = graph.skeleton().neighbours

    def walk(path):
        if path[-1] == b:
            yield path
            return
        for node in sorted(neighbours[path[-1]] - set(path)):
            yield from walk([*path, node])

    return walk([a])


def blocked(graph, path, given):
    """Is a path blocked, by the definition?"""
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        if before in graph.parents[node] and after in graph.parents[node]:
            below = {node, *graph.indices(graph.descendants(graph.nodes[node]))}
            if not below & given:
                return True
        elif node in given:
            return True
    return False


def separated_by_paths(graph, a, b, given):
    at, other, observed = graph.index(a), graph.index(b), set(graph.indices(given))
    return all(blocked(graph, path, observed) for path in simple_paths(graph, at, other))


def all_graphs(n):
    """All directed acyclic graphs of n nodes."""
    names = "abcdef"[:n]
    pairs = list(combinations(range(n), 2))
    for ways in product((0, 1, 2), repeat=len(pairs)):
        edges = [(i, j) if way == 1 else (j, i) for (i, j), way in zip(pairs, ways, strict=True) if way]
        if any(all(order.index(i) < order.index(j) for i, j in edges) for order in map(list, permutations(range(n)))):
            yield DirectedGraph.from_edges([(names[i], names[j]) for i, j in edges], names)


def random_network(seed, nodes=6, max_parents=3, max_states=3):
    """A network with random edges, numbers of states and tables; its order of nodes is no topological one."""
    rng = np.random.RandomState(seed)
    order, cards = rng.permutation(nodes), rng.randint(2, max_states + 1, nodes)
    tables, parents = {}, {}
    for position, i in enumerate(order):
        count = rng.randint(0, min(position, max_parents) + 1)
        above = rng.permutation(order[:position])[:count]
        parents[f"v{i}"] = [f"v{p}" for p in above]
        tables[f"v{i}"] = rng.dirichlet(np.ones(cards[i]), size=tuple(cards[above]))
    return BayesianNetwork.from_tables({name: tables[name] for name in sorted(tables)}, parents)


def tables_for(graph, seed):
    """A network of binary nodes along a graph, with random tables away from 0 and 1."""
    rng = np.random.RandomState(seed)
    tables = [rng.dirichlet((2.0, 2.0), size=(2,) * len(parents)) for parents in graph.parents]
    parents = {name: [graph.nodes[p] for p in graph.parents[i]] for i, name in enumerate(graph.nodes)}
    return BayesianNetwork.from_tables(dict(zip(graph.nodes, tables, strict=True)), parents)

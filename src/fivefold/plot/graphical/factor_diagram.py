"""Factor graphs with square factors, junction trees with separators in boxes, and random fields with their data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.factor_graph import FactorGraph
from fivefold.inference.factors.clique_tree import CliqueTree
from fivefold.plot.graphical.network_diagram import diagram_axes, draw_edge, draw_node
from fivefold.plot.graphical.node_layout import by_forces, layered
from fivefold.plot.style import GREY, INK, LIGHT_GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def factor_graph(
    model: DiscreteModel,
    *,
    observed: Iterable[str] = (),
    places: Mapping[str, tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Variables in ovals, factors as squares, and a line from each factor to each of its variables."""
    graph = model if isinstance(model, FactorGraph) else FactorGraph.from_model(model)
    names, n = graph.variables.nodes, len(graph.variables.nodes)
    at = by_forces(n + len(graph.potentials), [(n + k, i) for k, i in graph.links])
    place = dict(zip([*names, *(f"[{name}]" for name in graph.names)], map(tuple, at.tolist()), strict=True))
    place |= dict(places or {})
    ax = diagram_axes(place.values(), ax)
    seen = set(observed)
    ovals = [
        draw_node(ax, name, place[name], LIGHT_GREY if name in seen else "white", "node", gid=f"node:{name}")
        for name in names
    ]
    squares = [draw_node(ax, " ", place[f"[{name}]"], INK, "box", gid=f"factor:{name}") for name in graph.names]
    for k, i in graph.links:
        draw_edge(ax, squares[k], ovals[i], arrow=False, gid=f"edge:{graph.names[k]}-{names[i]}")
    return ax


def junction_tree(model: DiscreteModel | CliqueTree, *, names: Sequence[str] = (), ax: Axes | None = None) -> Axes:
    """Cliques in ovals, joined through boxes that hold what two cliques share."""
    if isinstance(model, DiscreteModel):
        names, tree = model.variables.nodes, model.junction_tree.tree
    else:
        tree = model
        names = names or [str(i) for i in range(1 + max((v for c in tree.cliques for v in c), default=0))]
    above = [() if parent < 0 else (parent,) for parent in tree.parents]
    at = layered(above, range(len(above))) * (1.9, 1.6)
    ax = diagram_axes(at, ax)
    ovals = [
        draw_node(ax, _label(clique, names), place, "white", "node", gid=f"clique:{k}")
        for k, (clique, place) in enumerate(zip(tree.cliques, at, strict=True))
    ]
    for k, (parent, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        if parent >= 0:
            middle = (at[k] + at[parent]) / 2
            box = draw_node(ax, _label(separator, names) or "∅", middle, LIGHT_GREY, "box", gid=f"separator:{k}")
            draw_edge(ax, ovals[parent], box, arrow=False, gid=f"edge:{parent}-{k}")
            draw_edge(ax, box, ovals[k], arrow=False, gid=f"edge:{k}-{parent}")
    return ax


def random_field(
    edges: Iterable[tuple[int, int]],
    places: Doubles | Sequence[Sequence[float]],
    *,
    labels: Sequence[Any] = (),
    ax: Axes | None = None,
) -> Axes:
    """A field of hidden variables with their data: circles, each linked to a black dot, and lines between circles.

    `places` (n, 2) are those of the circles; `labels` stand in them; an edge is a pair of numbers of circles.
    """
    at = np.asarray(places, dtype=np.float64)
    dots = at + 0.32
    ax = diagram_axes([*at, *dots], ax)
    pairs = list(edges)
    for a, b in pairs:
        (line,) = ax.plot(*at[[a, b]].T, color=GREY, lw=1.1, zorder=1)
        line.set_gid(f"edge:{a}-{b}")
    for i, (circle, dot) in enumerate(zip(at, dots, strict=True)):
        (link,) = ax.plot(*np.stack([circle, dot]).T, color=GREY, lw=1.1, zorder=1)
        link.set_gid(f"data:{i}")
    ax.scatter(at[:, 0], at[:, 1], s=260, facecolor="white", edgecolor=INK, zorder=2).set_gid("hidden")
    ax.scatter(dots[:, 0], dots[:, 1], s=36, color=INK, zorder=2).set_gid("observed")
    for label, (x, y) in zip(labels, at, strict=False):
        ax.text(x, y, str(label), ha="center", va="center", fontsize=8, color=INK, zorder=3)
    return ax


def random_field_text(edges: Iterable[tuple[int, int]], n: int) -> str:
    """The same field as lines for a terminal: a hidden variable (o), its datum (*), and its neighbours.

    Examples
    --------
    >>> print(random_field_text([(0, 1), (1, 2)], 3))
    o0 - *0; o1
    o1 - *1; o0, o2
    o2 - *2; o1
    """
    joined: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        joined[a].append(b)
        joined[b].append(a)
    return "\n".join(f"o{i} - *{i}; {', '.join(f'o{j}' for j in sorted(joined[i]))}" for i in range(n))


def _label(variables: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(names[v] for v in variables)

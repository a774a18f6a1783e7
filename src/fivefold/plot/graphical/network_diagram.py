"""Networks as pictures: arrows where edges have directions, lines where not, observed nodes grey, plates around groups.

Every part has a name (`gid`): node:rain, edge:rain->wet, edge:a-b, plate:N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.graphs.d_separation import ActivePath
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph
from fivefold.graphical.linear_gaussian_network import LinearGaussianNetwork
from fivefold.plot.graphical.node_layout import by_forces, layered
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

Graph: TypeAlias = DirectedGraph | UndirectedGraph | PartiallyDirectedGraph
NODE_SIZE = 9.0  # of the text, in points
BLANKET_COLOUR, CENTRE_COLOUR = "#CFE3F1", "#F6D9C7"  # light shades of the first two colours of the house


def network(
    graph: Graph | DiscreteModel | LinearGaussianNetwork,
    *,
    highlighted: str | None = None,
    path: ActivePath | None = None,
    observed: Iterable[str] = (),
    plates: Mapping[str, Sequence[str]] | None = None,
    places: Mapping[str, tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Nodes and edges of a graph, or of a network.

    `highlighted` is a node whose Markov blanket is coloured; edges of `path` are thick; `observed` nodes are grey.
    `plates` are labels, such as N, with the nodes that are repeated this many times. `places` moves nodes.
    """
    drawn = graph.graph if hasattr(graph, "graph") else graph
    if not isinstance(drawn, DirectedGraph | UndirectedGraph | PartiallyDirectedGraph):
        raise TypeError(f"a graph or a network is drawn; got a {type(graph).__name__}")
    place = dict(zip(drawn.nodes, map(tuple, _places(drawn).tolist()), strict=True)) | dict(places or {})
    ax = diagram_axes(place.values(), ax)
    shade = _shades(drawn, highlighted, set(observed))
    texts = {name: draw_node(ax, name, place[name], shade[name], "node", gid=f"node:{name}") for name in drawn.nodes}
    thick = {frozenset(pair) for pair in pairwise(path.nodes)} if path else set()
    for a, b, arrow in _edges(drawn):
        gid = f"edge:{a}{'->' if arrow else '-'}{b}"
        draw_edge(ax, texts[a], texts[b], arrow=arrow, thick=frozenset((a, b)) in thick, gid=gid)
    for label, members in (plates or {}).items():
        _plate(ax, label, np.array([place[name] for name in members]))
    return ax


def diagram_axes(places: Iterable[Sequence[float]], ax: Axes | None) -> Axes:
    """Empty axes that hold these places with a margin."""
    at = np.array(list(places) or [(0.0, 0.0)])
    low, high = at.min(axis=0) - 0.6, at.max(axis=0) + 0.6
    if ax is None:
        import matplotlib.pyplot as plt

        size = np.clip((high - low) * (1.15, 0.85), (3.0, 2.2), (16.0, 12.0))
        _, ax = plt.subplots(figsize=tuple(size), layout="constrained")
    ax.set_axis_off()
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    return ax


def draw_node(ax: Axes, label: str, place: Sequence[float], fill: str, shape: str, *, gid: str) -> Text:
    """A label in an oval (`node`), or in a box (`box`)."""
    style = "round,pad=0.45,rounding_size=0.7" if shape == "node" else "square,pad=0.35"
    box = {"boxstyle": style, "facecolor": fill, "edgecolor": INK, "linewidth": 0.9}
    drawn = ax.text(
        place[0], place[1], label, ha="center", va="center", fontsize=NODE_SIZE, color=INK, bbox=box, zorder=2
    )
    drawn.set_gid(gid)
    return drawn


def draw_edge(ax: Axes, start: Text, end: Text, *, arrow: bool, thick: bool = False, gid: str) -> None:
    """An arrow or a line between two nodes, cut off at their outlines."""
    line = {"color": COLOURS[1] if thick else GREY, "linewidth": 2.4 if thick else 1.1}
    props = {
        "arrowstyle": "-|>,head_width=0.25,head_length=0.5" if arrow else "-",
        "patchA": start.get_bbox_patch(),
        "patchB": end.get_bbox_patch(),
        "shrinkA": 0.0,
        "shrinkB": 1.0,
        **line,
    }
    # Above the nodes, because the outlines at which it is cut are known once they have been drawn.
    edge = ax.annotate("", end.get_position(), start.get_position(), arrowprops=props, zorder=3)
    edge.set_gid(gid)


def _places(graph: Graph) -> Doubles:
    if isinstance(graph, DirectedGraph):
        return layered(graph.parents, graph.order)
    if isinstance(graph, PartiallyDirectedGraph):
        try:
            member = graph.extension()
            return layered(member.parents, member.order)
        except ValueError:
            return by_forces(len(graph.nodes), graph.directed | graph.undirected)
    return by_forces(len(graph.nodes), graph.edges)


def _edges(graph: Graph) -> list[tuple[str, str, bool]]:
    """Both ends, and whether it is an arrow."""
    if isinstance(graph, PartiallyDirectedGraph):
        edges = [(a, b, True) for a, b in sorted(graph.directed)] + [(a, b, False) for a, b in sorted(graph.undirected)]
    else:
        edges = [(a, b, isinstance(graph, DirectedGraph)) for a, b in sorted(graph.edges)]
    return [(graph.nodes[a], graph.nodes[b], arrow) for a, b, arrow in edges]


def _shades(graph: Graph, highlighted: str | None, observed: set[str]) -> dict[str, str]:
    shade = {name: LIGHT_GREY if name in observed else "white" for name in graph.nodes}
    if highlighted is not None:
        if isinstance(graph, PartiallyDirectedGraph):
            raise ValueError("an equivalence class has no Markov blanket; draw one of its members")
        shade |= dict.fromkeys(graph.markov_blanket(highlighted), BLANKET_COLOUR) | {highlighted: CENTRE_COLOUR}
    return shade


def _plate(ax: Axes, label: str, members: Doubles) -> None:
    from matplotlib.patches import FancyBboxPatch

    margin = np.array([0.45, 0.38])
    low, high = members.min(axis=0) - margin, members.max(axis=0) + margin
    plate = FancyBboxPatch(
        (low[0], low[1]),
        high[0] - low[0],
        high[1] - low[1],
        boxstyle="round,pad=0.0,rounding_size=0.08",
        fill=False,
        edgecolor=GREY,
        zorder=1,
    )
    plate.set_gid(f"plate:{label}")
    ax.add_patch(plate)
    ax.text(high[0] - 0.06, low[1] + 0.05, label, ha="right", va="bottom", fontsize=NODE_SIZE - 1, color=GREY)

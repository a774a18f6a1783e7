"""Classifiers that are Bayesian networks over the class and the columns, numbers cut into bins.

    p(y | x) proportional to p(y | parents of y) prod_j p(x_j | parents of x_j)

In naive Bayes the class is the only parent of every column. A tree-augmented network gives each column one more
parent, so that the columns form the tree with the largest conditional mutual information given the class; a
k-dependence network gives up to k more. Hill climbing learns the whole network, of which the Markov blanket of the
class decides. A row of a table is smoothed towards that with one parent less:

    p(x | u_1 .. u_m) = (N(x, u_1 .. u_m) + alpha p(x | u_1 .. u_m-1)) / (N(u_1 .. u_m) + alpha)

down to the uniform distribution, the class being the first parent. Missing values are summed out: exactly, by leaving
factors out where that is enough, otherwise by the junction tree of the network.

Friedman, Geiger & Goldszmidt (1997); Sahami (1996).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Range
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.array_checks import check_indices, check_lengths
from fivefold.core.types import Codes, Doubles, Matrix, Table, Target, Vector, Weights
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.class_score_loops import add_family_logs
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.graphs.named_nodes import StoredFields
from fivefold.graphical.structure_learning.chow_liu import k_dependence, tree_augmented_naive_bayes
from fivefold.graphical.structure_learning.coded_table import CodedTable, unused_label
from fivefold.graphical.structure_learning.family_counts import family_table
from fivefold.graphical.structure_learning.hill_climbing import hill_climbing
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure
from fivefold.graphical.structure_learning.score_cache import FamilyScores
from fivefold.graphical.variables import MISSING, Variables
from fivefold.naive_bayes.base import BayesClassifier, ClassPrior
from fivefold.naive_bayes.categorical_nb import known_categories
from fivefold.partition.histograms.bins import MISSING_BIN, Bins, find_bins
from fivefold.partition.histograms.entropy_bins import entropy_bins

MAX_CATEGORY_BINS = 64  # levels of a category; the rarest of more share the last one
MAX_STEPS = 1000  # of hill climbing


@dataclass(frozen=True)
class NetworkModel(StoredFields, ClassPrior):
    """A network whose last variable is the class, and the bins that turn rows into its states."""

    bins: Bins
    network: BayesianNetwork
    prior: Vector  # (K,)

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a network of this many columns and the class."""
        network = self.network
        check_lengths(columns, self.bins.sizes)
        check_lengths(columns + 1, network.parents, network.tables, network.variables.cards)
        check_lengths(network.variables.cards[-1], self.prior)
        for several in network.parents:
            check_indices("parents", several, columns + 1)
        network.__post_init__()

    @cached_property
    def class_tables(self) -> tuple[tuple[Codes, Doubles], ...]:
        """For each family its columns without the class, and logarithms (configurations, K)."""
        y, found = len(self.network.parents) - 1, []
        for child, parents in enumerate(self.network.parents):
            scope = (*parents, child)
            with np.errstate(divide="ignore"):
                logs = np.log(self.network.tables[child])
            if y in scope:
                logs = np.moveaxis(logs, scope.index(y), -1)
            else:
                logs = np.repeat(logs[..., None], len(self.prior), axis=-1)
            columns = np.array([v for v in scope if v != y], dtype=np.int64)
            found.append((columns, np.ascontiguousarray(logs)))
        return tuple(found)

    def log_joint(self, X: Table) -> Doubles:
        """log p(known entries of x, y = k) of every row (n, K)."""
        codes = self.bins.codes(X)
        out = np.zeros((len(X), len(self.prior)))
        for columns, logs in self.class_tables:
            levels = np.array(logs.shape[:-1], dtype=np.int64)
            strides = np.array([int(np.prod(levels[a + 1 :])) for a in range(len(levels))], dtype=np.int64)
            add_family_logs(codes, columns, strides, levels, logs.reshape(-1, len(self.prior)), 0, out)
        if len(hidden := np.flatnonzero(self._hides_parents(codes))):
            out[hidden] = self._summed_out(codes[:, hidden])
        return out

    def _hides_parents(self, codes: Codes) -> Any:
        """In which rows is a parent missing whose child is known? Other factors of missing values sum to one."""
        known = codes < np.array(self.network.variables.cards[:-1])[:, None]
        found = np.zeros(codes.shape[1], dtype=bool)
        y = len(self.network.parents) - 1
        for child, parents in enumerate(self.network.parents):
            for parent in parents:
                if parent != y:
                    found |= ~known[parent] & (known[child] if child != y else True)
        return found

    def _summed_out(self, codes: Codes) -> Doubles:
        """The same by the junction tree, for rows with missing values."""
        network = self.network
        y = len(network.parents) - 1
        evidence = np.full((codes.shape[1], y + 1), MISSING, dtype=np.int64)
        known = codes.T < np.array(network.variables.cards[:-1])
        evidence[:, :y][known] = codes.T[known]
        found = network.junction_tree.load(network.factors()).calibrate_batch(evidence, impossible="nan")
        with np.errstate(divide="ignore"):
            joint = np.log(found.marginal(y)) + found.log_partition[:, None]
        return np.nan_to_num(joint, nan=-np.inf, neginf=-np.inf)


class BayesianNetworkClassifier(BayesClassifier):
    """Bayesian network over the class and the columns: naive, tree-augmented, k-dependence, or learned as a whole.

    Parameters
    ----------
    structure
        "naive": the class is the only parent; "tan": one more parent per column, a tree; "kdb": up to `max_parents`
        more; "hill_climbing": the network with the highest score that a climb with a tabu list finds.
    max_bins
        bins of a column of numbers: one per value if there are at most this many, otherwise bins of equal weight;
        "entropy": as many as tell the classes apart, by the description length of their cuts.
    alpha
        weight of the distribution with one parent less, in rows, in every row of a table.
    max_parents
        parents of a column besides the class ("kdb"), or of a variable in all ("hill_climbing").
    structure_score
        what hill climbing maximises.
    tabu
        how many of its last moves hill climbing may not undo.

    Attributes
    ----------
    network_
        the BayesianNetwork; its last variable is the class, and states of numbers are intervals.
    class_prior_, class_log_prior_
        class shares among the rows, and their logarithms.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.graphical import BayesianNetworkClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BayesianNetworkClassifier(structure="tan").fit(X, y)
    >>> model.network_.parents_of("petal length (cm)")
    ('class', 'sepal length (cm)')
    >>> round(model.score(X, y), 2)
    0.97
    """

    takes = Takes(missing=True, categories=True, huge=True)
    card = Card(
        applications=("classification", "data mining"),
        use="Tables of categories and numbers in which columns depend on each other within a class; a network that can "
        "be drawn and asked any question. Numbers are cut into bins, so smooth boundaries need many rows.",
        steps=(
            "Cut the columns of numbers into bins.",
            "Choose the parents of every column: the class, and columns that tell most about it given the class.",
            "Count states by those of the parents; smooth towards the table with one parent less.",
            "Multiply the entries of the tables for each class; sum over missing values; normalise over classes.",
        ),
        source="Friedman, Geiger & Goldszmidt (1997); Sahami (1996)",
        see_also=("CategoricalNB", "MixedNB"),
        variants=(
            {"structure": "naive", "alpha": 0.0},
            {"structure": "kdb", "max_bins": "entropy"},
            {"structure": "hill_climbing", "max_bins": 3, "structure_score": "bic"},
        ),
        search={"structure": ("naive", "tan", "kdb"), "max_bins": ("entropy", 10), "alpha": SearchRange(0.3, 30.0)},
        portfolio=True,
    )

    structure: Literal["naive", "tan", "kdb", "hill_climbing"] = "tan"
    _: KW_ONLY
    max_bins: Annotated[int, Range(2, MISSING_BIN)] | Literal["entropy"] = 5
    alpha: NonNegative = 2.0
    max_parents: Count = 2
    structure_score: Literal["bdeu", "bic", "aic", "k2"] = "bdeu"
    tabu: Index = 10

    network_ = learned("network")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        bins = self._bins(X, y, w)
        variables = self._variables(bins)
        codes = np.vstack([bins.codes(X), y[None].astype(np.int32)])
        sizes = np.array(variables.cards)[:, None]
        codes = np.where(codes < sizes, codes, sizes).astype(np.uint8 if sizes.max() < MISSING_BIN else np.int32)
        table = CodedTable(variables, np.ascontiguousarray(codes), np.asarray(w, dtype=np.float64))
        prior = np.bincount(y, w, len(self.classes_)) / w.sum()
        if self.structure == "hill_climbing":
            self.model_ = self._climb(table, bins, prior)
        else:
            self.model_ = self._model(table, bins, prior, self._augmented(table))

    def _augmented(self, table: CodedTable) -> DirectedGraph:
        """Naive Bayes, with further parents of the columns."""
        nodes = table.variables.nodes
        y = len(nodes) - 1
        if self.structure == "naive" or y < 2 or len(self.classes_) < 2:
            return DirectedGraph(nodes, (*((y,) for _ in range(y)), ()))
        if self.structure == "kdb":
            return k_dependence(table, nodes[y], self.max_parents).graph
        return tree_augmented_naive_bayes(table, nodes[y]).graph

    def _climb(self, table: CodedTable, bins: Bins, prior: Vector) -> NetworkModel:
        """The network that hill climbing finds; Ctrl-C keeps the best so far."""
        with fit_steps(self, "step", MAX_STEPS) as monitor:

            def watch(found: LearnedStructure, value: float) -> bool:
                return monitor(lambda: self._model(table, bins, prior, found.graph), value)

            scores = FamilyScores(table, self.structure_score)
            found = hill_climbing(
                scores, max_parents=self.max_parents, tabu=self.tabu, max_iter=MAX_STEPS, monitor=watch
            )
            if found.reason == "interrupted":
                warn_kept_best(self, len(found.history), "step")
        return self._model(table, bins, prior, found.graph)

    def _model(self, table: CodedTable, bins: Bins, prior: Vector, graph: DirectedGraph) -> NetworkModel:
        """The network with smoothed tables; the class is the first of the parents."""
        y = len(graph.nodes) - 1
        parents = tuple(tuple(sorted(several, key=lambda p: (p != y, p))) for several in graph.parents)
        tables = tuple(
            smoothed_table(family_table(table, child, several), 0.0 if child == y else self.alpha)
            for child, several in enumerate(parents)
        )
        return NetworkModel(bins, BayesianNetwork(table.variables, parents, tables), prior)

    def _joint_log_prob(self, X: Table) -> Matrix:
        return self.model_.log_joint(X)

    def _bins(self, X: Table, y: Codes, w: Weights) -> Bins:
        """Bins of numbers, at most `max_bins` or by entropy, and of categories, one per level."""
        d, rng = X.shape[1], check_random_state(0)  # edges come from a sample of very many rows
        is_category = np.isin(np.arange(d), list(known_categories(self)))
        edges: list[Any] = [None] * d
        place: list[Any] = [None] * d
        sizes = np.ones(d, dtype=np.int64)
        by_entropy = isinstance(self.max_bins, str)
        for kind, most in ((False, MISSING_BIN if by_entropy else int(self.max_bins)), (True, MAX_CATEGORY_BINS)):
            if len(columns := np.flatnonzero(is_category == kind)):
                found = find_bins(X[:, columns], w, most, is_category[columns], rng)
                for at, j in enumerate(columns):
                    edges[j], place[j], sizes[j] = found.edges[at], found.place[at], found.sizes[at]
        bins = Bins(tuple(edges), tuple(place), sizes, is_category)
        return entropy_bins(bins, X, y, w, len(self.classes_)) if by_entropy else bins

    def _variables(self, bins: Bins) -> Variables:
        """Names and states of the columns, and of the class as the last variable."""
        d = len(bins.sizes)
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(d)])]
        known = known_categories(self)
        states = [_state_labels(bins, j, known.get(j, ())) for j in range(d)]
        return Variables((*names, unused_label("class", names)), (*states, tuple(self.classes_.tolist())))


def smoothed_table(counts: Doubles, alpha: float) -> Doubles:
    """Shares along the last axis, each row smoothed by `alpha` rows of the table with one parent less.

    Where nothing was counted and alpha is zero the row is that of the table with one parent less.

    Examples
    --------
    >>> smoothed_table(np.array([[3.0, 1.0], [0.0, 0.0]]), 0.0)
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    share = np.full(counts.shape[-1], 1 / counts.shape[-1])
    for m in range(counts.ndim):
        some = counts.sum(axis=tuple(range(m, counts.ndim - 1)))
        total = some.sum(axis=-1, keepdims=True) + alpha
        below = np.broadcast_to(share[..., None, :] if m else share, some.shape)
        share = np.where(total > 0, (some + alpha * below) / np.where(total > 0, total, 1), below)
    return share


def _state_labels(bins: Bins, j: int, categories: tuple[Any, ...]) -> tuple[Any, ...]:
    """Intervals of numbers, or the levels of a category, of which the rarest may share the last state."""
    size, edges = int(bins.sizes[j]), bins.edges[j]
    if bins.categorical[j]:
        alone = {int(p): categories[int(v)] for v, p in zip(edges, bins.place[j], strict=True)}
        if len(edges) > size:
            alone[size - 1] = unused_label("others", categories)
        return tuple(alone[p] for p in range(size)) if alone else ("any",)
    texts = [f"{edge:.6g}" for edge in edges]
    if len(set(texts)) < len(texts):
        texts = [repr(float(edge)) for edge in edges]
    return (f"up to {texts[0]}", *(f"up to {text}" for text in texts[1:]), f"over {texts[-1]}") if texts else ("any",)

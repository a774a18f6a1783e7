"""Building a network with an expert: the steps, and what a finished one should be checked for."""

from __future__ import annotations

import numpy as np

from fivefold.graphical.assignments import assignment_text
from fivefold.graphical.bayesian_network import BayesianNetwork

STEPS = (
    "Work with someone who knows the domain; the network should say what that person would.",
    "Variables are things that can be observed, or that are to be predicted, with states that exclude each other.",
    "Draw edges from causes to effects: parents stay few, and tables are easy to fill.",
    "Give no state probability zero unless it is impossible by definition: no evidence can ever undo a zero.",
    "If there are data, learn the tables from them, with the expert's numbers as a prior, and test the structure.",
)
MANY_ROWS = 1000  # rows of a table that nobody fills by hand, and few data sets fill by counting


def network_warnings(network: BayesianNetwork) -> list[str]:
    """What a reader of a network should look at: zeros, tables too large to fill, variables that say nothing.

    Examples
    --------
    >>> network_warnings(BayesianNetwork.from_tables({"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.2, 0.8]]}, {"b": ["a"]}))
    ["table of 'b' gives probability 0 to b=1 given a=0: no evidence can change that, and Gibbs sampling may not mix"]
    """
    variables, found = network.variables, []
    for i, (name, table) in enumerate(zip(variables.nodes, network.tables, strict=True)):
        zeros = np.argwhere(table == 0)
        if len(zeros):
            *above, code = zeros[0]
            place = {variables.nodes[p]: variables.states[p][c] for p, c in zip(network.parents[i], above, strict=True)}
            given = f" given {assignment_text(place)}" if place else ""
            more = f" ({len(zeros) - 1:,} more like it)" if len(zeros) > 1 else ""
            found.append(
                f"table of {name!r} gives probability 0 to {name}={variables.states[i][code]}{given}{more}: "
                "no evidence can change that, and Gibbs sampling may not mix"
            )
        rows = table.size // table.shape[-1]
        if rows > MANY_ROWS:
            found.append(f"table of {name!r} has {rows:,} rows; fewer parents, or a noisy-or, are easier to fill")
        if table.shape[-1] == 1:
            found.append(f"variable {name!r} has one state only: it says nothing")
        elif network.parents[i] and np.ptp(table.reshape(rows, -1), axis=0).max() == 0:
            found.append(f"all rows of the table of {name!r} are equal: it does not depend on its parents")
    return found

"""`fivefold network`: learn a Bayesian network from a table, ask it, show it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from fivefold.cli.options import (
    COLUMN_OPTION,
    HEADER_OPTION,
    JSON_OPTION,
    Console,
    print_note,
    refuse,
    show_json,
    with_refusals,
)

if TYPE_CHECKING:
    from fivefold.graphical.bayesian_network import BayesianNetwork
    from fivefold.graphical.discrete_model import DiscreteModel, Via

NETWORK_ARGUMENT = Annotated[Path, typer.Argument(help="A network file: .bif, .xmlbif or .uai.")]

network = typer.Typer(help="Bayesian networks: learn one from a table, ask it, show it.", no_args_is_help=True)


@network.command()
@with_refusals
def learn(
    data: Annotated[Path, typer.Argument(help="A table; numbers of many values are cut into intervals.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .bif, .xmlbif or .uai.")] = Path(
        "network.bif"
    ),
    structure: Annotated[
        Path | None, typer.Option(help="A network file whose structure and states to keep; only tables are learned.")
    ] = None,
    search: Annotated[str, typer.Option(help="hill_climbing, chow_liu or pc.")] = "hill_climbing",
    score: Annotated[str, typer.Option(help="What hill climbing maximises: bdeu, bic, aic, k2.")] = "bdeu",
    max_parents: Annotated[int | None, typer.Option(min=1, help="Parents that a variable may have.")] = None,
    prior: Annotated[float, typer.Option(min=0, help="Imaginary rows, spread evenly over each table.")] = 1.0,
    bins: Annotated[int, typer.Option(min=2, help="Intervals that numbers of many values are cut into.")] = 4,
    column: COLUMN_OPTION = None,
    header: HEADER_OPTION = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same network.")] = 0,
    as_json: JSON_OPTION = False,
) -> None:
    """Learn a network from a table, and write it to a file."""
    from fivefold.cli.progress_bar import activity
    from fivefold.cli.study_session import parse_kinds
    from fivefold.graphical import fit_tables, read_network, write_network
    from fivefold.graphical.bayesian_network import BayesianNetwork
    from fivefold.study.tables.discrete_states import read_states

    try:
        with activity(f"learning a network from {data}"):
            known = read_network(structure) if structure is not None else None
            if known is not None and not isinstance(known, BayesianNetwork):
                refuse(f"{structure}: it holds a Markov network; a Bayesian one is needed")
            names = dict(zip(known.variables.nodes, known.variables.states, strict=True)) if known else None
            table = read_states(data, kinds=parse_kinds(column or ()), header=header, bins=bins, known=names)
            graph = known or _learned_graph(table, search, score, max_parents, seed)
            states = None if known else table.states
            found = fit_tables(graph, table.columns, states=states, equivalent_sample_size=prior, random_state=seed)
            write_network(found.network, out)
    except ValueError as error:
        refuse(str(error))
    for note in table.notes:
        print_note(note)
    counts = found.network.parameter_counts()
    rows = len(next(iter(table.columns.values())))
    if as_json:
        show_json(
            {
                "file": str(out),
                "rows": rows,
                "variables": {n: list(map(str, s)) for n, s in zip(*_variables(found.network), strict=True)},
                "edges": [list(edge) for edge in found.network.graph.named_edges()],
                "parameters": counts.free,
                "log_likelihood": found.log_likelihood,
                "ended": found.reason,
            }
        )
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(found.network.to_text())
    console.print(f"\n{counts}")
    console.print(f"log-likelihood per row {found.log_likelihood / rows:.4g} of {rows:,} rows ({found.reason})")
    console.print(f"network   {out}")
    console.print(f"ask       fivefold network query {out} --ask {found.network.graph.topological_order()[-1]!r}")


@network.command()
@with_refusals
def query(
    file: NETWORK_ARGUMENT,
    ask: Annotated[list[str] | None, typer.Option(help="A variable to ask for; repeat the option for several.")] = None,
    given: Annotated[list[str] | None, typer.Option(help="NAME=STATE that is observed; repeat for several.")] = None,
    soft: Annotated[
        list[str] | None, typer.Option(help="NAME=STATE:LIKELIHOOD of uncertain evidence; repeat for its states.")
    ] = None,
    joint: Annotated[bool, typer.Option("--joint", help="Ask for all variables together, not one by one.")] = False,
    best: Annotated[bool, typer.Option("--best", help="Show the most probable states of all variables.")] = False,
    via: Annotated[str, typer.Option(help="The engine: exact, junction_tree, enumeration, ...")] = "exact",
    as_json: JSON_OPTION = False,
) -> None:
    """Ask a network for probabilities given what is observed."""
    from fivefold.graphical import read_network

    try:
        model = read_network(file)
        seen = _evidence(model, given or ())
        unsure = _likelihoods(soft or ())
        if best:
            _show_best(model, seen, unsure, as_json)
            return
        names = tuple(ask or model.variables.nodes)
        if joint or via != "exact":
            groups = [names] if joint else [(name,) for name in names]
            answers = [model.query(group, seen, unsure, via=cast("Via", via)) for group in groups]  # others are refused
        else:
            every = model.marginals(seen, unsure)
            answers = [every[model.variables.nodes[model.variables.index(name)]] for name in names]
    except ValueError as error:
        refuse(str(error))
    if as_json:
        show_json([answer.to_dict() for answer in answers])
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        for answer in answers:
            console.print(str(answer))


@network.command()
@with_refusals
def show(
    file: NETWORK_ARGUMENT,
    blanket: Annotated[str | None, typer.Option(help="A variable whose Markov blanket to show.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Image file to draw the network in.")] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """Show the structure of a network, its size, and what a variable depends on."""
    from fivefold.graphical import BayesianNetwork, network_warnings, read_network

    try:
        model = read_network(file)
        around = model.graph.markov_blanket(blanket) if blanket else None
    except ValueError as error:
        refuse(str(error))
    width, counts = model.junction_tree.width, None
    if isinstance(model, BayesianNetwork):
        counts = model.parameter_counts()
        for warning in network_warnings(model):
            print_note(warning)
    if plot is not None:
        from fivefold.plot import network as draw

        figure = draw(model.graph, highlighted=blanket).get_figure(root=True)
        if figure is not None:
            figure.savefig(plot)
    if as_json:
        edges = [list(model.graph.names(edge)) for edge in sorted(model.graph.edges)]
        if isinstance(model, BayesianNetwork):
            edges = [list(edge) for edge in model.graph.named_edges()]
        show_json(
            {"variables": list(model.variables.nodes), "edges": edges, "width": width, "blanket": around}
            | ({"parameters": counts.free} if counts else {})
        )
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(model.to_text())
    console.print(f"\n{counts or ''}{'; ' if counts else ''}junction tree of width {width}")
    if around is not None:
        console.print(f"Markov blanket of {blanket}: {', '.join(around) or '(none)'}")


def _variables(model: BayesianNetwork) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    return model.variables.nodes, model.variables.states


def _learned_graph(table: Any, search: str, score: str, max_parents: int | None, seed: int) -> Any:
    from fivefold.graphical.structure_learning import chow_liu, code_table, hill_climbing, pc_algorithm

    coded = code_table(table.columns, states=table.states)
    if search == "hill_climbing":
        return hill_climbing(coded, score, max_parents=max_parents, random_state=seed).graph
    if search == "chow_liu":
        return chow_liu(coded).graph
    if search == "pc":
        return pc_algorithm(coded).pattern.extension()
    raise ValueError(f"--search is hill_climbing, chow_liu or pc; got {search!r}")


def _evidence(model: DiscreteModel, pairs: Iterable[str]) -> dict[str, str]:
    """Observed states from NAME=STATE."""
    found = {}
    for pair in pairs:
        name, equals, state = pair.partition("=")
        if not equals:
            raise ValueError(f"--given takes NAME=STATE; got {pair!r}")
        model.variables.code(name.strip(), state.strip())
        found[name.strip()] = state.strip()
    return found


def _likelihoods(pairs: Iterable[str]) -> dict[str, dict[str, float]]:
    """Likelihoods from NAME=STATE:NUMBER; states that are not named have none."""
    found: dict[str, dict[str, float]] = {}
    for pair in pairs:
        name, equals, rest = pair.partition("=")
        state, colon, number = rest.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not (equals and colon and value >= 0):
            raise ValueError(f"--soft takes NAME=STATE:LIKELIHOOD, a number of at least 0; got {pair!r}")
        found.setdefault(name.strip(), {})[state.strip()] = value
    return found


def _show_best(model: DiscreteModel, given: dict[str, str], soft: dict[str, dict[str, float]], as_json: bool) -> None:
    found = model.most_probable_explanation(given, soft)
    if as_json:
        states = {name: str(state) for name, state in found.states.items()}
        show_json({"given": given, "states": states, "probability": found.probability})
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for name, state in found.states.items():
        console.print(f"{name} = {state}")
    console.print(f"probability {found.probability:.6g}")

"""Read and write networks as files; the end of the name says the format: .bif; .xmlbif, .bifxml or .xml; .uai."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import cast

from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.files.bif import bif_text, parse_bif
from fivefold.graphical.files.network_draft import NetworkFileError
from fivefold.graphical.files.uai import parse_uai, uai_text
from fivefold.graphical.files.xmlbif import parse_xmlbif, xmlbif_text
from fivefold.graphical.markov_network import MarkovNetwork

Parser = Callable[[str, str], BayesianNetwork | MarkovNetwork]
XML_ENDS = (".xmlbif", ".bifxml", ".xml")
PARSERS: dict[str, Parser] = {".bif": parse_bif, **dict.fromkeys(XML_ENDS, parse_xmlbif), ".uai": parse_uai}


def read_network(file: str | PathLike[str]) -> BayesianNetwork | MarkovNetwork:
    """The network in a file; a damaged one is refused with the line."""
    path = Path(file)
    parse = PARSERS[_format(path)]
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NetworkFileError(f"{path}: it is no text in UTF-8 (byte {error.start})") from None
    return parse(text, str(path))


def write_network(model: DiscreteModel, file: str | PathLike[str]) -> None:
    """Write a network; BIF and XMLBIF hold Bayesian networks, UAI any discrete model, without names."""
    path = Path(file)
    kind = _format(path)
    if kind != ".uai" and not isinstance(model, BayesianNetwork):
        raise ValueError(f"{kind} holds Bayesian networks; write a {type(model).__name__} as .uai")
    if kind == ".uai":
        text = uai_text(model)
    else:
        text = (bif_text if kind == ".bif" else xmlbif_text)(cast("BayesianNetwork", model), path.stem)
    path.write_text(text, encoding="utf-8")


def _format(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in PARSERS:
        raise ValueError(f"{path}: the name must end in {', '.join(PARSERS)} to say the format")
    return kind

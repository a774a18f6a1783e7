"""BIF, XMLBIF and UAI: round trips, files as others write them, and damaged ones, refused with their line."""

import numpy as np
import pytest
from oracles.networks import random_network

from fivefold.graphical import BayesianNetwork, MarkovNetwork, read_network, write_network
from fivefold.graphical.files.bif import bif_text, parse_bif
from fivefold.graphical.files.network_draft import NetworkFileError
from fivefold.graphical.files.uai import parse_uai, uai_text
from fivefold.graphical.files.xmlbif import parse_xmlbif, xmlbif_text

DOG = """// the network of the definition of BIF
network "Dog-Problem" { property "credal-set constant-density-bounded 1.1"; property author x; }
variable light-on { type discrete[2] { true false }; property "position = (218, 195)"; }
variable family-out { type discrete[ 2 ] { true, false }; }
variable hear {
  type discrete [3] { "not at all", some, much };
}
/* tables,
   over two lines */
probability ( light-on | family-out ) { table 0.6 0.05 0.4 0.95; }
probability ( "family-out" ) { table 0.15, 0.85; }
probability ( hear | family-out, light-on ) {
  default 0.2, 0.3, 0.5;
  (true, false) 1.0, 0.0, 0.0;
}
"""


def same(a, b):
    assert a.variables.nodes == b.variables.nodes and a.parents == b.parents
    assert [list(map(str, s)) for s in a.variables.states] == [list(map(str, s)) for s in b.variables.states]
    assert all(np.array_equal(x, y) for x, y in zip(a.tables, b.tables, strict=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("end", ["bif", "xmlbif", "xml", "uai"])
def test_what_is_written_is_read_again_to_the_last_bit(tmp_path, seed, end):
    network = random_network(seed)
    write_network(network, tmp_path / f"net.{end}")
    found = read_network(tmp_path / f"net.{end}")
    if end == "uai":
        assert found.parents == network.parents and found.variables.cards == network.variables.cards
        assert all(np.array_equal(x, y) for x, y in zip(found.tables, network.tables, strict=True))
    else:
        same(network, found)


@pytest.mark.parametrize(("write", "parse"), [(bif_text, parse_bif), (xmlbif_text, parse_xmlbif)])
def test_odd_names_survive(write, parse):
    names = ("a b", "x<5 & y", "été", "1.5", "p|q", "//", "semi;colon")
    network = BayesianNetwork.from_tables(
        {name: [[0.5, 0.5], [0.25, 0.75]] if i else [0.5, 0.5] for i, name in enumerate(names)},
        {name: [names[i]] for i, name in enumerate(names[1:])},
        dict.fromkeys(names, ("(low)", "high, or more")),
    )
    same(network, parse(write(network)))


def test_the_dialects_of_bif():
    network = parse_bif(DOG)
    assert network.variables.nodes == ("light-on", "family-out", "hear")
    assert network.table("light-on").tolist() == [[0.6, 0.4], [0.05, 0.95]]
    assert network.table("hear")[0, 1].tolist() == [1.0, 0.0, 0.0]
    assert network.table("hear")[1, 1].tolist() == [0.2, 0.3, 0.5]
    assert network.variables.states[2][0] == "not at all"


def test_rounded_rows_are_divided_by_their_sum():
    text = DOG.replace("0.2, 0.3, 0.5", "0.333, 0.333, 0.333")
    assert parse_bif(text).table("hear")[0, 0] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("0.15, 0.85", "0.15, 0.80", 11, "table of 'family-out', its only row: sums to 0.95"),
        ("0.15, 0.85", "0.15", 11, "2 numbers were expected"),
        ("0.15, 0.85", "0.15, maybe", 11, "a number was expected, not 'maybe'"),
        ("0.15, 0.85", "1.85, -0.85", 11, "-0.85 is no number from 0 up"),
        ("(true, false)", "(true, perhaps)", 14, "'light-on' has no state 'perhaps'"),
        ("(true, false)", "(true)", 14, "needs the states of 2 parents"),
        ("default 0.2, 0.3, 0.5;", "", 12, "is not given"),
        ("hear | family-out, light-on", "hear | family-out, noise", 12, "'noise', which is not declared"),
        ("[3]", "[4]", 6, "has 3 states, not 4"),
        ("variable family-out", "variable light-on", 4, "declared twice"),
        ("variable family-out", "varible family-out", 4, "not 'varible'"),
        ("0.0, 0.0;\n}", "0.0, 0.0;", 15, "not the end of the file"),
        ("0.85; }", "0.85; } probability (family-out) { table 0.5 0.5; }", 11, "two tables"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(old, new, line, message):
    assert old in DOG
    with pytest.raises(NetworkFileError, match=f"^BIF text, line {line}: .*{message}"):
        parse_bif(DOG.replace(old, new, 1))


def test_missing_tables_and_cycles_are_refused():
    with pytest.raises(NetworkFileError, match="'a' has no table"):
        parse_bif("variable a { type discrete [1] { x }; }")
    with pytest.raises(NetworkFileError, match="no variable is declared"):
        parse_bif("")
    two = "variable a { type discrete [1] { x }; } variable b { type discrete [1] { x }; }"
    with pytest.raises(NetworkFileError, match="cycle"):
        parse_bif(two + "probability (a | b) { table 1; } probability (b | a) { table 1; }")


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (lambda t: t.replace("<TABLE>", "<TABLE>0.5 ", 1), 8, "2 numbers were expected in the table of .a., not 3"),
        (lambda t: t.replace("</VARIABLE>", "</VARIABEL>", 1), 6, "this is no XML"),
        (lambda t: t.replace("<FOR>", "<FUR>").replace("</FOR>", "</FUR>"), 8, "one <FOR> was expected, not 0"),
        (lambda t: t.replace('"nature"', '"decision"', 1), 6, "only 'nature' is read"),
        (
            lambda t: t.replace("<!-- XMLBIF", '<!DOCTYPE BIF [<!ENTITY x "y">]><!-- XMLBIF'),
            2,
            "entities are not read",
        ),
    ],
)
def test_damaged_xml_is_refused_with_its_line(change, line, message):
    network = BayesianNetwork.from_tables({"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.1, 0.9]]}, {"b": ["a"]})
    text = xmlbif_text(network)
    with pytest.raises(NetworkFileError, match=f"line {line}: .*({message})"):
        parse_xmlbif(change(text))


def test_markov_networks_in_uai():
    network = MarkovNetwork.from_tables({("a", "b"): [[2, 1, 0], [1, 2, 0.5]], ("b",): [1, 2, 3]})
    found = parse_uai(uai_text(network))
    assert isinstance(found, MarkovNetwork) and found.log_partition() == pytest.approx(network.log_partition())


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("BAYS", 1, "not 'BAYS'"),
        ("MARKOV\n2\n2 two", 3, "number of states of variable 1 must be a whole number from 1 to 100000, not 'two'"),
        ("MARKOV\n1\n2\n1\n1 4", 5, "from 0 to 0, not '4'"),
        ("MARKOV\n1\n2\n1\n1 0\n3\n1 1 1", 6, "entries of factor 0, 2,"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1", 7, "the file ends"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1\n9", 8, "end before '9'"),
        ("BAYES\n1\n2\n1\n1 0\n2\n0.5 0.4", 6, "table of 'x0'"),
    ],
)
def test_damaged_numbers_are_refused_with_their_line(text, line, message):
    with pytest.raises(NetworkFileError, match=f"line {line}: .*{message}"):
        parse_uai(text)


def test_the_name_says_the_format(tmp_path):
    network = random_network(0)
    with pytest.raises(ValueError, match="must end in"):
        write_network(network, tmp_path / "net.txt")
    with pytest.raises(ValueError, match="write a MarkovNetwork as .uai"):
        write_network(MarkovNetwork.from_bayesian_network(network), tmp_path / "net.bif")
    (tmp_path / "net.bif").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NetworkFileError, match="no text in UTF-8"):
        read_network(tmp_path / "net.bif")


def test_keywords_as_names_survive():
    names = ("network", "table", "default")
    network = BayesianNetwork.from_tables({name: [0.5, 0.5] for name in names}, states={"table": ("type", "property")})
    same(network, parse_bif(bif_text(network, "probability")))
    assert bif_text(network, "probability").startswith("network unknown {")


def test_tables_that_would_fill_the_memory_are_refused_before_they_are_made():
    names = [f"v{i}" for i in range(40)]
    variables = "".join(f"variable {name} {{ type discrete [2] {{ a, b }}; }}\n" for name in names)
    with pytest.raises(NetworkFileError, match="line 41: the table of 'v0' would have 1,099,511,627,776 entries"):
        parse_bif(f"{variables}probability ( v0 | {', '.join(names[1:])} ) {{ }}")
    with pytest.raises(NetworkFileError, match="line 3: the number of states of variable 0 must be"):
        parse_uai("BAYES\n1\n9999999999\n")

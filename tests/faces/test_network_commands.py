"""`fivefold network learn`, `query` and `show`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.graphical import BayesianNetwork, read_network, write_network


def run(*arguments):
    return CliRunner().invoke(app, ["network", *map(str, arguments)], env={"COLUMNS": "120"})


@pytest.fixture
def sprinkler():
    wet = [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.05, 0.95]]]
    tables = {"rain": [0.6, 0.4], "sprinkler": [0.8, 0.2], "wet": wet}
    return BayesianNetwork.from_tables(tables, {"wet": ("rain", "sprinkler")}, dict.fromkeys(tables, ("no", "yes")))


@pytest.fixture
def table(tmp_path, sprinkler):
    columns = sprinkler.sample(3000, 0)
    columns["heat"] = np.random.RandomState(0).normal(20, 5, 3000).round(3).tolist()
    columns["row id"] = [f"r{i}" for i in range(3000)]
    lines = [",".join(columns)] + [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    lines[5] = lines[5].replace("yes", "NA", 1).replace("no", "NA", 1)
    (tmp_path / "weather.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "weather.csv"


def test_a_network_is_learned_asked_and_shown(tmp_path, table, sprinkler):
    done = run("learn", table, "--out", tmp_path / "net.bif", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {frozenset(edge) for edge in found["edges"]} >= {frozenset(("rain", "wet")), frozenset(("sprinkler", "wet"))}
    assert not any("heat" in edge for edge in found["edges"])
    assert len(found["variables"]["heat"]) == 4 and "row id" not in found["variables"]
    assert "column 'heat' is cut into 4 intervals" in done.stderr and "'row id' is left out" in done.stderr
    asked = run("query", tmp_path / "net.bif", "--ask", "sprinkler", "--given", "wet=yes", "--json")
    answer = json.loads(asked.stdout)[0]
    chance = {row["states"][0]: row["probability"] for row in answer["distribution"]}
    assert chance["yes"] == pytest.approx(sprinkler.query("sprinkler", {"wet": "yes"})["yes"], abs=0.05)
    shown = run("show", tmp_path / "net.bif", "--blanket", "rain")
    assert "Markov blanket of rain: " in shown.stdout and "junction tree of width" in shown.stdout


@pytest.mark.parametrize("search", ["chow_liu", "pc"])
def test_other_searches(tmp_path, table, search):
    done = run("learn", table, "-o", tmp_path / "net.xmlbif", "--search", search)
    assert done.exit_code == 0, done.output
    edges = {frozenset(edge) for edge in read_network(tmp_path / "net.xmlbif").graph.named_edges()}
    assert frozenset(("rain", "wet")) in edges
    assert "free parameters" in done.stdout and "fivefold network query" in done.stdout


def test_tables_are_learned_for_a_given_structure(tmp_path, table, sprinkler):
    write_network(sprinkler, tmp_path / "known.bif")
    done = run("learn", table, "-o", tmp_path / "net.bif", "--structure", tmp_path / "known.bif", "--prior", 0)
    assert done.exit_code == 0, done.output
    found = read_network(tmp_path / "net.bif")
    assert found.graph == sprinkler.graph
    assert found.table("wet") == pytest.approx(sprinkler.table("wet"), abs=0.06)


def test_answers_as_text_joint_and_best(tmp_path, sprinkler):
    write_network(sprinkler, tmp_path / "net.bif")
    one = run("query", tmp_path / "net.bif", "--ask", "wet")
    assert one.stdout == "P(wet)\n  no   0.48\n  yes  0.52\n"
    both = run("query", tmp_path / "net.bif", "--ask", "rain", "--ask", "wet", "--joint", "--via", "enumeration")
    assert "P(rain, wet)" in both.stdout and "no, yes" in both.stdout
    best = json.loads(run("query", tmp_path / "net.bif", "--given", "wet=yes", "--best", "--json").stdout)
    assert best["states"] == {"rain": "yes", "sprinkler": "no"}
    soft = run(
        "query", tmp_path / "net.bif", "--ask", "rain", "--soft", "wet=yes:0.8", "--soft", "wet=no:0.2", "--json"
    )
    expected = sprinkler.query("rain", soft={"wet": {"yes": 0.8, "no": 0.2}})["yes"]
    assert json.loads(soft.stdout)[0]["distribution"][1]["probability"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ask", "rian"], "did you mean 'rain'?"),
        (["--ask", "rain", "--given", "wet=damp"], "'wet' has no state 'damp'; it has 'no', 'yes'"),
        (["--ask", "rain", "--given", "wet"], "--given takes NAME=STATE"),
        (["--ask", "rain", "--soft", "wet=yes"], "--soft takes NAME=STATE:LIKELIHOOD"),
        (["--ask", "rain", "--via", "magic"], "via is one of"),
    ],
)
def test_bad_questions_are_refused_in_words(tmp_path, sprinkler, options, message):
    write_network(sprinkler, tmp_path / "net.bif")
    done = run("query", tmp_path / "net.bif", *options)
    assert done.exit_code == 2 and message in " ".join(done.stderr.split())


def test_impossible_evidence_and_damaged_files_are_refused(tmp_path):
    certain = BayesianNetwork.from_tables({"a": [1.0, 0.0]}, states={"a": ("no", "yes")})
    write_network(certain, tmp_path / "net.bif")
    done = run("query", tmp_path / "net.bif", "--given", "a=yes")
    assert done.exit_code == 2 and "probability zero: a=yes cannot be" in " ".join(done.stderr.split())
    (tmp_path / "bad.bif").write_text("network x {}\nvariable a {")
    done = run("show", tmp_path / "bad.bif")
    assert done.exit_code == 2 and "line 2" in done.stderr
    done = run("query", tmp_path / "absent.bif")
    assert done.exit_code == 2 and "absent.bif" in done.stderr
    (tmp_path / "one.csv").write_text("a,b\n1,1\n2,1\n")
    done = run("learn", tmp_path / "one.csv", "-o", tmp_path / "x.bif")
    assert done.exit_code == 2 and "at least two columns" in " ".join(done.stderr.split())

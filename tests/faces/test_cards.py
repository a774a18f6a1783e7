"""Every method carries a whole card, and its links lead somewhere."""

import json

import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.core.registry import Application, Card, find, methods

# Links printed in the textbook, by the names the methods have here.
PRINTED = [
    ("PCA", "KernelPCA"),
    ("PCA", "LocallyLinearEmbedding"),
    ("PCA", "Isomap"),
    ("Isomap", "LocallyLinearEmbedding"),
    ("Isomap", "PCA"),
    ("Isomap", "KernelPCA"),
    ("LocallyLinearEmbedding", "Isomap"),
    ("LocallyLinearEmbedding", "PCA"),
    ("LocallyLinearEmbedding", "KernelPCA"),
    ("KMeans", "AgglomerativeClustering"),
    ("AgglomerativeClustering", "KMeans"),
    ("GaussianMixture", "KMeans"),
    ("LinearRegression", "KernelRidge"),
]


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_a_card_is_whole(method):
    """A-03: name, applications, summary, steps with typed input and output, discussion, links, literature."""
    card = method.card
    assert method.name and set(card.applications) <= set(Application.__args__)
    assert method.inputs[0].name == "X"
    assert method.outputs and all(thing.type for thing in (*method.inputs, *method.outputs))
    assert card.use in method.discussion and card.see_also
    for name in method.hyperparameters:
        assert name in method.discussion
    assert method.summary.endswith(".")
    assert card.applications and card.use and card.source and method.formula
    assert len(card.steps) >= 1 and all(step.strip().endswith(".") for step in card.steps)
    assert [parameter.name for parameter in method.parameters if not parameter.meaning] == []


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_see_also_leads_to_other_methods(method):
    """A-03."""
    known = {other.name for other in methods()} - {method.name}
    assert set(method.card.see_also) <= known


@pytest.mark.parametrize(("name", "link"), PRINTED, ids=[f"{a} to {b}" for a, b in PRINTED])
def test_links_printed_in_the_textbook_are_kept_where_both_methods_exist(name, link):
    """A-03."""
    known = {method.name: method for method in methods()}
    assert name not in known or link not in known or link in known[name].card.see_also


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_describe_prints_every_field_of_a_card():
    """A-03: and gives them as JSON."""
    method = find("kmeans")
    assert isinstance(method.card, Card)
    shown = " ".join(run("describe", "kmeans").stdout.split())
    for title in ("Formula", "Input", "Output", "Algorithm", "Discussion", "Parameters", "See also", "Literature"):
        assert f" {title} " in f" {shown} "
    for text in (method.name, method.summary, *method.card.applications, *method.card.steps, *method.card.see_also):
        assert " ".join(text.split()) in shown
    for text in (method.discussion, method.card.source, *(t.type for t in (*method.inputs, *method.outputs))):
        assert " ".join(text.split()) in shown
    card = json.loads(run("describe", "KMeans", "--json").stdout)
    assert card["inputs"][0] == {"name": "X", "type": "table (n, d) of numbers; dense or sparse"}
    assert {"name": "predict", "type": "groups (n,), from 0 up"} in card["outputs"]
    assert card["hyperparameters"]["n_clusters"]


def test_describe_writes_a_page_for_every_method_whose_links_lead_somewhere(tmp_path):
    """A-03: a page in the documents."""
    done = run("describe", "--out", str(tmp_path / "pages"))
    assert done.exit_code == 0
    index = (tmp_path / "pages" / "index.md").read_text()
    for method in methods():
        page = (tmp_path / "pages" / f"{method.name}.md").read_text()
        assert f"[{method.name}]({method.name}.md)" in index
        for title in (
            "Applications",
            "Summary",
            "Input",
            "Output",
            "Algorithm",
            "Discussion",
            "See also",
            "Literature",
        ):
            assert f"## {title}\n" in page
        for other in method.card.see_also:
            assert f"[{other}]({other}.md)" in page and (tmp_path / "pages" / f"{other}.md").is_file()


def test_describe_refuses_a_name_it_does_not_know():
    for arguments, words in ((("KMean",), "did you mean KMeans"), ((), "name a method")):
        shown = run("describe", *arguments)
        assert shown.exit_code == 2
        assert words in shown.stderr

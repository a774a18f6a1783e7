"""Every method carries a whole card, and its links lead somewhere."""

import pytest

from fivefold.core.registry import methods

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
    """A-03: name, applications, summary, steps, parameters with their meaning, when to use it, source."""
    card = method.card
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

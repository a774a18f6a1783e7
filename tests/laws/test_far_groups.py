"""Tables on which methods that look for groups, maps or places go wrong: groups far apart, copies, ties, one column,
equal rows, fewer rows than asked for, more rows than memory holds. Every method of three chapters meets each.
"""

import re
import tracemalloc
import warnings

import numpy as np
import pytest
from tables import CASES, build, named, outputs

from fivefold.core.storage import memory_limits

FOUND = [case for case in CASES if case[0].chapter in ("cluster", "manifold", "competitive")]
cases = pytest.mark.parametrize("case", FOUND, ids=named)
ORDER = np.random.RandomState(1).permutation(36)
GROUPS = np.repeat(np.arange(3), 12)[ORDER]
NEAR = 0.1 * np.tile(np.arange(12), 3)[ORDER]
FAR = {
    "one column": (1.0 + 100.0 * GROUPS + NEAR)[:, None],
    "copies": np.array([[0.0, 0.0, 9.0], [100.0, 0.0, 9.0], [0.0, 100.0, 5.0]])[GROUPS],
    "arcs": 100.0 * np.eye(3)[GROUPS] + np.column_stack([np.cos(5 * NEAR), np.sin(5 * NEAR), 0 * NEAR]),
}
EQUAL = {"ones": np.ones((40, 3)), "zeros in one column": np.zeros((40, 1))}
TIES = 1.0 + np.array([[i, j] for i in range(6) for j in range(6)])
BY_OTHER_MEANS = {  # method, value of a setting -> why groups far apart may be mixed
    ("FuzzyART", None): "boxes as large as the vigilance allows hold rows of two groups",
    ("FeatureAgglomeration", "cosine"): "only directions count",
    ("OnlineKMeans", None): "its one random start may put two centres into a group",
    ("AffinityPropagation", -20.0): "as scikit-learn's it may stand still for 15 rounds before it goes on",
    ("LocallyLinearEmbedding", "hessian"): "places of parts of a graph say nothing about each other: it warns",
    ("LocallyLinearEmbedding", "ltsa"): "the same",
    ("LocallyLinearEmbedding", "modified"): "the same",
}


def fitted(case, X, y=GROUPS, **more):
    """A model that is asked for three clusters, and for as many coordinates as there are columns, at most two."""
    asked = {} if hasattr(case[0].cls, "labels_") else {"n_components": min(2, X.shape[1])}
    if len(X) < 100:
        asked |= {"n_init": 20} | ({"max_iter": 750, "n_components": 2} if case[0].name == "TSNE" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on parts of a graph, copies, and clusters that are not needed
        model = build(case, **{"n_clusters": 3, **asked, **more})
        if getattr(model, "distance_threshold", None) is not None:
            model.set_params(n_clusters=None)
        return model.fit(X.T if case[0].name == "FeatureAgglomeration" else X, np.resize(y, len(X)))


def check_answers(model, X):
    """Finite numbers, and whole numbers from zero for clusters or units; noise is -1."""
    assert np.isfinite(getattr(model, "embedding_", 0.0)).all()
    if hasattr(model, "labels_"):
        assert len(model.labels_) == len(X) and model.labels_.dtype.kind == "i" and model.labels_.min() >= -1
    if type(model).__name__ != "FeatureAgglomeration":
        for name, said in outputs(model, X).items():
            assert said.dtype.kind != "f" or np.isfinite(said).all(), name


@cases
@pytest.mark.parametrize("name", FAR)
def test_groups_far_apart_are_never_mixed(case, name):
    X, together = FAR[name], GROUPS[:, None] == GROUPS
    if (case[0].name, name) == ("MeanShift", "copies") and "bandwidth" not in case[1]:
        with pytest.raises(ValueError, match="most rows are copies of others. Give a bandwidth"):
            fitted(case, X)
        return
    model = fitted(case, X)
    check_answers(model, X)
    if any((case[0].name, value) in BY_OTHER_MEANS for value in (None, *case[1].values())):
        return
    if hasattr(model, "classes_") and hasattr(model, "predict"):
        assert (model.predict(X) == GROUPS).all()
    elif hasattr(model, "labels_"):
        assert not ((model.labels_[:, None] == model.labels_) & (model.labels_ >= 0) & ~together).any()
    elif hasattr(model, "embedding_"):
        Y = model.embedding_.astype(float)
        D = np.square(Y[:, None] - Y).sum(axis=2) + np.where(np.eye(36) > 0, np.inf, 0.0)
        own, other = (np.where(rows, D, np.inf).min(axis=1) for rows in (together, ~together))
        assert (own <= other * (1 + 1e-9)).all()


@cases
@pytest.mark.parametrize("name", EQUAL)
def test_equal_rows_are_alike_or_refused(case, name):
    X = EQUAL[name]
    try:
        model = fitted(case, X)
    except ValueError as error:
        assert re.search("start from more|of a row of zeros is not defined", str(error))
        return
    check_answers(model, X)
    if hasattr(model, "labels_") and not hasattr(model, "tree_") and not hasattr(model, "affinity_matrix_"):
        assert len(np.unique(model.labels_)) == 1


@cases
def test_ties_of_a_grid_are_decided(case):
    check_answers(fitted(case, TIES), TIES)


ASKED = ("n_neighbors", "perplexity", "min_samples", "min_cluster_size")
TOO_MANY = [
    (case, name)
    for case in FOUND
    for name in ASKED
    if name in {p.name for p in case[0].parameters} and "rbf" not in case[1].values()  # a kernel has no neighbours
]


@pytest.mark.parametrize(("case", "name"), TOO_MANY, ids=[f"{named(case)}-{name}" for case, name in TOO_MANY])
def test_more_neighbours_than_rows_are_refused_with_both_numbers_or_nothing_is_dense(case, name):
    try:
        model = fitted(case, TIES, **{name: 500})
    except ValueError as error:
        assert "500" in str(error) and "36" in str(error)
    else:
        assert (getattr(model, "labels_", np.zeros(1)) == -1).all() or name not in case[1]


@cases
def test_what_memory_does_not_hold_is_refused_with_its_size_before_it_is_asked_for(case, monkeypatch):
    """An array of n x n numbers takes 512 MB here, and 100 MB are free."""
    n = 8000
    rng = np.random.RandomState(0)
    groups = rng.randint(3, size=n)
    X = 100.0 * np.eye(3)[groups] + rng.normal(size=(n, 3))
    fitted(case, X[:60], groups[:60])  # compiles
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**8)
    tracemalloc.start()
    try:
        fitted(case, X, groups)
    except MemoryError as error:
        assert re.search(rf"{n} \w+ need about [\d.]+ [MGT]B for .* and 100 MB are free\. \w+", str(error))
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 2.5e8

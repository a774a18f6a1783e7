"""Figures of trees hold the tree they claim to show."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris

from fivefold import plot
from fivefold.evaluation import validation_curve
from fivefold.evaluation.row_losses import zero_one_row_loss
from fivefold.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    OccamTreeClassifier,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def petals(**settings):
    X, y = load_iris(return_X_y=True)
    return DecisionTreeClassifier(**settings, random_state=0).fit(X[:, 2:], y), X[:, 2:], y


def boxes(ax, style):
    return [
        text
        for text in ax.texts
        if type(text.get_bbox_patch().get_boxstyle()).__name__ == style and "\n" in text.get_text()
    ]


def test_a_drawn_tree_has_a_box_a_conjunction_and_an_oval_a_question():
    """A-97, D-38, E-335."""
    model, _, _ = petals(max_depth=4)
    ax = plot.tree(model, feature_names=["length", "width"])
    assert len(boxes(ax, "Square")) == len(model.to_rules())
    ovals = [text.get_text() for text in ax.texts if type(text.get_bbox_patch().get_boxstyle()).__name__ == "Ellipse"]
    assert len(ovals) == model.get_n_leaves() - 1
    assert ovals[0] == "length <= 2.45?"
    assert len(ax.lines) == model.tree_.node_count - 1


def test_the_way_of_an_example_is_thick():
    """D-38."""
    model, X, _ = petals(max_depth=4)
    thin = plot.tree(model)
    thick = plot.tree(model, example=X[120:121])
    assert {line.get_linewidth() for line in thin.lines} == {1.0}
    assert sum(line.get_linewidth() > 1 for line in thick.lines) == len(model.explain(X[120:121]).steps)


def styled(ax, style):
    return [t.get_text() for t in ax.texts if type(t.get_bbox_patch().get_boxstyle()).__name__ == style]


def test_with_details_every_node_tells_its_test_its_label_its_counts_and_its_entropy():
    """D-38: 50 of each of three species are log2 3 bits."""
    model, _, _ = petals(max_depth=2)
    ovals, leaves = (styled(plot.tree(model, details=True), style) for style in ("Ellipse", "Square"))
    assert ovals[0] == "x0 <= 2.45?\n0, 150 rows\n1.58 bits"
    assert ovals[1] == "x1 <= 1.75?\n1, 100 rows\n1 bits"
    assert next(text for text in leaves if "\n" in text) == "0\n50 rows, 100%\n0 bits"
    numbers = DecisionTreeRegressor(max_depth=1, random_state=0).fit(np.arange(4.0)[:, None], [0.0, 0, 1, 1])
    assert styled(plot.tree(numbers, details=True), "Ellipse") == ["x0 <= 1.5?\n4 rows"]


def test_a_classic_tree_is_drawn_with_a_branch_a_value():
    """D-38, E-62: leaves are as many as conjunctions; a row that lacks the value takes several ways."""
    frame = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain", "fog"] * 4, "heat": [30.0, 10.0, 30.0, 10.0, 20.0] * 4})
    y = ["a", "b", "c", "c", "a"] * 4
    model = ID3Classifier().fit(frame, y)
    ax = plot.tree(model, details=True, example=frame[:1])
    assert styled(ax, "Ellipse") == ["sky?\na, 20 rows\n1.52 bits", "heat?\na, 8 rows\n1 bits"]
    words = [text for text in styled(ax, "Square") if "\n" not in text]
    assert sorted(words) == ["fog", "heat <= 20", "heat > 20", "rain", "sun"]
    assert len([text for text in styled(ax, "Square") if "\n" in text]) == model.get_n_leaves() == 4
    assert sum(line.get_linewidth() > 1 for line in ax.lines) == 2
    parted = C45Classifier(min_samples_leaf=1, pruning=None).fit(frame, y)
    lost = plot.tree(parted, example=pd.DataFrame({"sky": [None], "heat": [30.0]}), feature_names=["weather", "t"])
    assert sum(line.get_linewidth() > 1 for line in lost.lines) == 4
    assert styled(lost, "Ellipse")[0] == "weather?"


def test_an_occam_tree_is_drawn_too():
    X, y = load_iris(return_X_y=True)
    model = OccamTreeClassifier().fit(X, y)
    assert len([text for text in styled(plot.tree(model), "Square") if "\n" in text]) == model.get_n_leaves() == 3


@pytest.mark.parametrize("method", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_the_drawn_boxes_tile_the_plane(method):
    """E-335: they are the leaves, and their areas add up to that of the frame."""
    X, y = load_iris(return_X_y=True)
    model = method(max_depth=4, random_state=0).fit(X[:, 2:], y)
    ax = plot.partition(model, X[:, 2:], y)
    tiles = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert len(tiles) == model.get_n_leaves()
    frame = np.diff(ax.get_xlim())[0] * np.diff(ax.get_ylim())[0]
    np.testing.assert_allclose(sum(t.get_width() * t.get_height() for t in tiles), frame, rtol=1e-9)  # rounding


def test_a_tree_and_its_partition_stand_side_by_side():
    model, X, y = petals(max_depth=3)
    left, right = plot.tree_and_partition(model, X, y, example=X[:1])
    assert left.figure is right.figure
    np.testing.assert_array_equal(np.ravel(right.lines[-1].get_xydata()), X[0])
    with pytest.raises(ValueError, match="drawn for two columns; the tree has 4"):
        plot.partition(DecisionTreeClassifier(random_state=0).fit(*load_iris(return_X_y=True)))


def test_impurities_peak_at_one_half_and_vanish_at_the_ends():
    """E-336."""
    ax = plot.impurities()
    for line, peak in zip([line for line in ax.lines if len(line.get_xdata()) > 2], (1.0, 0.5, 0.5), strict=True):
        p, values = line.get_data()
        assert values[0] == values[-1] == 0
        assert p[np.argmax(values)] == 0.5
        assert values.max() == pytest.approx(peak)


def test_error_falls_with_leaves_on_training_rows_and_turns_up_on_others():
    """E-341."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    leaves = [2, 4, 16, 128]
    found = validation_curve(
        DecisionTreeClassifier(random_state=0), X, y, "max_leaf_nodes", leaves, loss=zero_one_row_loss
    )
    ax = plot.curve(found, log=True)
    train, test = (line.get_ydata() for line in ax.lines[:2])
    assert (np.diff(train) < 0).all()
    assert test[-1] > test.min()

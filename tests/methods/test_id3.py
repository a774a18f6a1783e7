"""ID3, C4.5 and CART as users meet them."""

import numpy as np
import pandas as pd
import pytest

from fivefold.tree import C45Classifier, CARTClassifier, ID3Classifier

ROWS = """
sun hot high no, sun hot high yes, cloud hot high no, rain mild high no, rain cool normal no, rain cool normal yes,
cloud cool normal yes, sun mild high no, sun cool normal no, rain mild normal no, sun mild normal yes,
cloud mild high yes, cloud hot normal no, rain mild high yes
"""
WEATHER = pd.DataFrame([row.split() for row in ROWS.split(",")], columns=["sky", "heat", "humid", "wind"])
PLAY = np.where(list(map(int, "00111010111110")), "yes", "no")


def test_the_weather_tree_is_the_one_every_text_prints():
    """D-18: sky, then humidity where it is sunny and wind where it rains."""
    text = ID3Classifier().fit(WEATHER, PLAY).to_text()
    assert text == (
        "sky = cloud: yes (4)\n"
        "sky = rain\n|   wind = no: yes (3)\n|   wind = yes: no (2)\n"
        "sky = sun\n|   humid = high: no (3)\n|   humid = normal: yes (2)"
    )


def test_presets_read_frames_with_gaps_and_text():
    frame = WEATHER.copy()
    frame["degrees"] = np.linspace(5, 30, 14)
    frame.loc[3, "degrees"] = None
    frame.loc[5, "sky"] = None
    for preset in (ID3Classifier, C45Classifier, CARTClassifier):
        model = preset().fit(frame, PLAY)
        assert model.score(frame, PLAY) >= 0.64
        np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0)


def test_importances_sum_to_one_and_find_the_column():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 3))
    for preset in (ID3Classifier, C45Classifier, CARTClassifier):
        found = preset().fit(X, X[:, 1] > 0).feature_importances_
        assert found.sum() == pytest.approx(1.0) and found.argmax() == 1


def test_one_class_is_a_leaf():
    model = C45Classifier().fit([[1.0], [2.0]], ["a", "a"])
    assert model.get_n_leaves() == 1 and model.get_depth() == 0 and model.to_text() == ": a (2)"

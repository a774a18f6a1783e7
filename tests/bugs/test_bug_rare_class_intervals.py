"""Intervals of odds ratios where a class has few rows."""

import numpy as np
import pytest
from study_tables import study_table

from fivefold.study.judging import linear_coefficients as coefficients
from fivefold.study.judging.linear_coefficients import linear_coefficients
from fivefold.study.models.winner import fit_method
from fivefold.study.planning.plan import make_plan


@pytest.mark.parametrize("method", ["LogisticRegression", "LinearDiscriminantAnalysis"])
def test_samples_without_the_rarest_class_are_left_out_of_the_intervals(method, monkeypatch):
    """A sample of the rows without the third class has the odds of two classes: coefficients of another shape, with
    which the report ended in a ValueError.
    """
    monkeypatch.setattr(coefficients, "BOOTSTRAP_DRAWS", 60)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.array(["a", "b"] * 45)
    y[:3] = "c"
    X[y == "b", 0] += 1.0
    data = study_table(X, y)
    plan, model = make_plan(data, [method], holdout=0.0), fit_method(data, method, {}).pipeline
    lacking = [set(data.y[rng.choice(90, 90)]) == {"a", "b"} for _ in range(200)]
    assert 2 < sum(lacking) < 40
    found = linear_coefficients(plan, model)
    assert found.low.shape == found.values.shape == (3, 2)
    assert np.isfinite(found.low).all() and (found.low < found.high).all()

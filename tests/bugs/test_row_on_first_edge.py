"""A row on the first edge of a histogram of given width was outside of all bins where rounding put the edge above it:
its density was zero, and the whole did not integrate to one.
"""

import numpy as np
import pytest

from fivefold.density import HistogramDensity


@pytest.mark.parametrize(("width", "x"), [(0.1, [0.3, 0.7, 1.1]), (0.7, [2.1, 2.2, 4.9]), (1e9, [-0.97, 0.5, 1.2])])
def test_every_row_is_in_a_bin(width, x):
    X = np.array(x)[:, None]
    model = HistogramDensity(width=width).fit(X)
    heights = model.density(0.5 * (model.edges_[0][:-1] + model.edges_[0][1:])[:, None])
    assert model.model_.mass.sum() == len(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert heights @ np.diff(model.edges_[0]) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("scale", "cure"), [(1e-90, "multiply"), (1e90, "divide")])
def test_volumes_that_are_no_numbers_are_refused(scale, cure):
    X = scale * np.random.default_rng(0).normal(size=(40, 4))
    with pytest.raises(ValueError, match=f"HistogramDensity: the volume of a bin of 4 columns is .* {cure} the"):
        HistogramDensity(4).fit(X)

"""The panel of too stiff, right and too loose fits."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))


def test_training_error_falls_with_the_width_and_test_error_is_least_in_the_middle():
    """A-162: Gaussian widths 1, 0.05, 0.001, strength one."""
    from plot_overfit import errors

    own, new = zip(*errors()[1], strict=True)
    assert own[0] > own[1] > own[2] == 0
    assert new[1] < min(new[0], new[2])

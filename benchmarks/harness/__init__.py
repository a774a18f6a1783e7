"""One harness for every benchmark; a chapter's file imports what it declares with from here."""

from benchmarks.harness import data
from benchmarks.harness.agree import Disagreement, as_good, both, no_worse, same, same_output, same_predictions
from benchmarks.harness.case import OURS, Absent, Case, Data, cases
from benchmarks.harness.contestants import (
    assembled,
    beside_sklearn,
    drop_in,
    fit,
    fit_seeds,
    function,
    predict,
    transform,
)

"""Ridge regression beside scikit-learn and its Intel extension."""

from functools import partial

from benchmarks.harness import Case, data, drop_in, fit, same

CASES = (
    Case(
        "Ridge fit",
        partial(data.linear, d=50),
        200_000,
        drop_in("linear_model.Ridge", fit),
        same("coef_", "intercept_"),
        1.7,
    ),
)

"""Polynomial and spline features beside scikit-learn."""

from functools import partial

from benchmarks.harness import Case, data, drop_in, same_output, transform

CASES = (
    Case(
        "PolynomialFeatures transform",
        partial(data.uniform, d=20),
        100_000,
        drop_in("preprocessing.PolynomialFeatures", transform),
        same_output(1e-12),
        1.5,
    ),
    Case(
        "PolynomialFeatures transform, degree 3",
        partial(data.uniform, d=12),
        50_000,
        drop_in("preprocessing.PolynomialFeatures", transform, degree=3),
        same_output(1e-12),
        1.0,
    ),
    Case(
        "SplineTransformer transform",
        partial(data.uniform, d=10),
        100_000,
        drop_in("preprocessing.SplineTransformer", transform),
        same_output(1e-9),
        2.0,
    ),
)

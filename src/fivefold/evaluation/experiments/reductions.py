"""Learners that take many classes or outputs at once, compared with reductions to two classes or one output.

    classes    direct: a tree grown by entropy over all K classes        reduced: K machines, each class against the
                                                                         rest; K(K-1)/2 machines, one for each pair
    outputs    direct: kernel ridge regression of all outputs, one       reduced: a kernel ridge regression for each
                       penalty chosen for all                                     output, with a penalty of its own

A direct learner can use what classes or outputs have in common and is a single model; a reduction solves simpler
problems. Which has the smaller error on a given table must be tried: all get the same splits, and the difference of the
errors is tested by Nadeau & Bengio's corrected resampled t-test, whose level holds although the splits share rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fivefold.core.types import Array, Table, Target
from fivefold.evaluation.comparison.result import Comparison
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t
from fivefold.evaluation.protocols import Model
from fivefold.evaluation.row_losses import Loss, default_loss
from fivefold.evaluation.validation import Validation, cross_validate, splits_of

RIDGE_PENALTIES = tuple(float(a) for a in np.logspace(-4, 2, 13))  # candidates, two per power of ten
DIRECT_NAME = "direct"


@dataclass(frozen=True)
class ReductionResult:
    """A reduction: its losses, and the test of the difference from the direct learner (direct - reduced)."""

    name: str
    losses: Validation
    test: Comparison


@dataclass(frozen=True)
class ReductionReport:
    """Errors of a direct learner and of reductions on the same splits."""

    direct: Validation
    reductions: tuple[ReductionResult, ...]

    def __str__(self) -> str:
        rows = [(DIRECT_NAME, self.direct, None), *((r.name, r.losses, r.test) for r in self.reductions)]
        width = max(len(name) for name, _, _ in rows)
        lines = [f"{'learner':<{width}}  mean error  sd       p-value of the difference to direct"]
        for name, losses, test in rows:
            p = "" if test is None else f"{test.p_value:.3g}, {_verdict(name, test)}"
            lines.append(f"{name:<{width}}  {losses.mean:<10.4g}  {losses.test.std(ddof=1):<7.2g}  {p}".rstrip())
        return "\n".join([*lines, f"{len(self.direct.test)} splits, the same for all; corrected resampled t-test"])


def make_kernel_ridge(width: float | None = None, columns: int = 1) -> Model:
    """Kernel ridge regression of standardised columns, width sqrt(d) by default, penalty chosen by leave-one-out."""
    from fivefold.linear_model import RidgeCV
    from fivefold.preprocessing import BasisExpansion
    from fivefold.preprocessing.basis_functions import Gaussians, Kernels

    bell = float(np.sqrt(columns)) if width is None else width
    basis = BasisExpansion(Kernels(lambda A, B: Gaussians(bell, B)(A)), include_bias=False)
    return make_pipeline(StandardScaler(), basis, RidgeCV(alphas=RIDGE_PENALTIES))


def compare_reductions(
    X: Table,
    y: Target,
    *,
    direct: Model | None = None,
    reductions: Mapping[str, Model] | None = None,
    folds: int = 5,
    repeats: int = 2,
    loss: Loss | None = None,
    seed: int = 0,
) -> ReductionReport:
    """Compare a direct learner of many classes, or of many outputs, with its reductions.

    Parameters
    ----------
    X, y
        Rows, and labels (n,) of three classes or more, or outputs (n, m).
    direct
        The learner that takes all at once; by default a tree by entropy, or kernel ridge regression.
    reductions
        Learners by name that reduce the problem; by default the same learner one-vs-rest and one-vs-one, or for each
        output alone.
    folds, repeats, seed
        Of the cross-validation, which is the same for all.
    loss
        By default errors for classes, squared error averaged over outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> print(compare_reductions(*load_iris(return_X_y=True)))
    learner      mean error  sd       p-value of the difference to direct
    direct       0.0...
    one-vs-rest  0.0...
    one-vs-one   0.0...
    10 splits, the same for all; corrected resampled t-test
    """
    y = np.asarray(y)
    outputs = y.ndim == 2 and y.shape[1] > 1
    if not outputs and (kinds := len(np.unique(y))) < 3:
        raise ValueError(f"a reduction needs three classes or more, or two outputs or more; y has {kinds} values")
    if direct is None:
        direct = make_kernel_ridge(columns=np.shape(X)[1]) if outputs else _entropy_tree(seed)
    if reductions is None:
        reductions = {"one by one": MultiOutputRegressor(direct)} if outputs else _class_reductions(direct)
    kind = RepeatedKFold if outputs else RepeatedStratifiedKFold
    splits = splits_of(direct, X, y, cv=kind(n_splits=folds, n_repeats=repeats, random_state=seed))
    measure = loss or (_mean_squared if outputs else default_loss(direct))
    found = cross_validate(direct, X, y, cv=splits, loss=measure)
    judged = {name: cross_validate(model, X, y, cv=splits, loss=measure) for name, model in reductions.items()}
    return ReductionReport(
        found,
        tuple(
            ReductionResult(name, losses, corrected_resampled_t(found.test, losses.test, found.n_train, found.n_test))
            for name, losses in judged.items()
        ),
    )


def _entropy_tree(seed: int) -> Model:
    from fivefold.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(criterion="entropy", random_state=seed)


def _class_reductions(direct: Model) -> dict[str, Model]:
    from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier

    return {"one-vs-rest": OneVsRestClassifier(direct), "one-vs-one": OneVsOneClassifier(direct)}


def _mean_squared(X: Table, y: Target, predicted: Target) -> Array:
    return ((np.asarray(y) - predicted) ** 2).mean(axis=1)


def _verdict(name: str, test: Comparison) -> str:
    if not test.rejected:
        return "no difference shown"
    return f"{DIRECT_NAME if test.estimate < 0 else name} errs less"

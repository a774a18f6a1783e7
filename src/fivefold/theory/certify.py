"""What error a fitted classifier will have on new data, by every bound that applies.

Each of k bounds holds with probability 1 - delta / k; they hold together with probability 1 - delta, so the smallest is
a bound too. A bound that is never below another one cannot be the smallest, and gets no part of delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import Estimator
from fivefold.core.estimators.training_rows import Origin, TrainingRows
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Table, UserTable, UserTarget, UserWeights
from fivefold.evaluation.protocols import FittedModel
from fivefold.theory.bounds import THE_MODEL, Bound, BoundValue, Case, NotApplicable, Rows, registered_bounds
from fivefold.theory.certificate import Certificate, by_reason

HOW_TO_HELP = (
    "Rows that were held out certify any classifier: keep some out of fit and pass them. Training rows certify models "
    "whose size can be counted: trees, rules, linear and kernel classifiers, votes"
)


SETTINGS = ("folds", "ranges", "draws", "seed")  # of single bounds; see `certify`


class CertificateError(ValueError):
    """A certificate that would not mean what it says."""


def certify(
    model: FittedModel,
    X: UserTable,
    y: UserTarget,
    delta: float = 0.05,
    *,
    rows: Rows | None = None,
    groups: ArrayLike | None = None,
    time: ArrayLike | None = None,
    sample_weight: UserWeights = None,
    **settings: Any,
) -> Certificate:
    """Bound the error of a fitted classifier on new data, from labelled rows.

    Parameters
    ----------
    model
        a fitted classifier, ours or one with scikit-learn's methods.
    X, y
        labelled rows, independent of one another: those the model was fitted to, or others.
    delta
        probability that the certificate may be wrong.
    rows
        "held out" or "training". Our classifiers know their training rows, so this may be left out; others do not.
    groups, time
        say that rows depend on one another; every bound is then refused.
    sample_weight
        refused: a bound counts rows.
    settings
        what single bounds ask for: `folds`, the errors and rows of each fold of a cross-validation; `ranges` of the
        columns that were known beforehand, for codes; `draws` and `seed`, of rules that can only be drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> found = certify(model, X[1::2], y[1::2])
    >>> found.rows, round(found.risk, 4), round(found.bound, 4)
    ('held out', 0.0704, 0.1007)
    """
    delta = _probability(delta)
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise CertificateError(f"certify has no setting {', '.join(unknown)}; bounds ask for {', '.join(SETTINGS)}")
    _refuse_dependence(groups, time, sample_weight)
    _refuse_other_models(model)
    labels = np.asarray(to_numpy(y))
    if labels.ndim != 1 or len(labels) == 0:
        raise CertificateError(f"y must hold one label per row, of one row at least; got shape {labels.shape}")
    table = _admit(model, X)
    if table.shape[0] != len(labels):
        raise CertificateError(f"X has {table.shape[0]} rows and y has {len(labels)} labels; give one label per row")
    kind = _kind_of_rows(model, X, len(labels), rows)
    wrong = (np.asarray(to_numpy(model.predict(X))) != labels).astype(float)
    bare, table = _without_preparation(model, X, table, settings) if kind == "training" else (model, table)
    return certify_case(Case(bare, table, labels, wrong, kind, settings), delta)


def _without_preparation(
    model: Any, X: UserTable, table: Table, settings: Mapping[str, Any]
) -> tuple[Any, Table]:  # a pipeline of any models
    """The last step of a pipeline whose other steps leave these numbers as they are; otherwise the model itself.

    Steps that learn from the rows are a part of the model that no bound on training rows counts: for a prior or a code,
    they saw the rows that they are judged on. Only folds, in which they learned from the other rows, certify them.
    """
    if not isinstance(model, Pipeline) or len(model.steps) < 2:
        return model, table
    ready = to_numpy(model[:-1].transform(X))
    given = np.asarray(to_numpy(X) if not hasattr(X, "to_numpy") else X.to_numpy())
    same = ready.shape == given.shape and given.dtype.kind in "biuf" and np.array_equal(ready, given, equal_nan=True)
    if same:
        return model[-1], _admit(model[-1], ready)
    if "folds" not in settings:
        steps = ", ".join(type(step).__name__ for _, step in model.steps[:-1])
        raise CertificateError(
            f"{steps} learned from the rows that the model is judged on, so that its prior, its code or its scale "
            "would have seen them. Prepare the columns by constants that are known without the rows, pass rows that "
            "were held out, or pass folds=[(errors, rows), ...] of a cross-validation of the whole pipeline"
        )
    return model, table


def certify_case(case: Case, delta: float) -> Certificate:
    """The certificate of a model whose rows are known to be held out, or trained on."""
    found, inapplicable = evaluate_bounds(case, delta)
    if not found:
        reasons = "".join(f"\n  {'; '.join(names)}: {reason}" for reason, names in by_reason(inapplicable).items())
        raise CertificateError(
            f"no bound on {case.rows} rows applies to {type(case.model).__name__}.{reasons}\n{HOW_TO_HELP}"
        )
    parts = dict(sorted(((one.name, one.value) for one in found), key=lambda part: part[1]))
    own = undominated(found)
    shared = [one.bound(case, delta / len(own)) for one in own] if len(own) > 1 else [one.found for one in own]
    best = min(range(len(shared)), key=lambda i: shared[i].value, default=None)
    cards = [one.bound.card for one in (found if best is None else [own[best]])]
    return Certificate(
        risk=case.risk,
        bound=1.0 if best is None else shared[best].value,
        parts=parts,
        n=case.n,
        delta=delta,
        assumptions=tuple(dict.fromkeys(text for card in cards for text in card.assumptions)),
        rows=case.rows,
        predictors={one.name: one.found.predictor for one in found if one.found.predictor != THE_MODEL},
        inapplicable=inapplicable,
    )


@dataclass(frozen=True)
class Evaluated:
    """A bound that applies, with its value at the whole of delta."""

    bound: Bound
    found: BoundValue

    @property
    def name(self) -> str:
        """Of the bound."""
        return self.bound.card.name

    @property
    def value(self) -> float:
        """The bound of the error."""
        return self.found.value


def evaluate_bounds(case: Case, delta: float) -> tuple[list[Evaluated], dict[str, str]]:
    """Every bound for these rows that applies, each at delta, and the reasons of the others."""
    found, inapplicable = [], {}
    for bound in registered_bounds(case.rows):
        try:
            found.append(Evaluated(bound, bound(case, delta)))
        except NotApplicable as reason:
            inapplicable[bound.card.name] = str(reason)
    return found, inapplicable


def undominated(found: Sequence[Evaluated]) -> list[Evaluated]:
    """The bounds of the model itself that may be the smallest: no other of them is never above them."""
    own = [one for one in found if one.found.predictor == THE_MODEL]
    beaten = {name for one in own for name in one.bound.card.never_above}
    return [one for one in own if one.name not in beaten]


def origin_of(model: FittedModel, X: UserTable) -> Origin:
    """Were the rows of X trained on? Our classifiers know; "unknown" for others, and for rows with many copies."""
    model, X = _last_step(model, X)
    known = vars(model).get("training_rows_") if isinstance(model, Estimator) else None
    return known.compare(_admit(model, X)) if isinstance(known, TrainingRows) else "unknown"


def _last_step(model: Any, X: UserTable) -> tuple[Any, UserTable]:  # a pipeline or search around any model
    """The classifier within pipelines and searches, and the table that it sees."""
    while True:
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            X, model = model[:-1].transform(X), model[-1]
        elif hasattr(model, "training_rows_"):
            return model, X
        elif (inner := _fitted_within(model)) is not None:
            model = inner
        else:
            return model, X


def _fitted_within(model: Any) -> Any:  # as `_last_step`
    """A model that was fitted to the same rows: of a search, a wrapper, or the first of a vote."""
    for name in ("best_estimator_", "estimator_"):
        if hasattr(model, name):
            return getattr(model, name)
    return model.estimators_[0] if hasattr(model, "voting") and hasattr(model, "estimators_") else None


def _kind_of_rows(model: FittedModel, X: UserTable, n: int, said: Rows | None) -> Rows:
    """Held-out or training rows, as the model knows or the caller says; a contradiction is refused."""
    if said not in (None, "held out", "training"):
        raise CertificateError(f'rows must be "held out" or "training"; got {said!r}')
    origin, name = origin_of(model, X), type(model).__name__
    if origin == "mixed":
        raise CertificateError(
            f"{name} was trained on some of these {n} rows and not on others. Pass the rows of its fit, whole, or rows "
            "that are not among them"
        )
    if origin == "training" and said == "held out":
        raise CertificateError(
            f"{name} was trained on these {n} rows: its errors on them are no test. Pass rows that were held out, or "
            'rows="training" for the bounds that hold on the training sample'
        )
    if origin == "new" and said == "training":
        raise CertificateError(
            f'{name} was not trained on these {n} rows. Pass rows="held out", or the rows of its fit, whole'
        )
    if origin in ("training", "new"):
        return "training" if origin == "training" else "held out"
    if said is None:
        raise CertificateError(
            f'{name} does not tell whether it was trained on these rows. Say it: rows="held out" if neither its fit '
            'nor any choice has seen them, rows="training" if they are all the rows of its fit'
        )
    return said


def _probability(delta: float) -> float:
    try:
        if 0 < float(delta) < 1:
            return float(delta)
    except (TypeError, ValueError):
        pass
    raise CertificateError(
        f"delta is the probability that the certificate is wrong, between 0 and 1 such as 0.05; got {delta!r}"
    )


def _refuse_dependence(groups: ArrayLike | None, time: ArrayLike | None, sample_weight: UserWeights) -> None:
    """Rows that depend on one another, and rows that count more than others."""
    if groups is not None:
        raise CertificateError(
            "groups were given: rows of one group depend on one another, and every bound here counts independent rows. "
            "Take one row per group at random, in fit and here; the certificate then holds for rows of new groups"
        )
    if time is not None:
        raise CertificateError(
            "times were given: rows in order of time depend on one another, and new rows come later than all of these. "
            "No bound here holds for them; score the model on the latest rows instead"
        )
    if sample_weight is not None:
        raise CertificateError(
            "sample_weight was given: a bound counts independent rows, and a row of weight two is not two of them. "
            "Without weights the certificate holds for new rows drawn as these were"
        )


def _refuse_other_models(model: Any) -> None:  # whatever was passed
    if not hasattr(model, "predict"):
        raise CertificateError(f"a fitted classifier is certified; got {type(model).__name__}, which does not predict")
    if not is_classifier(model):
        raise CertificateError(
            f"{type(model).__name__} is no classifier: a bound needs errors that lie between 0 and 1, and those of a "
            "regression can be arbitrarily large. Cut the losses of held-out rows to [0, 1] and pass their sum to "
            "certify_holdout(..., zero_one=False)"
        )
    check_is_fitted(model)


def _admit(model: Any, X: UserTable) -> Table:  # as `_refuse_other_models`
    """The rows as the model admits them; as an array for models of other libraries."""
    if isinstance(model, Estimator):
        return model._admit(X)
    return X if hasattr(X, "shape") else np.asarray(X)

"""Occam bounds as certificates: their values, what goes into them, and models that they say nothing about."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fivefold.information.occam_bounds import exact_bound, root_bound
from fivefold.neighbors import KNeighborsClassifier
from fivefold.theory import NotApplicable, describe, registered_bounds
from fivefold.theory.bounds import Case
from fivefold.theory.occam import binomial_bound, kl_bound, occam_interval
from fivefold.tree import DecisionTreeClassifier

X, Y = load_breast_cancer(return_X_y=True)
FORMS = {
    "Occam, square root": root_bound,
    "Occam, relative": exact_bound,
    "Occam, KL form": kl_bound,
    "Occam, binomial form": binomial_bound,
}
BOUNDS = {bound.card.name: bound for bound in registered_bounds("training")}


def case_of(model, **settings):
    return Case(model, X, Y, (model.predict(X) != Y).astype(float), "training", settings)


@pytest.mark.parametrize("name", FORMS)
def test_a_certificate_is_the_bound_of_the_errors_and_the_described_bits(name):
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, Y)
    case, bits = case_of(model), describe(model).bits
    found = BOUNDS[name](case, 0.1)
    assert found.value == pytest.approx(min(1.0, float(FORMS[name](case.errors, bits, len(Y), 0.1))), rel=1e-12)
    assert found.details["bits"] == bits
    if name == "Occam, square root":
        assert found.details["lower limit"] == occam_interval(case.errors, bits, len(Y), 0.1)[0]


def test_ranges_are_passed_on_and_shorten_the_description():
    ranges = np.column_stack([np.zeros(30), 2.0 ** np.ceil(np.log2(X.max(axis=0)))])
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, Y)
    found = BOUNDS["Occam, KL form"](case_of(model, ranges=ranges), 0.05)
    assert found.details["bits"] == describe(model, ranges).bits


@pytest.mark.parametrize("name", FORMS)
def test_a_model_that_no_short_text_holds_has_no_occam_bound(name):
    with pytest.raises(NotApplicable, match="KNeighborsClassifier has no code length here"):
        BOUNDS[name](case_of(KNeighborsClassifier().fit(X, Y)), 0.05)


def test_the_exact_forms_take_no_part_of_delta_for_those_they_are_never_above():
    assert BOUNDS["Occam, binomial form"].card.never_above == (
        "Occam, square root",
        "Occam, relative",
        "Occam, KL form",
    )
    assert all(set(BOUNDS[name].card.never_above) <= set(FORMS) for name in FORMS)

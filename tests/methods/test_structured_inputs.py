"""Strings, graphs, trees and sets as inputs of estimators: through validation, searches and pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fivefold.decomposition import KernelPCA
from fivefold.kernels import RBF
from fivefold.kernels.structured import (
    AlignmentScore,
    EmpiricalKernelMap,
    SetKernel,
    SharedElements,
    SpectrumKernel,
    TreeKernel,
    WeisfeilerLehman,
)
from fivefold.linear_model import LogisticRegression
from fivefold.svm import SVC

rng = np.random.RandomState(16)
y = np.arange(48) % 2


def string(c):
    return "".join(rng.choice(list("ACGT"), p=[0.4, 0.2, 0.2, 0.2] if c else [0.2, 0.4, 0.2, 0.2], size=60))


def graph(c):
    A = np.triu(rng.uniform(size=(12, 12)) < (0.4 if c else 0.15), 1)
    return (A + A.T).astype(int), [0] * 12


def tree(c, depth=4):
    if depth == 0:
        return str(rng.randint(2))
    return ("A" if rng.uniform() < (0.8 if c else 0.2) else "B", tree(c, depth - 1), tree(c, depth - 1))


STRINGS = [string(c) for c in y]
CASES = {
    "spectrum": (SpectrumKernel(2).normalised(), STRINGS),
    "alignment": (EmpiricalKernelMap(AlignmentScore(), STRINGS[:10]).normalised(), STRINGS),
    "graphs": (WeisfeilerLehman(1).normalised(), [graph(c) for c in y]),
    "trees": (TreeKernel(0.5).normalised(), [tree(c) for c in y]),
    "sets": (SharedElements(share=True), [set(rng.choice(20, 6) + 8 * c) for c in y]),
    "bags": (SetKernel(RBF(), mean=True), [rng.normal(c, 1, size=(rng.randint(3, 6), 2)).tolist() for c in y]),
}


@pytest.mark.parametrize("name", CASES)
def test_objects_of_any_kind_are_classified_and_validated(name):
    kernel, X = CASES[name]
    found = cross_validate(SVC(kernel=kernel, C=10.0), X, y, cv=3)["test_score"]
    assert found.mean() > 0.65
    direct = SVC(kernel="precomputed", C=10.0).fit(kernel(X), y)
    model = SVC(kernel=kernel, C=10.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), direct.decision_function(kernel(X)), rtol=1e-3, atol=1e-3)


def test_a_search_chooses_parameters_of_a_kernel_of_strings():
    search = GridSearchCV(SVC(kernel=SpectrumKernel(3)), {"kernel__k": [1, 2, 30], "C": [1.0, 10.0]}, cv=3).fit(
        STRINGS, y
    )
    assert search.best_params_["kernel__k"] in (1, 2)
    assert search.best_estimator_.kernel.k == search.best_params_["kernel__k"]


def test_strings_pass_a_pipeline():
    lower = make_pipeline(FunctionTransformer(lambda texts: [t.lower() for t in texts]), SVC(kernel=SpectrumKernel(2)))
    assert np.mean(cross_val_predict(lower, STRINGS, y, cv=3) == y) > 0.65


@pytest.mark.parametrize("name", ["list", "object array", "series"])
def test_kernel_components_of_texts_are_those_of_their_kernel_matrix(name):
    draw = np.random.RandomState(4)
    words = ["".join(draw.choice(list("ACGT"), 12)) + "GATTACA" * (i % 2) for i in range(40)]
    labels, kernel = np.arange(40) % 2, SpectrumKernel(3)
    texts = {"list": words, "object array": np.array(words, dtype=object), "series": pd.Series(words)}[name]
    model = KernelPCA(3, kernel=kernel).fit(texts)
    given = KernelPCA(3, kernel="precomputed").fit(kernel(words))
    np.testing.assert_allclose(np.abs(model.transform(texts)), np.abs(given.transform(kernel(words))), atol=1e-10)
    np.testing.assert_allclose(model.fit_transform(texts), model.transform(texts), atol=1e-10)
    assert (model.reconstruction_error(texts) >= 0).all()
    pipeline = make_pipeline(KernelPCA(3, kernel=kernel), LogisticRegression())
    search = GridSearchCV(pipeline, {"kernelpca__kernel__k": [1, 3]}, cv=4).fit(texts, labels)
    assert search.best_score_ > 0.85 and search.predict(texts).shape == (40,)
    with pytest.raises(ValueError, match="texts or graphs: there are no rows"):
        KernelPCA(3, kernel=kernel, fit_inverse_transform=True).fit(texts)

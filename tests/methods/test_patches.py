"""Patches of images as templates, and the pipeline of hand-made features with a learner."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from study_tables import study_table

from fivefold.linear_model import LeastSquaresClassifier, LogisticRegression
from fivefold.preprocessing import PatchFeatures
from fivefold.study import make_plan
from fivefold.study.running.fold import evaluate_fold

DIGITS = load_digits(return_X_y=True)


class SpyPatches(PatchFeatures):
    """Notes the rows that templates are learned from, by the number in their first pixel."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, sample_weight=None):
        SpyPatches.seen.append(set(np.asarray(X)[:, 0].tolist()))
        return super().fit(X, y, sample_weight)


def test_templates_are_learned_from_the_training_rows_of_every_fold_alone():
    """A-11: a chain of a transformer and a learner, refitted inside each fold; a spy sees no test row."""
    X, y = DIGITS[0][:120].copy(), DIGITS[1][:120] % 2
    X[:, 0] = np.arange(120)  # every row has its name
    data = study_table(X, np.array(["even", "odd"])[y])
    chain = make_pipeline(SpyPatches(20, patch_size=4, random_state=0), LogisticRegression())
    plan = make_plan(data, [chain], score="accuracy", folds=3, repeats=1, holdout=0.2)
    names = np.asarray(data.X)[:, 0]  # in the study's own order
    for split in plan.splits:
        SpyPatches.seen.clear()
        fold = evaluate_fold(data, plan.learners[0], split, plan)
        assert fold.scores["accuracy"] > 0.5
        unseen = {*names[split.test].tolist(), *names[plan.holdout].tolist()}
        assert SpyPatches.seen
        for rows in SpyPatches.seen:
            assert rows
            assert not rows & unseen


def test_features_are_the_best_correlation_of_each_template_anywhere():
    """A-11: small patches taken as templates; against loops over places."""
    X = DIGITS[0][:6]
    model = PatchFeatures(5, patch_size=(3, 2), random_state=0).fit(X)
    assert model.templates_.shape == (5, 3, 2)
    found = model.transform(X)
    for image, row in zip(X.reshape(-1, 8, 8), found, strict=True):
        for template, value in zip(model.templates_, row, strict=True):
            best = -np.inf
            for i in range(6):
                for j in range(7):
                    patch = image[i : i + 3, j : j + 2]
                    patch = patch - patch.mean()
                    length = np.linalg.norm(patch)
                    best = max(best, float((template * patch).sum() / length) if length > 0 else 0.0)
            assert value == pytest.approx(best, abs=1e-12)
    assert_allclose(found.max(axis=0), 1)  # each was cut from one of these images
    lit = model.transform(3 * X + 5)
    assert_allclose(lit, found, atol=1e-12)  # brightness and contrast do not matter


def test_cells_tell_where_a_template_fits():
    corner = np.zeros((2, 8, 8))
    corner[0, :2, :2] = corner[1, 6:, 6:] = [[1, 0], [0, 1]]
    model = PatchFeatures(30, patch_size=2, cells=2, random_state=0).fit(corner.reshape(2, -1))
    Z = model.transform(corner.reshape(2, -1)).reshape(2, 4, 30)
    diagonal = int(np.argmax([abs(t[0, 0] - 0.5) < 1e-9 and abs(t[1, 1] - 0.5) < 1e-9 for t in model.templates_]))
    assert_allclose(Z[:, 0, diagonal], [1, 0], atol=1e-9)
    assert_allclose(Z[:, 3, diagonal], [0, 1], atol=1e-9)


def test_simple_features_help_a_learner_that_knows_nothing_of_images():
    """A-11: digits shifted about; a linear method on pixels is lost, on patches it is not."""
    rng = np.random.default_rng(0)
    X, y = DIGITS[0][:600], DIGITS[1][:600]
    wide = np.zeros((600, 12, 12))
    for image, digit, (i, j) in zip(wide, X.reshape(-1, 8, 8), rng.integers(0, 5, size=(600, 2)), strict=True):
        image[i : i + 8, j : j + 8] = digit
    wide = wide.reshape(600, -1)
    plain = LeastSquaresClassifier(alpha=100.0).fit(wide[:400], y[:400]).score(wide[400:], y[400:])
    chain = make_pipeline(PatchFeatures(300, patch_size=6, random_state=0), LeastSquaresClassifier(alpha=1.0))
    made = chain.fit(wide[:400], y[:400]).score(wide[400:], y[400:])
    assert made > plain + 0.1


def test_refusals():
    X = DIGITS[0][:5]
    with pytest.raises(ValueError, match=r"image_shape=\(7, 8\) has 56 pixels; X has 64 columns"):
        PatchFeatures(image_shape=(7, 8), random_state=0).fit(X)
    with pytest.raises(ValueError, match="patch_size must be 1 or more"):
        PatchFeatures(patch_size=(0, 2), random_state=0).fit(X)

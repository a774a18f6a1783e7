"""Selection of features that are more than chance: corrected p-values from permuted labels.

    keep feature j  if  adjusted p_j <= alpha

The p-values are those of beliefs/chance_structure.py: a score per feature, against the same score under permuted
labels, adjusted for the number of features.

Westfall & Young (1993); Holm (1979); Benjamini & Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, OpenFraction, Seed
from fivefold.core.estimators.supervised_learning import LabelTarget
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Labels, Mask, Matrix, Table, Target, UserTable, UserTarget, Weights
from fivefold.theory.beliefs.chance_structure import ChanceStructure, Correction, permutation_structure
from fivefold.theory.beliefs.feature_scores import TWO_CLASS_SCORES, ScoreName


@dataclass(frozen=True)
class SelectedFeatures:
    """Which features are kept, and why."""

    structure: ChanceStructure
    support: Mask  # (d,)


class SelectByPermutation(FloatTransformerMixin, LabelTarget):
    """Keep the features whose scores permuted labels do not reach, after a correction for their number.

    Parameters
    ----------
    statistic
        "t", "mean difference" and "auc" for two classes, "F" and "mutual information" (of quantile bins) for any
        number. Features are compared with each other by "westfall-young": take "mean difference" only for columns of
        one unit.
    correction
        "westfall-young" and "holm" keep the probability of any false discovery at alpha, "benjamini-hochberg" the
        expected share of false ones; "none" takes each feature by itself.
    alpha
        the level.
    permutations
        of the labels; all of them where there are no more. Holm and Benjamini-Hochberg need many: a feature passes by
        itself only with at least d / alpha.
    random_state
        seed of the permutations.

    Attributes
    ----------
    structure_
        scores, p-values and what chance gives: `print` it.
    scores_
        the score of each feature.
    pvalues_
        adjusted p-values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((20, 2000)), np.repeat([0, 1], 10)
    >>> X[:, 7] += 6 * y
    >>> model = SelectByPermutation(statistic="t", random_state=0).fit(X, y)
    >>> model.get_support(indices=True), int(model.structure_.significant("none").sum())
    (array([7]), 104)
    """

    statistic: ScoreName = "F"
    _: KW_ONLY
    correction: Correction = "westfall-young"
    alpha: OpenFraction = 0.05
    permutations: Count = 1000
    random_state: Seed = None

    card = Card(
        applications=("dimension reduction", "data mining"),
        use="Thousands of columns and few rows, where some columns separate the classes by chance.",
        steps=(
            "Score every column by how it separates the classes.",
            "Score them again under many permutations of the labels.",
            "Keep columns whose scores chance does not reach, corrected for the number of columns.",
        ),
        source="Westfall & Young (1993); Holm (1979); Benjamini & Hochberg (1995)",
        see_also=("LinearDiscriminantAnalysis", "LassoCV"),
        variants=({"statistic": "mutual information", "permutations": 199}, {"correction": "none", "permutations": 99}),
    )
    takes = Takes(one_class=False)

    structure_ = learned("structure")
    scores_ = learned("structure.scores")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget) -> Self:
        """Score the features of X by the labels y and by permutations of them."""
        return self._fit_admitted(X, y, None)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        name, K = type(self).__name__, len(self.classes_)
        if K > 2 and self.statistic in TWO_CLASS_SCORES:
            raise ValueError(
                f"{name}: statistic={self.statistic!r} compares two classes, but y holds {K}; take 'F' or 'mutual "
                "information'"
            )
        names = getattr(self, "feature_names_in_", None)
        found = permutation_structure(
            X,
            y,
            np.array([f"x{j}" for j in range(X.shape[1])], dtype=object) if names is None else names,
            statistic=self.statistic,
            permutations=self.permutations,
            alpha=self.alpha,
            rng=check_random_state(self.random_state),
        )
        self.model_ = SelectedFeatures(found, found.significant(self.correction))

    @property
    def pvalues_(self) -> Matrix:
        return self.model_.structure.adjusted(self.correction)

    def get_support(self, indices: bool = False) -> Mask | Indices:
        """Which features are kept: a mask, or their numbers."""
        kept: Mask = self.model_.support
        return np.flatnonzero(kept) if indices else kept

    def transform(self, X: UserTable) -> Matrix:
        """The columns that are kept."""
        X = self._admit(X)
        kept: Mask = self.model_.support
        if not kept.any():
            warn(f"{type(self).__name__}: no feature is more than chance at alpha={self.alpha:g}: no column is left")
        return X[:, kept]

    def inverse_transform(self, X: UserTable) -> Matrix:
        """Rows with the kept columns in their places, and zero elsewhere."""
        kept: Mask = self.model_.support
        Z = np.asarray(X)
        if Z.ndim != 2 or Z.shape[1] != kept.sum():
            raise ValueError(f"{type(self).__name__} kept {kept.sum()} columns; got an array of shape {Z.shape}")
        out = np.zeros((len(Z), len(kept)), dtype=Z.dtype)
        out[:, kept] = Z
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names of the columns that are kept."""
        names: Labels = _check_feature_names_in(self, input_features)[self.model_.support]
        return names


def chance_structure(
    X: UserTable,
    y: UserTarget,
    *,
    statistic: ScoreName = "F",
    alpha: float = 0.05,
    permutations: int = 1000,
    random_state: Seed = None,
) -> ChanceStructure:
    """How many features separate the classes, how many would by chance, and which are left after correction.

    Parameters are those of `SelectByPermutation`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((20, 2000)), np.repeat(["a", "b"], 10)
    >>> found = chance_structure(X, y, statistic="t", random_state=0)
    >>> print(found)
    103 of 2000 features have p <= 0.05 by t; permuted labels give 99.9 on average, and as many with probability 0.394
      westfall-young      0 left
      holm                0 left
      benjamini-hochberg  0 left
      of p-values from 1000 permutations, one alone passes neither Holm nor Benjamini-Hochberg: that takes 39999
      x475: -3.87, p = 0.000999, adjusted 0.889; 2.3 as good by chance
      x65: 3.807, p = 0.004, adjusted 0.917; 2.6 as good by chance
      x1239: -3.679, p = 0.000999, adjusted 0.958; 3.4 as good by chance
    """
    model = SelectByPermutation(statistic, alpha=alpha, permutations=permutations, random_state=random_state)
    structure: ChanceStructure = model.fit(X, y).structure_
    return structure

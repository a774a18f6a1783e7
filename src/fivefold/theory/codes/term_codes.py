"""Codes of sums of terms: sparse linear rules whose terms are columns, squares, tests, small trees or formulas.

    term    log2 of the number of kinds, the feature, and its weight as a double
    sum     len(k) + its k terms - log2 (k - 1)!          one sum for two classes, else one per class

The lengths with which the learner itself chose its terms are shorter: they measure weights and thresholds by the ranges
of the training rows, which a bound on these rows may not know.
"""

from __future__ import annotations

from math import log2

import numpy as np
from numpy.typing import ArrayLike

from fivefold.ensemble.sparse_linear import SparseLinearClassifier
from fivefold.ensemble.sparse_terms.term_features import (
    Feature,
    FormulaFeature,
    RawFeature,
    SquaredFeature,
    ThresholdFeature,
    TreeFeature,
)
from fivefold.information.number_lengths import list_bits
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.codes.descriptions import ColumnCodes, Description, describe, description
from fivefold.theory.codes.number_codes import double_bits

KINDS = (RawFeature, SquaredFeature, ThresholdFeature, TreeFeature, FormulaFeature)


@describe.register
def _(model: SparseLinearClassifier, ranges: ArrayLike | None = None) -> Description:
    codes = ColumnCodes.of(model, ranges)
    terms = [term for rule in model.rules_ for term in rule.terms]
    features = [term.feature for rule in model.rules_ for term in rule.terms[1:]]
    parts = {
        "terms": sum(list_bits(0.0, 0.0, len(rule.terms)) for rule in model.rules_),
        "features": sum(log2(len(KINDS)) + _feature_bits(feature, codes) for feature in features),
        "thresholds": codes.threshold_bits(cut for feature in features for cut in _cuts(feature)),
        "weights": sum(double_bits(term.weight) for term in terms),
    }
    return description("sum of terms", parts, codes.assumptions)


def _feature_bits(feature: Feature, codes: ColumnCodes) -> float:
    """Bits of a feature but for its thresholds."""
    if not isinstance(feature, KINDS):
        raise NotApplicable(
            f"a term of this rule is a {type(feature).__name__}, a model whose length is not known. Fit "
            "SparseLinearClassifier without Models(...) among its features"
        )
    if isinstance(feature, FormulaFeature):
        return feature.formula.bits(codes.columns)
    if isinstance(feature, TreeFeature):
        leaves = len(feature.tree.leaves)
        return (leaves - 1) * (1 + codes.bits) + 2 * leaves  # the last bit of a leaf is its sign
    return codes.bits


def _cuts(feature: Feature) -> list[tuple[int, float]]:
    """The thresholds of a feature, with their columns."""
    if isinstance(feature, TreeFeature):
        inner = np.flatnonzero(feature.tree.feature >= 0)
        return list(zip(feature.tree.feature[inner].tolist(), feature.tree.threshold[inner].tolist(), strict=True))
    return [(feature.column, feature.threshold)] if isinstance(feature, ThresholdFeature) else []

"""Codes of votes: the members, each with its weight, as AdaBoost has them.

len(vote) = len(M) + sum over members (len(weight) + len(member))
"""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fivefold.ensemble.adaboost import AdaBoostClassifier
from fivefold.information.number_lengths import integer_bits
from fivefold.theory.codes.descriptions import Description, describe, description
from fivefold.theory.codes.number_codes import double_bits


@describe.register
def _(model: AdaBoostClassifier, ranges: ArrayLike | None = None) -> Description:
    check_is_fitted(model)
    members = [describe(member, ranges) for member in model.model_.estimators]
    parts = {
        "number of members": integer_bits(len(members)),
        "weights": sum(map(double_bits, model.model_.weights)),
        "members": sum(member.bits for member in members),
    }
    assumptions = tuple(dict.fromkeys(text for member in members for text in member.assumptions))
    return description("weighted vote", parts, assumptions)

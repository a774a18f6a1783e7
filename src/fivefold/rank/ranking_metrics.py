"""How well scores order the rows of queries, by the pairs whose grades differ.

    pairwise accuracy     share of pairs in the right order, ties counting half; for two grades the area under the ROC
    misranked pairs       pairs in the wrong order, ties included where they count
    soft ranking error    sum over pairs (u, v) of max(0, margin + s_v - s_u)

Each takes grades, scores, row weights (the weight of a pair is the product of the two) and the queries of the rows, and
costs n log n. Gains at the top of a list are judged by sklearn.metrics.ndcg_score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from fivefold.core.console.user_warnings import warn
from fivefold.core.types import UserTarget, UserWeights
from fivefold.rank.pairwise.pair_loops import PairHinge, close_pairs, pair_terms
from fivefold.rank.pairwise.ranking_pairs import Queries, UserGroups


def pairwise_accuracy(
    y: UserTarget, score: ArrayLike, *, sample_weight: UserWeights = None, groups: UserGroups = None
) -> float:
    """Share of the pairs of different grade that the scores put in the right order; a tie counts half.

    >>> pairwise_accuracy([0, 0, 1, 2], [0.1, 0.4, 0.3, 0.9])
    0.8
    """
    queries = Queries.of(y, groups, sample_weight)
    if not queries.total > 0:
        warn(
            "no two rows of one query differ in grade: there is no pair to be in order, and the share is not defined",
            UndefinedMetricWarning,
        )
        return float("nan")
    wrong, tied = _disorder(queries, score)
    return float(1.0 - (wrong + 0.5 * tied) / queries.total)


def misranked_pairs(
    y: UserTarget, score: ArrayLike, *, sample_weight: UserWeights = None, groups: UserGroups = None, ties: bool = True
) -> float:
    """Number of pairs of different grade in the wrong order; with `ties`, tied pairs count too.

    >>> misranked_pairs([0, 0, 1, 2], [0.1, 0.4, 0.3, 0.9])
    1.0
    """
    wrong, tied = _disorder(Queries.of(y, groups, sample_weight), score)
    return float(wrong + tied * ties)


def soft_ranking_error(
    y: UserTarget,
    score: ArrayLike,
    *,
    margin: float = 0.0,
    sample_weight: UserWeights = None,
    groups: UserGroups = None,
) -> float:
    """Sum over pairs of different grade of how far their scores fall short of the margin.

    >>> round(soft_ranking_error([0, 0, 1, 2], [0.1, 0.4, 0.3, 0.9]), 9)
    0.1
    """
    queries = Queries.of(y, groups, sample_weight)
    scores = np.asarray(score, dtype=np.float64)[queries.order]
    return float(pair_terms(PairHinge(margin), queries, scores)[0])


def _disorder(queries: Queries, score: ArrayLike) -> tuple[float, float]:
    """Weight of the pairs in the wrong order, and of those tied."""
    # ranks are integers: margins of -1/2 and 1/2 separate wrong from tied without rounding
    places = np.unique(np.asarray(score, dtype=np.float64), return_inverse=True)[1][queries.order].astype(np.float64)
    wrong = close_pairs(-0.5, queries, places)
    return wrong, close_pairs(0.5, queries, places) - wrong

"""Ranking: rankers learned from pairs of rows, and measures of how well scores order rows."""

from fivefold.rank.kernel_ranker import KernelRanker as KernelRanker
from fivefold.rank.linear_ranker import LinearRanker as LinearRanker
from fivefold.rank.pairwise.ranking_pairs import Pairs as Pairs
from fivefold.rank.pairwise.ranking_pairs import Queries as Queries
from fivefold.rank.ranking_metrics import misranked_pairs as misranked_pairs
from fivefold.rank.ranking_metrics import pairwise_accuracy as pairwise_accuracy
from fivefold.rank.ranking_metrics import soft_ranking_error as soft_ranking_error
from fivefold.rank.ranking_perceptron import RankingPerceptron as RankingPerceptron

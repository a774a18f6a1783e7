from fivefold.rank.linear import LinearRanker as LinearRanker
from fivefold.rank.metrics import misranked_pairs as misranked_pairs
from fivefold.rank.metrics import pairwise_accuracy as pairwise_accuracy
from fivefold.rank.metrics import soft_ranking_error as soft_ranking_error
from fivefold.rank.pairs import Pairs as Pairs
from fivefold.rank.pairs import Queries as Queries
from fivefold.rank.perceptron import RankingPerceptron as RankingPerceptron

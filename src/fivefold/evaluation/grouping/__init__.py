"""How many groups has a table, if any: choices of K, and one test of all of them against data without groups."""

from fivefold.evaluation.grouping.count_choice import CountChoice as CountChoice
from fivefold.evaluation.grouping.count_choice import gap_statistic as gap_statistic
from fivefold.evaluation.grouping.count_choice import mean_silhouettes as mean_silhouettes
from fivefold.evaluation.grouping.count_choice import mixture_bic as mixture_bic
from fivefold.evaluation.grouping.group_search import GroupSearch as GroupSearch
from fivefold.evaluation.grouping.group_search import SearchPlan as SearchPlan
from fivefold.evaluation.grouping.group_search import search_groups as search_groups
from fivefold.evaluation.grouping.resampled_stability import Stability as Stability
from fivefold.evaluation.grouping.resampled_stability import stability as stability

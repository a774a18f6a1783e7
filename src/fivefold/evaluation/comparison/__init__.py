"""Tests between learners; each result says what was found, how certain it is, and what it assumes.

| numbers                                             | test                                                         |
|-----------------------------------------------------|--------------------------------------------------------------|
| scores on the same splits of one data set           | corrected_resampled_t, bayesian_correlated_t; compare_all    |
| losses on the same splits, and of every test row      | compare_with_best: worse, practically equal or undecided     |
| scores on five halvings                             | five_by_two_f, five_by_two_t                                 |
| right or wrong, row by row of one test set          | mcnemar_test; permutation_test for any loss                  |
| one score per data set, two learners                | wilcoxon_test, sign_test, permutation_test                   |
| one score per data set, several learners            | friedman_test, then nemenyi or against_control               |
| scores on different samples                         | unpaired_t                                                   |
"""

from fivefold.evaluation.comparison.all_pairs import Pair as Pair
from fivefold.evaluation.comparison.all_pairs import Pairs as Pairs
from fivefold.evaluation.comparison.all_pairs import compare_all as compare_all
from fivefold.evaluation.comparison.equivalence import Equivalence as Equivalence
from fivefold.evaluation.comparison.equivalence import bayesian_correlated_t as bayesian_correlated_t
from fivefold.evaluation.comparison.five_by_two import five_by_two_f as five_by_two_f
from fivefold.evaluation.comparison.five_by_two import five_by_two_t as five_by_two_t
from fivefold.evaluation.comparison.friedman import Friedman as Friedman
from fivefold.evaluation.comparison.friedman import against_control as against_control
from fivefold.evaluation.comparison.friedman import friedman_test as friedman_test
from fivefold.evaluation.comparison.friedman import nemenyi as nemenyi
from fivefold.evaluation.comparison.holm import holm as holm
from fivefold.evaluation.comparison.mcnemar import mcnemar_test as mcnemar_test
from fivefold.evaluation.comparison.pairing import same_splits as same_splits
from fivefold.evaluation.comparison.permutation import permutation_test as permutation_test
from fivefold.evaluation.comparison.rank_tests import sign_test as sign_test
from fivefold.evaluation.comparison.rank_tests import wilcoxon_test as wilcoxon_test
from fivefold.evaluation.comparison.result import Comparison as Comparison
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t as corrected_resampled_t
from fivefold.evaluation.comparison.t_tests import one_sample_t as one_sample_t
from fivefold.evaluation.comparison.t_tests import paired_t as paired_t
from fivefold.evaluation.comparison.t_tests import t_over_folds as t_over_folds
from fivefold.evaluation.comparison.t_tests import unpaired_t as unpaired_t
from fivefold.evaluation.comparison.with_best import RowLosses as RowLosses
from fivefold.evaluation.comparison.with_best import Verdict as Verdict
from fivefold.evaluation.comparison.with_best import compare_with_best as compare_with_best

"""Concentration of a mean: how far the mean m of n independent values strays from its expectation mu.

    Hoeffding              P(m <= mu - e)  <=  exp(-2 n e^2)            the same above; twice that on both sides
    relative Chernoff      P(m <= mu - e)  <=  exp(-n e^2 / (2 mu))     Angluin-Valiant: better where mu < 1/4
    Chernoff, in KL form   P(m <= q)       <=  exp(-n KL(q, mu))        q <= mu; better than both everywhere
    binomial               P(m <= q)        =  P(Bin(n, mu) <= n q)     errors that are 0 or 1: exact
    Chebyshev, Bernstein, betting                                       better where the variance is small
    Gaussian                                                            approximate: no guarantee

for values in [0, 1]. Solved for mu at a probability of delta, all but the last are upper limits that fail with
probability at most delta. All functions take numbers or arrays, which are broadcast against each other.
"""

from fivefold.theory.concentration.betting_bounds import betting_interval as betting_interval
from fivefold.theory.concentration.betting_bounds import betting_upper as betting_upper
from fivefold.theory.concentration.binomial_tails import binomial_interval as binomial_interval
from fivefold.theory.concentration.binomial_tails import binomial_tail as binomial_tail
from fivefold.theory.concentration.binomial_tails import binomial_upper as binomial_upper
from fivefold.theory.concentration.bound_arguments import ConfidenceLimits as ConfidenceLimits
from fivefold.theory.concentration.coverage import Coverage as Coverage
from fivefold.theory.concentration.coverage import measure_coverage as measure_coverage
from fivefold.theory.concentration.coverage import simulate_coverage as simulate_coverage
from fivefold.theory.concentration.gaussian_approximation import approximate_density as approximate_density
from fivefold.theory.concentration.gaussian_approximation import approximate_gaussian_tail as approximate_gaussian_tail
from fivefold.theory.concentration.gaussian_approximation import approximate_interval as approximate_interval
from fivefold.theory.concentration.gaussian_approximation import approximate_margin as approximate_margin
from fivefold.theory.concentration.gaussian_approximation import approximate_tail as approximate_tail
from fivefold.theory.concentration.gaussian_approximation import approximate_upper as approximate_upper
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_interval as hoeffding_interval
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_margin as hoeffding_margin
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_rows as hoeffding_rows
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_tail as hoeffding_tail
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_upper as hoeffding_upper
from fivefold.theory.concentration.kl_chernoff import binary_kl as binary_kl
from fivefold.theory.concentration.kl_chernoff import binary_kl_below as binary_kl_below
from fivefold.theory.concentration.kl_chernoff import kl_interval as kl_interval
from fivefold.theory.concentration.kl_chernoff import kl_largest as kl_largest
from fivefold.theory.concentration.kl_chernoff import kl_lower as kl_lower
from fivefold.theory.concentration.kl_chernoff import kl_moment as kl_moment
from fivefold.theory.concentration.kl_chernoff import kl_smallest as kl_smallest
from fivefold.theory.concentration.kl_chernoff import kl_tail as kl_tail
from fivefold.theory.concentration.kl_chernoff import kl_upper as kl_upper
from fivefold.theory.concentration.limit_comparison import LIMIT_FAMILIES as LIMIT_FAMILIES
from fivefold.theory.concentration.limit_comparison import LimitComparison as LimitComparison
from fivefold.theory.concentration.limit_comparison import LimitFamily as LimitFamily
from fivefold.theory.concentration.limit_comparison import compare_limits as compare_limits
from fivefold.theory.concentration.markov_inequality import markov_tail as markov_tail
from fivefold.theory.concentration.markov_inequality import markov_upper as markov_upper
from fivefold.theory.concentration.markov_inequality import tail_expectation as tail_expectation
from fivefold.theory.concentration.relative_chernoff import largest_variance as largest_variance
from fivefold.theory.concentration.relative_chernoff import relative_right_side as relative_right_side
from fivefold.theory.concentration.relative_chernoff import relative_tail as relative_tail
from fivefold.theory.concentration.relative_chernoff import relative_upper as relative_upper
from fivefold.theory.concentration.relative_chernoff import relative_upper_simple as relative_upper_simple
from fivefold.theory.concentration.union_bound import simultaneous as simultaneous
from fivefold.theory.concentration.union_bound import split_by_length as split_by_length
from fivefold.theory.concentration.union_bound import split_evenly as split_evenly
from fivefold.theory.concentration.variance_bounds import bernstein_upper as bernstein_upper
from fivefold.theory.concentration.variance_bounds import cantelli_margin as cantelli_margin
from fivefold.theory.concentration.variance_bounds import cantelli_tail as cantelli_tail
from fivefold.theory.concentration.variance_bounds import chebyshev_upper as chebyshev_upper
from fivefold.theory.concentration.variance_bounds import deviation_upper as deviation_upper
from fivefold.theory.concentration.variance_bounds import empirical_bernstein_margin as empirical_bernstein_margin
from fivefold.theory.concentration.variance_bounds import empirical_bernstein_upper as empirical_bernstein_upper
from fivefold.theory.concentration.variance_bounds import empirical_chebyshev_upper as empirical_chebyshev_upper

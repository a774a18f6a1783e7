"""PAC-Bayes: bounds on the error of rules drawn from a posterior, and posteriors over linear rules and votes.

posterior_bounds holds the bounds as functions of error, complexity, n and delta; certificates says what they mean for
fitted models.
"""

from fivefold.theory.pac_bayes.change_of_measure import change_of_measure as change_of_measure
from fivefold.theory.pac_bayes.change_of_measure import gibbs_table as gibbs_table
from fivefold.theory.pac_bayes.change_of_measure import posterior_complexity as posterior_complexity
from fivefold.theory.pac_bayes.feature_votes import FeatureVotePosterior as FeatureVotePosterior
from fivefold.theory.pac_bayes.gibbs_posterior import gibbs_posterior as gibbs_posterior
from fivefold.theory.pac_bayes.laplace_posteriors import LaplaceLinearPosterior as LaplaceLinearPosterior
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior as GaussianLinearPosterior
from fivefold.theory.pac_bayes.linear_posteriors import probit_loss as probit_loss
from fivefold.theory.pac_bayes.margin_complexities import margin_complexities as margin_complexities
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_lower as improved_kl_lower
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper as improved_kl_upper
from fivefold.theory.pac_bayes.posterior_bounds import kl_form_upper as kl_form_upper
from fivefold.theory.pac_bayes.posterior_bounds import relative_upper as relative_upper
from fivefold.theory.pac_bayes.posterior_bounds import square_root_margin as square_root_margin
from fivefold.theory.pac_bayes.stochastic_rules import StochasticRules as StochasticRules
from fivefold.theory.pac_bayes.stochastic_rules import sampled_bound as sampled_bound
from fivefold.theory.pac_bayes.votes import VoterErrors as VoterErrors
from fivefold.theory.pac_bayes.votes import c_bound as c_bound

"""PAC-Bayes: bounds on the error of rules drawn from a posterior, and posteriors over linear rules and votes.

posterior_bounds holds the bounds as functions of error, complexity, n and delta.
"""

from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior as GaussianLinearPosterior
from fivefold.theory.pac_bayes.linear_posteriors import probit_loss as probit_loss
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_lower as improved_kl_lower
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper as improved_kl_upper
from fivefold.theory.pac_bayes.posterior_bounds import kl_form_upper as kl_form_upper
from fivefold.theory.pac_bayes.posterior_bounds import relative_upper as relative_upper
from fivefold.theory.pac_bayes.posterior_bounds import square_root_margin as square_root_margin

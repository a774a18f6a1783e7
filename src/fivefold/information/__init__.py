"""Information theory: entropy, cross entropy, divergence and mutual information, of tables, samples and densities.

discrete.py takes probabilities, samples.py counts of a sample, neighbor_estimates.py rows of numbers, by distances to
neighbours, expectations.py distributions, by sums, quadrature or draws. occam_bounds.py turns the length of a rule
into a bound on its error.
"""

from fivefold.information.discrete import code_lengths as code_lengths
from fivefold.information.discrete import conditional_entropy as conditional_entropy
from fivefold.information.discrete import cross_entropy as cross_entropy
from fivefold.information.discrete import entropy as entropy
from fivefold.information.discrete import kl_divergence as kl_divergence
from fivefold.information.discrete import mutual_information as mutual_information
from fivefold.information.expectations import central_moment as central_moment
from fivefold.information.expectations import density_divergence as density_divergence
from fivefold.information.expectations import expectation as expectation
from fivefold.information.neighbor_estimates import neighbor_divergence as neighbor_divergence
from fivefold.information.neighbor_estimates import neighbor_entropy as neighbor_entropy
from fivefold.information.neighbor_estimates import neighbor_information as neighbor_information
from fivefold.information.samples import sample_entropy as sample_entropy
from fivefold.information.samples import sample_information as sample_information

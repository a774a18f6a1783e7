"""Capacity: how rich the family is that a model was chosen from, and what that says about its error on new data.

growth_function and vc_dimensions count what families of classifiers can do, model_capacity what a fitted model's family
can do, shattering tries it out; vc_bounds, rademacher, margin_bound, compression and stability hold the bounds.
"""

from fivefold.theory.capacity.compression import compression_set as compression_set
from fivefold.theory.capacity.compression import compression_size as compression_size
from fivefold.theory.capacity.compression import compression_upper as compression_upper
from fivefold.theory.capacity.compression import support_vector_bound as support_vector_bound
from fivefold.theory.capacity.growth_function import hyperplane_dichotomies as hyperplane_dichotomies
from fivefold.theory.capacity.growth_function import sauer_bound as sauer_bound
from fivefold.theory.capacity.machine_capacity import machine_capacities as machine_capacities
from fivefold.theory.capacity.margin_bound import fat_shattering_bound as fat_shattering_bound
from fivefold.theory.capacity.margin_bound import margin_error_bound as margin_error_bound
from fivefold.theory.capacity.margin_dimensions import fat_shattering_dimension as fat_shattering_dimension
from fivefold.theory.capacity.margin_dimensions import margin_dimension as margin_dimension
from fivefold.theory.capacity.model_capacity import Capacity as Capacity
from fivefold.theory.capacity.model_capacity import capacity as capacity
from fivefold.theory.capacity.rademacher import ball_complexity as ball_complexity
from fivefold.theory.capacity.rademacher import empirical_rademacher as empirical_rademacher
from fivefold.theory.capacity.rademacher import rademacher_confidence as rademacher_confidence
from fivefold.theory.capacity.sine_classifier import SineClassifier as SineClassifier
from fivefold.theory.capacity.stability import bayes_error_limits as bayes_error_limits
from fivefold.theory.capacity.stability import cover_hart_limits as cover_hart_limits
from fivefold.theory.capacity.vc_bounds import hypergeometric_upper as hypergeometric_upper
from fivefold.theory.capacity.vc_bounds import vc_bound as vc_bound
from fivefold.theory.capacity.vc_bounds import vc_confidence as vc_confidence
from fivefold.theory.capacity.vc_bounds import vc_rows as vc_rows
from fivefold.theory.capacity.vc_dimensions import vc_dimension as vc_dimension

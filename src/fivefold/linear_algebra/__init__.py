"""Linear algebra for learning: axioms tried on examples, elimination step by step, bases, maps and projections.

NumPy and SciPy calculate; this package explains: every function returns a report that prints in plain words.
"""

from fivefold.linear_algebra.axioms import Axiom as Axiom
from fivefold.linear_algebra.axioms import AxiomReport as AxiomReport
from fivefold.linear_algebra.axioms import discrete_metric as discrete_metric
from fivefold.linear_algebra.axioms import induced_metric as induced_metric
from fivefold.linear_algebra.axioms import linearity_axioms as linearity_axioms
from fivefold.linear_algebra.axioms import metric_axioms as metric_axioms
from fivefold.linear_algebra.axioms import norm_axioms as norm_axioms
from fivefold.linear_algebra.axioms import norm_metric_axioms as norm_metric_axioms
from fivefold.linear_algebra.axioms import vector_space_axioms as vector_space_axioms
from fivefold.linear_algebra.bases import Basis as Basis
from fivefold.linear_algebra.bases import ChangeOfBasis as ChangeOfBasis
from fivefold.linear_algebra.bases import LinearMap as LinearMap
from fivefold.linear_algebra.bases import change_of_basis as change_of_basis
from fivefold.linear_algebra.bases import linear_map as linear_map
from fivefold.linear_algebra.definiteness import definiteness as definiteness
from fivefold.linear_algebra.elimination import Elimination as Elimination
from fivefold.linear_algebra.elimination import Inverse as Inverse
from fivefold.linear_algebra.elimination import eliminate as eliminate
from fivefold.linear_algebra.elimination import gauss_jordan_inverse as gauss_jordan_inverse
from fivefold.linear_algebra.projections import Projection as Projection
from fivefold.linear_algebra.projections import project as project
from fivefold.linear_algebra.regularity import Regularity as Regularity
from fivefold.linear_algebra.regularity import regularity as regularity
from fivefold.linear_algebra.timing import Timing as Timing
from fivefold.linear_algebra.timing import naive_distances as naive_distances
from fivefold.linear_algebra.timing import naive_product as naive_product
from fivefold.linear_algebra.timing import time_loops as time_loops

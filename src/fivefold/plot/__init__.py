"""Figures of models and data: every function draws on the axes it is given, or on new ones, and returns them."""

from fivefold.plot.basis import transformation as transformation
from fivefold.plot.gaussian import ellipses as ellipses
from fivefold.plot.gaussian import principal_axes as principal_axes
from fivefold.plot.images import images as images
from fivefold.plot.limit import central_limit as central_limit
from fivefold.plot.limit import central_limit_experiment as central_limit_experiment
from fivefold.plot.scatter import clusters as clusters
from fivefold.plot.scatter import history as history
from fivefold.plot.scatter import points as points
from fivefold.plot.scatter import responsibilities as responsibilities
from fivefold.plot.scatter import scores as scores
from fivefold.plot.spectrum import scree as scree

"""Figures of models and data: every function draws on the axes it is given, or on new ones, and returns them."""

from fivefold.plot.basis import transformation as transformation
from fivefold.plot.curves import agreement as agreement
from fivefold.plot.curves import bias_variance as bias_variance
from fivefold.plot.curves import curve as curve
from fivefold.plot.curves import residuals as residuals
from fivefold.plot.forest import Bar as Bar
from fivefold.plot.forest import forest as forest
from fivefold.plot.gaussian import ellipses as ellipses
from fivefold.plot.gaussian import principal_axes as principal_axes
from fivefold.plot.images import images as images
from fivefold.plot.judgement import class_densities as class_densities
from fivefold.plot.judgement import confusion as confusion
from fivefold.plot.judgement import error_reject as error_reject
from fivefold.plot.judgement import precision_recall as precision_recall
from fivefold.plot.judgement import reliability as reliability
from fivefold.plot.judgement import roc as roc
from fivefold.plot.limit import central_limit as central_limit
from fivefold.plot.limit import central_limit_experiment as central_limit_experiment
from fivefold.plot.scatter import clusters as clusters
from fivefold.plot.scatter import history as history
from fivefold.plot.scatter import points as points
from fivefold.plot.scatter import responsibilities as responsibilities
from fivefold.plot.scatter import scores as scores
from fivefold.plot.spectrum import scree as scree
from fivefold.plot.table import distribution as distribution
from fivefold.plot.table import missing_map as missing_map

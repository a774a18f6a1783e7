"""Densities without a family, and rows that do not belong to them.

Estimators at the top; `sums` (kernels summed over trees and grids), `widths` (of windows and bins), `detectors` below.
"""

from fivefold.density.adaptive_kernel_density import AdaptiveKernelDensity as AdaptiveKernelDensity
from fivefold.density.curse_of_dimensionality import curse_of_dimensionality as curse_of_dimensionality
from fivefold.density.dendrogram_outliers import DendrogramOutlierDetector as DendrogramOutlierDetector
from fivefold.density.density_outliers import KernelDensityOutlierDetector as KernelDensityOutlierDetector
from fivefold.density.density_outliers import KNeighborsOutlierDetector as KNeighborsOutlierDetector
from fivefold.density.gaussian_outliers import GaussianOutlierDetector as GaussianOutlierDetector
from fivefold.density.gaussian_outliers import MixtureOutlierDetector as MixtureOutlierDetector
from fivefold.density.histogram_density import HistogramDensity as HistogramDensity
from fivefold.density.kernel_density import KernelDensity as KernelDensity
from fivefold.density.neighbor_density import KNeighborsDensity as KNeighborsDensity
from fivefold.density.neighbor_density_classifier import KNeighborsDensityClassifier as KNeighborsDensityClassifier
from fivefold.density.parzen_classifier import ParzenClassifier as ParzenClassifier
from fivefold.density.smoothing_selection import integrated_squared_error as integrated_squared_error
from fivefold.density.smoothing_selection import smoothing_path as smoothing_path

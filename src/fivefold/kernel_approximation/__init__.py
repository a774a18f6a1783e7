"""Features whose inner products approximate a kernel: Nystroem, random Fourier features, count sketches."""

from fivefold.kernel_approximation.chi_squared_features import AdditiveChi2Sampler as AdditiveChi2Sampler
from fivefold.kernel_approximation.chi_squared_features import SkewedChi2Sampler as SkewedChi2Sampler
from fivefold.kernel_approximation.count_sketch import PolynomialCountSketch as PolynomialCountSketch
from fivefold.kernel_approximation.nystroem import Nystroem as Nystroem
from fivefold.kernel_approximation.rbf_sampler import RBFSampler as RBFSampler

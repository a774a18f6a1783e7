"""Kernels: similarities that are inner products, as immutable values with an algebra.

base.py says what a kernel offers; algebra.py adds and multiplies, composition.py builds kernels from kernels,
expression.py prints and parses them. Kernels of rows are in radial.py, inner_product.py, elementary.py, differences.py
and, by name, named_kernels.py. row_cache.py makes and keeps rows of a Gram matrix.
"""

from fivefold.kernels.algebra import CompoundKernel as CompoundKernel
from fivefold.kernels.algebra import Exponentiation as Exponentiation
from fivefold.kernels.algebra import Product as Product
from fivefold.kernels.algebra import Sum as Sum
from fivefold.kernels.base import Kernel as Kernel
from fivefold.kernels.composition import Composition as Composition
from fivefold.kernels.composition import KernelLimit as KernelLimit
from fivefold.kernels.composition import NormalisedKernel as NormalisedKernel
from fivefold.kernels.composition import OnColumns as OnColumns
from fivefold.kernels.composition import PowerSeries as PowerSeries
from fivefold.kernels.composition import exp as exp
from fivefold.kernels.composition import polynomial as polynomial
from fivefold.kernels.composition import tensor_product as tensor_product
from fivefold.kernels.differences import ChiSquared as ChiSquared
from fivefold.kernels.differences import DistanceKernel as DistanceKernel
from fivefold.kernels.differences import FunctionKernel as FunctionKernel
from fivefold.kernels.differences import Laplace as Laplace
from fivefold.kernels.elementary import ConstantKernel as ConstantKernel
from fivefold.kernels.elementary import RankOne as RankOne
from fivefold.kernels.elementary import WhiteKernel as WhiteKernel
from fivefold.kernels.expression import parse as parse
from fivefold.kernels.gram import Gram as Gram
from fivefold.kernels.inner_product import DotProduct as DotProduct
from fivefold.kernels.inner_product import Linear as Linear
from fivefold.kernels.inner_product import MahalanobisLinear as MahalanobisLinear
from fivefold.kernels.inner_product import Polynomial as Polynomial
from fivefold.kernels.inner_product import Sigmoid as Sigmoid
from fivefold.kernels.named_kernels import PairwiseKernel as PairwiseKernel
from fivefold.kernels.named_kernels import named_kernel as named_kernel
from fivefold.kernels.radial import RBF as RBF
from fivefold.kernels.radial import ExpSineSquared as ExpSineSquared
from fivefold.kernels.radial import Mahalanobis as Mahalanobis
from fivefold.kernels.radial import Matern as Matern
from fivefold.kernels.radial import RationalQuadratic as RationalQuadratic
from fivefold.kernels.radial import gaussian as gaussian
from fivefold.kernels.validity import check_positive_definite as check_positive_definite

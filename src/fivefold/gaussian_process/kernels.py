"""Kernels under the path that scikit-learn has for them; they live in `fivefold.kernels`."""

from fivefold.kernels import RBF as RBF
from fivefold.kernels import CompoundKernel as CompoundKernel
from fivefold.kernels import ConstantKernel as ConstantKernel
from fivefold.kernels import DotProduct as DotProduct
from fivefold.kernels import Exponentiation as Exponentiation
from fivefold.kernels import ExpSineSquared as ExpSineSquared
from fivefold.kernels import Kernel as Kernel
from fivefold.kernels import Matern as Matern
from fivefold.kernels import PairwiseKernel as PairwiseKernel
from fivefold.kernels import Product as Product
from fivefold.kernels import RationalQuadratic as RationalQuadratic
from fivefold.kernels import Sum as Sum
from fivefold.kernels import WhiteKernel as WhiteKernel
from fivefold.kernels.algebra import KernelOperator as KernelOperator
from fivefold.kernels.log_parameters import Hyperparameter as Hyperparameter

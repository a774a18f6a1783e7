"""What two tables of the same rows have in common: canonical correlations and partial least squares."""

from fivefold.cross_decomposition.cca import CCA as CCA
from fivefold.cross_decomposition.kernel_cca import KernelCCA as KernelCCA
from fivefold.cross_decomposition.pls_canonical import PLSCanonical as PLSCanonical
from fivefold.cross_decomposition.pls_regression import PLSRegression as PLSRegression
from fivefold.cross_decomposition.pls_svd import PLSSVD as PLSSVD

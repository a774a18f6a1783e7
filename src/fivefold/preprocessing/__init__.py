"""Transformations of columns: polynomials, splines, other bases, image patches, scaling."""

from fivefold.preprocessing.basis_expansion import BasisExpansion as BasisExpansion
from fivefold.preprocessing.patches import PatchFeatures as PatchFeatures
from fivefold.preprocessing.polynomial import PolynomialFeatures as PolynomialFeatures
from fivefold.preprocessing.scaling import CommonScaler as CommonScaler
from fivefold.preprocessing.scaling import Normalizer as Normalizer
from fivefold.preprocessing.spline import SplineTransformer as SplineTransformer

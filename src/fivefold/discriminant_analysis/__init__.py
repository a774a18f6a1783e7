"""Linear and quadratic discriminant analysis."""

from fivefold.discriminant_analysis.lda import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
from fivefold.discriminant_analysis.qda import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis

"""Linear and quadratic discriminants beside scikit-learn; the Intel extension has neither."""

from functools import partial

from benchmarks.harness import Case, both, data, drop_in, fit, predict, same, same_predictions

CLASSES = partial(data.classes, d=50, K=8)
ROWS = 200_000
LDA = partial(drop_in, "discriminant_analysis.LinearDiscriminantAnalysis")
QDA = partial(drop_in, "discriminant_analysis.QuadraticDiscriminantAnalysis")

# Rows whose two best classes tie to the last digits may fall either way.
TIES = same_predictions(0.9999)
FOUND = both(same("means_", "priors_"), TIES)

CASES = (
    Case("LinearDiscriminantAnalysis fit", CLASSES, ROWS, LDA(fit), FOUND, 1, "8 classes"),
    Case("LinearDiscriminantAnalysis predict", CLASSES, ROWS, LDA(predict), TIES, 1, "8 classes"),
    Case("QuadraticDiscriminantAnalysis fit", CLASSES, ROWS, QDA(fit), FOUND, 1, "8 classes"),
    Case("QuadraticDiscriminantAnalysis predict", CLASSES, ROWS, QDA(predict), TIES, 1, "8 classes"),
)

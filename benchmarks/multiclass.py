"""Many classes from machines for two, beside scikit-learn's wrappers around scikit-learn's machine."""

from functools import partial
from importlib import import_module

from benchmarks.harness import Case, data, same_predictions

TABLE = partial(data.classes, d=30, K=6)


def around(wrapper, **settings):
    """Each library's wrapper around its own LinearSVC."""

    def contestant(package):
        def prepare(table):
            svm, multiclass = import_module(f"{package}.svm"), import_module(f"{package}.multiclass")
            model = getattr(multiclass, wrapper)(svm.LinearSVC(random_state=0), **settings)
            return lambda: model.fit(table.X, table.y)

        return prepare

    return {"scikit-learn": contestant("sklearn"), "fivefold": contestant("fivefold")}


# Rows whose two best classes tie to the tolerance of the solver may fall either way.
TIES = same_predictions(0.999)

CASES = (
    Case("OneVsRestClassifier fit", TABLE, 20_000, around("OneVsRestClassifier"), TIES, 3, "LinearSVC, 6 classes"),
    Case("OneVsOneClassifier fit", TABLE, 20_000, around("OneVsOneClassifier"), TIES, 3, "LinearSVC, 6 classes"),
    Case(
        "OutputCodeClassifier fit",
        TABLE,
        20_000,
        around("OutputCodeClassifier", random_state=0),
        TIES,
        3,
        "LinearSVC, 6 classes, 9 letters",
    ),
)

"""ID3, C4.5, CART, and trees with models in the leaves, beside scikit-learn's tree on the same table.

scikit-learn has no branches by value, no error-based pruning and no models in leaves. Its tree takes the table as it
is where it can, with one-hot columns where there are categories; choosing the price of a leaf is its pruning path and a
grid of twenty prices. A row counts where ours errs on new rows no more than one standard error above it; beside a
branch for each value one-hot columns are another model, and there both must know the rows of the fit equally well.

J48 is Weka's C4.5: its row is there where FIVEFOLD_WEKA_JAR names the jar and Java is installed. Its time is that of
the process: the start of Java, reading, and judging all rows too, so the row also tells how long Weka says it built.
"""

import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from benchmarks.harness import OURS, Case, Data, Disagreement, drop_in, fit, function
from benchmarks.harness import data as tables
from benchmarks.rules import JAR, weka_seconds

NEW = 20_000  # rows that judge what was learned


def halves(make, n):
    """Rows to learn from, and new ones of the same draw."""
    both = make(n + NEW)
    return Data(both.X[:n], both.y[:n]), Data(both.X[n:], both.y[n:])


def errs_no_more(make):
    """Ours may err on new rows by one standard error more."""

    def agree(table, ours, rival):
        new = halves(make, len(table.X))[1]
        a, b = (wrong(answers, new) for answers in (ours, rival))
        if not a <= b + np.sqrt(b * (1 - b) / NEW):
            raise Disagreement(f"{a:.4f} of the new rows wrong, the rival's {b:.4f}")
        return f"{a:.4f} of {NEW} new rows wrong, rival {b:.4f}"

    return agree


def wrong(model, new):
    """The share of wrong answers; Weka counts them itself."""
    return model.wrong if isinstance(model, Weka) else float(np.mean(model.predict(new.X) != new.y))


def known_by_heart(make):
    """Rows of the fit that ours gets wrong are no more: a branch for each value and a column for each differ beyond."""

    def agree(table, ours, rival):
        a, b = (wrong(model, table) for model in (ours, rival))
        if not a <= b:
            raise Disagreement(f"{a:.4f} of the rows of the fit wrong, the rival's {b:.4f}")
        new = halves(make, len(table.X))[1]
        beyond = [wrong(model, new) for model in (ours, rival)]
        return f"{a:.4f} of rows of the fit wrong, rival {b:.4f}; of new rows {beyond[0]:.4f}, rival {beyond[1]:.4f}"

    return agree


def squares_as_small_by_draws(table, ours, rival):
    """Over draws of 1,000 rows, on which folds choose unlike prices, the mean square is no larger by a standard error.

    One draw says little: the ratio of the two scatters by a twentieth.
    """
    ratios = []
    for seed in range(1, 9):
        rows = tables.linear(1_000 + NEW, 10, seed=seed)
        part, new = Data(rows.X[:1_000], rows.y[:1_000]), Data(rows.X[1_000:], rows.y[1_000:])
        a, b = (
            np.mean((model.predict(new.X) - new.y) ** 2) for model in (clone(ours).fit(part.X, part.y), priced(part))
        )
        ratios.append(a / b)
    mean, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    if not mean <= 1 + error:
        raise Disagreement(f"mean square on new rows {mean:.3f} +- {error:.3f} times the rival's")
    return f"mean square on new rows {mean:.3f} +- {error:.3f} times the rival's"


def squares_no_larger(make):
    """The squared error on new rows is at most that of the rival, its standard error aside."""

    def agree(table, ours, rival):
        new = halves(make, len(table.X))[1]
        a, b = ((model.predict(new.X) - new.y) ** 2 for model in (ours, rival))
        if not a.mean() <= b.mean() + b.std() / np.sqrt(NEW):
            raise Disagreement(f"mean square on new rows {a.mean():.4g}, the rival's {b.mean():.4g}")
        return f"mean square on {NEW} new rows {a.mean():.4g}, rival {b.mean():.4g}"

    return agree


# Tables


def gaps(n):
    """A tenth of the values is missing, by chance."""
    table = tables.classes(n, 20)
    X = table.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return Data(X, table.y)


def pieces(n, d=8):
    """Numbers on four planes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, d))
    slopes = rng.normal(size=(4, d))
    plane = (X[:, 0] > 0) + 2 * (X[:, 1] > 0.3)
    return Data(X, (X * slopes[plane]).sum(axis=1) + plane + 0.1 * rng.normal(size=n))


def planes(n, d=8):
    """Classes that another hyperplane tells apart in each half of the space."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, d))
    slopes = rng.normal(size=(2, d))
    return Data(X, ((X * slopes[(X[:, 0] > 0).astype(int)]).sum(axis=1) > 0).astype(np.int64))


def boxes(n, d=10):
    """Two boxes, and a tenth of the labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    y = ((X[:, 0] > 0.5) & (X[:, 1] < 0.4)) | ((X[:, 2] > 0.7) & (X[:, 3] > 0.3))
    return Data(X, (y ^ (rng.random(n) < 0.1)).astype(np.int64))


NUMBERS = partial(tables.classes, d=20)
LEVELS = partial(tables.levels, d=12, K=3, count=8)
BENT = partial(tables.linear, d=10)


# Rivals


def one_hot(table):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), tree).fit(table.X, table.y)


def priced(table):
    """The price of a leaf by five folds, as scikit-learn's documentation shows it."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(random_state=0)
    alphas = tree.cost_complexity_pruning_path(table.X, table.y).ccp_alphas
    some = np.quantile(alphas[alphas >= 0], np.linspace(0, 1, 20))
    return GridSearchCV(tree, {"ccp_alpha": some}, scoring="neg_mean_squared_error").fit(table.X, table.y)


class Weka(NamedTuple):
    """What Weka says of its tree."""

    wrong: float  # share of the new rows
    seconds: float  # to build the model


def j48(table):
    """Weka's tree; the files are written before the clock starts."""
    folder = tempfile.TemporaryDirectory()
    for name, part in (("train", table), ("test", halves(NUMBERS, len(table.X))[1])):
        head = ["@relation table", *(f"@attribute x{j} numeric" for j in range(part.X.shape[1]))]
        rows = (",".join(map(repr, x)) + f",c{c}" for x, c in zip(part.X.tolist(), part.y, strict=True))
        (Path(folder.name) / f"{name}.arff").write_text("\n".join([*head, "@attribute class {c0,c1}", "@data", *rows]))

    def call():
        files = ["-t", f"{folder.name}/train.arff", "-T", f"{folder.name}/test.arff"]
        command = ["java", "-cp", JAR, "weka.classifiers.trees.J48", "-C", "0.25", "-M", "2", *files]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        right = re.findall(r"Correctly Classified Instances\s+(\d+)", said)[-1]  # the last is that of the new rows
        return Weka(1 - int(right) / NEW, weka_seconds(said))

    return call


def as_j48(table, ours, rival):
    """Ours may err on new rows by one standard error more; Weka's own time is told beside that of its process."""
    return f"{errs_no_more(NUMBERS)(table, ours, rival)}; Weka says it built its tree in {rival.seconds} s"


def contest(rival, path, **params):
    """Ours on the rows to learn from, and a rival's function or settings of its tree."""
    ours = drop_in(path, fit, **params)[OURS]
    if callable(rival):
        return {"scikit-learn": function(rival), OURS: ours}
    kind, settings = rival
    return {"scikit-learn": drop_in(f"tree.{kind}", fit, random_state=0, **settings)["scikit-learn"], OURS: ours}


def case(name, make, rows, rival, path, agree, bar, note, **params):
    return Case(name, lambda n: halves(make, n)[0], rows, contest(rival, path, **params), agree, bar, note)


ENTROPY, GINI = ("DecisionTreeClassifier", {"criterion": "entropy"}), ("DecisionTreeClassifier", {})
DISCRETE = {"categorical_features": list(range(12))}

CASES = (
    case("ID3Classifier fit", NUMBERS, 10_000, ENTROPY, "tree.ID3Classifier", errs_no_more(NUMBERS), 1, "numbers"),
    case(
        "ID3Classifier fit, categories", LEVELS, 20_000, one_hot, "tree.ID3Classifier", known_by_heart(LEVELS), 1,
        "8 levels a column; beside one-hot columns", **DISCRETE,
    ),
    case(
        "ID3Classifier fit, a value against the rest", LEVELS, 20_000, one_hot, "tree.ID3Classifier",
        errs_no_more(LEVELS), 1, "8 levels a column; beside one-hot columns", nominal="dummies", **DISCRETE,
    ),
    case("C45Classifier fit", NUMBERS, 10_000, ENTROPY, "tree.C45Classifier", errs_no_more(NUMBERS), 1, "numbers"),
    case(
        "C45Classifier fit, missing values", gaps, 5_000, ENTROPY, "tree.C45Classifier", errs_no_more(gaps), 1,
        "a tenth missing",
    ),
    case("CARTClassifier fit", NUMBERS, 10_000, GINI, "tree.CARTClassifier", errs_no_more(NUMBERS), 1, "numbers"),
    case(
        "CARTRegressor fit", BENT, 2_000, priced, "tree.CARTRegressor", squares_as_small_by_draws, 1,
        "price of a leaf by five folds; beside a grid of 20 prices",
    ),
    case(
        "ModelTreeRegressor fit", pieces, 10_000, ("DecisionTreeRegressor", {}), "tree.ModelTreeRegressor",
        squares_no_larger(pieces), 0.5, "four planes; beside a tree of means",
    ),
    case(
        "LinearLeafClassifier fit", planes, 10_000, GINI, "tree.LinearLeafClassifier", errs_no_more(planes), 0.5,
        "two hyperplanes; beside a tree of shares",
    ),
    case(
        "OccamTreeClassifier fit", boxes, 10_000, ENTROPY, "tree.OccamTreeClassifier", errs_no_more(boxes), 1,
        "two boxes, a tenth of labels wrong",
    ),
)  # fmt: skip
if Path(JAR).is_file() and shutil.which("java"):
    CASES += (
        Case(
            "C45Classifier fit beside J48",
            lambda n: halves(NUMBERS, n)[0],
            10_000,
            {"J48": j48, OURS: drop_in("tree.C45Classifier", fit)[OURS]},
            as_j48,
            1,
            "numbers; J48 with the start of Java, reading and judging",
        ),
    )

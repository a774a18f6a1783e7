"""Kernel methods beside what a user of scikit-learn would write in their place."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import ARDRegression, LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, OneClassSVM

from benchmarks.harness import OURS, Case, Data, function, no_worse, same_predictions
from fivefold.rank import KernelRanker, Pairs, pairwise_accuracy
from fivefold.svm import (
    RVR,
    KernelPerceptron,
    KernelRiskMinimiserClassifier,
    LocalizedMKLClassifier,
    MultiClassSVC,
    OneClassSVMClassifier,
)


def noisy_curve(n):
    """One column, a sinc curve with noise of standard deviation 0.1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(n, 1))
    return Data(X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=n))


def relevance_by_columns(data):
    """Automatic relevance determination over the kernels with all rows: the relevance vector machine by hand."""
    kernels = FunctionTransformer(lambda X: rbf_kernel(X, data.X, gamma=0.2))
    return make_pipeline(kernels, ARDRegression(threshold_lambda=1e8, max_iter=100)).fit(data.X, data.y)


def error_of_curve(data, model):
    """Root mean squared distance from the curve without noise."""
    X = np.linspace(-10, 10, 500)[:, None]
    return float(np.sqrt(np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2)))


def three_classes(n):
    """Ten columns, classes that differ in their centre and overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    return Data(rng.normal(size=(n, 10)) + 1.2 * np.eye(10)[y], y)


def perceptron_by_hand(data):
    """The rule row by row on the kernels, as it stands in a textbook: the sum of coefficients after each visit."""
    K, y = rbf_kernel(data.X, gamma=0.05) + 1, np.where(data.y == 1, 1.0, -1.0)
    alpha, total = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(5):
        for i in range(len(y)):
            if y[i] * (K[i] @ alpha) <= 0:
                alpha[i] += y[i]
            total += alpha
    return np.where(K @ total > 0, 1, 0)


def perceptron(data):
    model = KernelPerceptron(gamma=0.05, shuffle=False, max_iter=5).fit(data.X, data.y == 1)
    return model.predict(data.X).astype(int)


def training_error(data, model):
    """Share of the rows that are misclassified."""
    return 1 - model.score(data.X, data.y)


def bent_lists(n):
    """Queries of 25 rows with four grades, the best nearest to the middle of five columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    far = (X**2).sum(axis=1) + rng.normal(size=n)
    return Data(X, -np.digitize(far, np.quantile(far, [0.25, 0.5, 0.75])), {"groups": np.arange(n) // 25})


def ranks_by_pairs(data):
    """A classifier of pairs and of the same pairs turned round, on kernels between pairs: scores of all rows."""
    K, pairs = rbf_kernel(data.X, gamma=0.1), Pairs.of_grades(data.y, data.given["groups"])
    D = K[pairs.better] - K[pairs.worse]  # (pairs, n)
    D = np.concatenate([D, -D])
    between = D[:, np.r_[pairs.better, pairs.worse]] - D[:, np.r_[pairs.worse, pairs.better]]
    machine = SVC(kernel="precomputed", C=0.5, random_state=0).fit(between, np.repeat([1, -1], len(pairs)))
    return machine.dual_coef_[0] @ D[machine.support_]


def ranks(data):
    return KernelRanker(gamma=0.1).fit(data.X, data.y, groups=data.given["groups"]).predict(data.X)


def misordered(data, scores):
    """Share of the pairs of a query in the wrong order."""
    return 1 - pairwise_accuracy(data.y, scores, groups=data.given["groups"])


def regions_by_hand(data):
    """A one-class machine per class, and the class of the largest sum of kernels."""
    sums = []
    for k in np.unique(data.y):
        machine = OneClassSVM(nu=0.1, gamma=0.05).fit(data.X[data.y == k])
        sums.append(machine.score_samples(data.X) / machine.dual_coef_.sum())
    return np.argmax(sums, axis=0)


def regions(data):
    return OneClassSVMClassifier(nu=0.1, gamma=0.05).fit(data.X, data.y).predict(data.X)


def softmax_by_columns(data):
    """Multinomial logistic regression over features of the kernels with all rows."""
    features = Nystroem(gamma=0.05, n_components=len(data.X), random_state=0)
    return make_pipeline(features, LogisticRegression(max_iter=5000)).fit(data.X, data.y)


def straight_and_wavy(n):
    """Two columns: a straight boundary on the left, a wavy one on the right."""
    X = np.random.default_rng(0).uniform(-3, 3, size=(n, 2))
    return Data(X, np.where(X[:, 0] < 0, X[:, 1] > 0, np.sin(4 * X[:, 0]) > X[:, 1]).astype(int))


def one_kernel_for_all(data):
    """The best of several kernels, by cross-validation."""
    settings = {"kernel": ["linear", "rbf"], "gamma": [0.5, 2.0, 8.0]}
    return GridSearchCV(SVC(C=10.0, random_state=0), settings).fit(data.X, data.y)


CASES = (
    Case(
        "LocalizedMKLClassifier fit",
        straight_and_wavy,
        500,
        {
            "scikit-learn": function(one_kernel_for_all),
            OURS: function(lambda data: LocalizedMKLClassifier(C=10.0, gamma=2.0).fit(data.X, data.y)),
        },
        same_predictions(0.96),
        0.5,
        "beside a search of one kernel for all rows",
    ),
    Case(
        "KernelRiskMinimiserClassifier fit",
        three_classes,
        400,
        {
            "scikit-learn": function(softmax_by_columns),
            OURS: function(lambda data: KernelRiskMinimiserClassifier("softmax", gamma=0.05).fit(data.X, data.y)),
        },
        same_predictions(0.99),
        0.1,
        "softmax to 1e-9, beside LogisticRegression to 1e-4 on features of all rows",
    ),
    Case(
        "KernelRanker fit",
        bent_lists,
        300,
        {"scikit-learn": function(ranks_by_pairs), OURS: function(ranks)},
        no_worse(misordered, 0.1),
        3,
        "squared hinge, beside SVC on kernels between pairs",
    ),
    Case(
        "OneClassSVMClassifier fit",
        three_classes,
        3_000,
        {"scikit-learn": function(regions_by_hand), OURS: function(regions)},
        same_predictions(0.99),
        2,
        "and predictions of all rows, beside one OneClassSVM per class",
    ),
    Case(
        "KernelPerceptron fit",
        three_classes,
        1_000,
        {"NumPy": function(perceptron_by_hand), OURS: function(perceptron)},
        same_predictions(0.999),
        2,
        "averaged, five passes, and predictions of all rows",
    ),
    Case(
        "MultiClassSVC fit",
        three_classes,
        1_000,
        {
            "scikit-learn": function(lambda data: SVC(random_state=0).fit(data.X, data.y)),
            OURS: function(lambda data: MultiClassSVC().fit(data.X, data.y)),
        },
        no_worse(training_error, 0.1),
        0.2,
        "beside one machine per pair of classes",
    ),
    Case(
        "RVR fit",
        noisy_curve,
        300,
        {
            "scikit-learn": function(relevance_by_columns),
            OURS: function(lambda data: RVR(gamma=0.2).fit(data.X, data.y)),
        },
        no_worse(error_of_curve, 0.3),
        10,
        "beside ARDRegression on the kernels with all rows",
    ),
)

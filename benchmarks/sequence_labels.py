"""Labels of sequences: a conditional random field beside CRFsuite, to the same objective, and its tagging of texts."""

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, Disagreement
from fivefold.sequence import LinearChainCRF

SETTINGS = {"c2": 1.0, "max_iterations": 1000}


def texts(n, K=20, words=3000, seed=0):
    """n sequences of about 20 words drawn from tags, with the word, its neighbours, its ending and a bias."""
    tables, rng = np.random.RandomState(99), np.random.RandomState(seed)
    A = tables.dirichlet(np.full(K, 0.3), size=K).cumsum(axis=1)
    B = tables.dirichlet(np.full(words, 0.02), size=K).cumsum(axis=1)
    X, y = [], []
    for _ in range(n):
        tags = [rng.randint(K)]
        for _ in range(rng.randint(2, 40)):
            tags.append(min(int(np.searchsorted(A[tags[-1]], rng.uniform())), K - 1))
        said = ["", *(f"w{min(int(np.searchsorted(B[k], rng.uniform())), words - 1)}" for k in tags), ""]
        X.append(
            [
                {"word": said[t], "before": said[t - 1], "after": said[t + 1], "ending": said[t][-2:], "bias": True}
                for t in range(1, len(said) - 1)
            ]
        )
        y.append([f"t{k}" for k in tags])
    sequences, labels = np.empty(n, dtype=object), np.empty(n, dtype=object)
    sequences[:], labels[:] = X, y
    return Data(sequences, labels)


def crfsuite(**settings):
    try:
        from sklearn_crfsuite import CRF
    except ImportError as error:
        raise Absent("sklearn-crfsuite is not installed") from error
    return CRF(algorithm="lbfgs", **settings)


def fitting(make):
    """The objective that a fit reaches."""

    def contestant(table):
        model = make(**SETTINGS)

        def call():
            model.fit(table.X, table.y)
            ours = isinstance(model, LinearChainCRF)
            return model.history_[-1] if ours else model.training_log_.last_iteration["loss"]

        return call

    return contestant


def tagging(make):
    """Labels of the same texts by a model fitted to a part of them."""

    def contestant(table):
        part = max(len(table.X) // 10, 50)
        model = make(**SETTINGS).fit(table.X[:part], table.y[:part])
        return lambda: model.predict(table.X)

    return contestant


def same_objective(data, ours, theirs):
    """Both stop where ten steps improve the objective by less than 1e-5 of it."""
    if not ours <= theirs * (1 + 1e-4):
        raise Disagreement(f"our objective is {ours}, theirs {theirs}")
    return "objective within 1e-4"


def same_labels(data, ours, theirs):
    wrong = np.mean([a != b for p, q in zip(ours, theirs, strict=True) for a, b in zip(p, q, strict=True)])
    if wrong > 0.01:
        raise Disagreement(f"{wrong:.2%} of the labels differ")
    return f"{1 - wrong:.2%} of the labels equal"


CASES = (
    Case(
        "LinearChainCRF fit",
        texts,
        500,
        {"sklearn-crfsuite": fitting(crfsuite), OURS: fitting(LinearChainCRF)},
        same_objective,
        1,
        "20 labels, 5 attributes",
    ),
    Case(
        "LinearChainCRF predict",
        texts,
        2_000,
        {"sklearn-crfsuite": tagging(crfsuite), OURS: tagging(LinearChainCRF)},
        same_labels,
        1,
        "20 labels, 5 attributes",
    ),
)

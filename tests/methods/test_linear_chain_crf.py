"""Linear-chain conditional random fields: likelihood, gradient, decoding, sequences as users pass them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.chain_labels import enumerated
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from fivefold.core.storage import model_files
from fivefold.sequence import LinearChainCRF, Sequences
from fivefold.sequence.features.attribute_encoder import AttributeNames, encode_positions
from fivefold.sequence.features.state_features import StateFeatures
from fivefold.sequence.linear_chain.chain_likelihood import ChainLikelihood
from fivefold.sequence.linear_chain.chain_model import LabelledSequences


def sentences(n=30, seed=0, K=3, words=12, length=6):
    """Words drawn from tags that follow each other, with the word, its neighbour and a number as attributes."""
    rng = np.random.RandomState(seed)
    parameters = np.random.RandomState(99)
    A, B = parameters.dirichlet(np.full(K, 0.4), size=K), parameters.dirichlet(np.full(words, 0.3), size=K)
    X, y = [], []
    for _ in range(n):
        tags = [rng.randint(K)]
        for _ in range(rng.randint(0, length)):
            tags.append(rng.choice(K, p=A[tags[-1]]))
        said = [f"w{rng.choice(words, p=B[k])}" for k in tags]
        X.append(
            [
                {"w": word, "before": said[t - 1] if t else "", "x": rng.exponential(), "b": True}
                for t, word in enumerate(said)
            ]
        )
        y.append([f"t{k}" for k in tags])
    return X, y


def likelihood(ridge=0.3, weights=None, **features):
    X, y = sentences(12)
    numbers = {}
    positions = encode_positions(X, numbers, growing=True)
    codes = np.array([int(label[1:]) for labels in y for label in labels])
    w = np.ones(len(X)) if weights is None else weights
    data = LabelledSequences(positions, codes, w, np.arange(3), AttributeNames.of(numbers))
    model = data.empty_model(features.get("min_freq", 0), features.get("all", False), features.get("all", False))
    return ChainLikelihood.of(data, model, ridge), data, model


@pytest.mark.parametrize("everything", [False, True])
def test_the_likelihood_is_that_of_enumerating_every_sequence_of_labels(everything):
    objective, data, model = likelihood(all=everything, weights=np.arange(1.0, 13.0))
    x = np.random.RandomState(1).normal(size=model.n_parameters)
    fitted = model.with_parameters(x)
    chain = fitted.chain(data.positions)
    value, marginals = objective.ridge * x @ x, fitted.marginals(data.positions)
    best = fitted.decode(data.positions, "sequence")
    for i, (lo, hi) in enumerate(zip(data.positions.offsets[:-1], data.positions.offsets[1:], strict=True)):
        log_Z, P, path = enumerated(chain.log_emission[lo:hi], fitted.transition)
        value += data.w[i] * (log_Z - chain.path_log_prob(data.codes)[i])
        assert_allclose(marginals[lo:hi], P, atol=1e-12)
        assert tuple(best[lo:hi]) == path
        assert (fitted.decode(data.positions, "hamming")[lo:hi] == P.argmax(axis=1)).all()
    assert_allclose(objective.value(x / objective.unit), value, rtol=1e-12)


@pytest.mark.parametrize("everything", [False, True])
def test_the_gradient_is_that_of_finite_differences(everything):
    objective, _, model = likelihood(all=everything, weights=np.linspace(0.5, 2, 12))
    rng = np.random.RandomState(2)
    z = rng.normal(size=model.n_parameters)
    g = objective.gradient(z)
    for j in rng.choice(len(z), 25, replace=False):
        step = np.zeros(len(z))
        step[j] = 1e-5
        slope = (objective.value(z + step) - objective.value(z - step)) / 2e-5
        assert_allclose(g[j], slope, rtol=1e-6, atol=1e-7)


def test_a_minimum_has_expected_counts_that_differ_from_the_observed_by_the_penalty():
    X, y = sentences()
    crf = LinearChainCRF(c2=0.7, epsilon=1e-9, delta=0.0).fit(X, y)
    P = crf.predict_proba(X)
    expected = sum(p[t, 0] for p, s in zip(P, X, strict=True) for t, at in enumerate(s) if at["w"] == "w3")
    seen = sum(
        k == "t0" for labels, s in zip(y, X, strict=True) for k, at in zip(labels, s, strict=True) if at["w"] == "w3"
    )
    assert_allclose(expected - seen, -2 * 0.7 * crf.state_features_[("w:w3", "t0")], atol=1e-6)


def test_an_l1_penalty_leaves_few_weights_and_both_penalties_have_one_minimum():
    X, y = sentences()
    dense = LinearChainCRF(c1=0.0, c2=0.1).fit(X, y)
    sparse = LinearChainCRF(c1=1.0, c2=0.1, delta=0.0, epsilon=1e-8).fit(X, y)
    assert len(sparse.state_features_) < len(dense.state_features_) / 2
    values = [LinearChainCRF(c1=1.0, c2=0.1, delta=0.0, epsilon=1e-8, num_memories=m).fit(X, y) for m in (3, 20)]
    assert_allclose([m.history_[-1] for m in values], sparse.history_[-1], rtol=1e-9)


def test_decoding_for_whole_sequences_and_for_single_labels_each_wins_by_its_own_loss():
    """B-141, B-142: the expected losses under the model, by enumeration."""
    X, y = sentences(40, length=5)
    crf = LinearChainCRF(c2=2.0).fit(X, y)
    labels = {label: k for k, label in enumerate(crf.classes_)}
    by_sequence, by_position = crf.predict(X), LinearChainCRF(c2=2.0, decoding="hamming").fit(X, y).predict(X)
    chain = crf.model_.chain(crf._positions(X)[0])
    for i, (lo, hi) in enumerate(zip(chain.offsets[:-1], chain.offsets[1:], strict=True)):
        _, P, path = enumerated(chain.log_emission[lo:hi], chain.log_transition)
        assert tuple(labels[k] for k in by_sequence[i]) == path
        right = [P[np.arange(hi - lo), [labels[k] for k in found]].sum() for found in (by_position[i], by_sequence[i])]
        assert right[0] >= right[1] - 1e-12


def test_positions_may_be_dictionaries_strings_or_numbers():
    y = [["a", "b"], ["b"]]
    dictionaries = LinearChainCRF().fit([[{"x": "1", "n": {"u": 2.0, "s": {"p"}}}, {"x": "2"}], [{"x": "2"}]], y)
    assert {name for name, _ in dictionaries.state_features_} == {"x:1", "x:2", "n:u", "n:s:p"}
    strings = LinearChainCRF().fit([[["x:1"], ["x:2"]], [{"x:2"}]], y)
    same = LinearChainCRF().fit([[{"x": "1"}, {"x": "2"}], [{"x": "2"}]], y)
    assert strings.state_features_ == same.state_features_
    assert strings.predict([[], [["x:1"], ["never seen"]]]) == [[], same.predict_single([{"x": "1"}, {"x": "new"}])]
    numbers = LinearChainCRF().fit([np.array([[0.0], [3.0]]), np.array([[3.5]])], y)
    assert numbers.predict([np.array([[-1.0], [4.0]])]) == [["a", "b"]]


def test_a_table_is_as_many_sequences_of_one_row():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    table, lists = (
        LinearChainCRF().fit(X, y),
        LinearChainCRF().fit([X[i : i + 1] for i in range(60)], y[:, None].tolist()),
    )
    assert_allclose(table.predict_proba(X), np.concatenate(lists.predict_proba([X[i : i + 1] for i in range(60)])))


def test_an_array_of_sequences_may_begin_with_an_empty_one():
    X, y = sentences(5)
    held, labels = np.empty(6, dtype=object), np.empty(6, dtype=object)
    held[:], labels[:] = [[], *X], [[], *y]
    assert LinearChainCRF().fit(held, labels).predict(held) == [[], *LinearChainCRF().fit(X, y).predict(X)]


def test_a_container_of_sequences_is_taken_as_it_is():
    rng = np.random.RandomState(0)
    walks = [rng.normal(size=(rng.randint(2, 6), 2)) for _ in range(12)]
    labels = [(walk[:, 0] > 0).astype(int).tolist() for walk in walks]
    held, lists = LinearChainCRF().fit(Sequences(walks), labels), LinearChainCRF().fit(walks, labels)
    assert held.predict(Sequences(walks)) == lists.predict(walks)
    cross_validate(LinearChainCRF(), Sequences(walks), labels, cv=KFold(3), error_score="raise")


def test_lists_of_sequences_pass_cross_validation_and_searches():
    X, y = sentences(40)
    found = cross_validate(LinearChainCRF(), X, y, cv=KFold(3))
    assert (found["test_score"] > 0.5).all()
    search = GridSearchCV(LinearChainCRF(), {"c2": [0.01, 10.0]}, cv=KFold(3)).fit(X, y)
    assert search.best_params_["c2"] == 0.01


def test_a_weight_of_a_sequence_means_repetition_and_empty_sequences_say_nothing():
    X, y = sentences(15)
    w = np.arange(15) % 3
    repeated = LinearChainCRF().fit(
        [X[i] for i in range(15) for _ in range(w[i])], [y[i] for i in range(15) for _ in range(w[i])]
    )
    weighted = LinearChainCRF().fit([[], *X], [[], *y], sample_weight=[1, *w])
    for key, value in repeated.state_features_.items():
        assert_allclose(weighted.state_features_[key], value, rtol=1e-5, atol=1e-7)


def test_a_model_of_sequences_survives_a_file(tmp_path):
    X, y = sentences()
    crf = LinearChainCRF().fit(X, y)
    model_files.save(crf, tmp_path / "crf.skops")
    again = model_files.load(tmp_path / "crf.skops")
    assert again.predict_marginals(X) == crf.predict_marginals(X)
    assert again.state_features_ == crf.state_features_


def test_rare_features_are_left_out_and_all_possible_ones_can_be_asked_for():
    X, y = sentences()
    every = LinearChainCRF(all_possible_states=True, all_possible_transitions=True).fit(X, y).model_
    seen, rare = LinearChainCRF().fit(X, y).model_, LinearChainCRF(min_freq=3).fit(X, y).model_
    assert len(every.features) == 3 * len(every.names) > len(seen.features) > len(rare.features)
    assert every.has_transition.all()


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[{"a": 1}]], [["x", "y"]], "sequence 0 has 1 positions and 2 labels"),
        ([[{"a": 1}], [{"a": 2}]], [["x"]], "2 sequences in X and 1 in y"),
        ([[{"a": 1}]], None, "requires y"),
        ([[{"a": 1}, {"b": object()}]], [["x", "y"]], "sequence 0, position 1: the value of attribute 'b'"),
        ([[{"a": float("nan")}]], [["x"]], "NaN or infinite"),
        ([[{"a": 1}, 3]], [["x", "y"]], "sequence 0, position 1: give a dictionary"),
        ([[{3: 1}]], [["x"]], "name must be text"),
    ],
)
def test_bad_sequences_are_refused_with_their_place(X, y, words):
    with pytest.raises(ValueError, match=words):
        LinearChainCRF().fit(X, y)


def test_a_table_is_refused_by_a_model_of_sequences():
    X, y = sentences(5)
    with pytest.raises(ValueError, match="was fitted to sequences"):
        LinearChainCRF().fit(X, y).predict(np.ones((2, 3)))


def test_one_long_sequence_and_many_short_ones_are_labelled():
    X, y = sentences(20)
    crf = LinearChainCRF().fit(X, y)
    long = [[X[i % 20][0] for i in range(20_000)]]
    assert len(crf.predict(long)[0]) == 20_000
    assert len(crf.predict([s[:1] for s in X] * 500)) == 10_000


def test_state_features_seen_with_a_label_are_found_once():
    positions = encode_positions([[["a", "a"], ["b"]]], numbers := {}, growing=True)
    features = StateFeatures.seen(positions, np.array([1, 0]), np.ones(2), len(numbers), 2, 0)
    assert features.attributes().tolist() == [0, 1] and features.label.tolist() == [1, 0]

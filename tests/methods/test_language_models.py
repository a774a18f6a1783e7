"""n-gram language models: counts, interpolation, Kneser-Ney, perplexity, sampling."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.chain_labels import SlowKneserNey

from fivefold.sequence.language_models.convex_weights import fit_convex_weights
from fivefold.sequence.language_models.interpolated_ngrams import InterpolatedNGrams, MaximumLikelihoodNGrams
from fivefold.sequence.language_models.kneser_ney import KneserNey
from fivefold.sequence.language_models.ngram_counter import NGramCounter

PEOPLE = "we the people we the people we the states"


def corpus(n=60, seed=0, words=9):
    """Texts of a random chain of words."""
    rng, table = np.random.RandomState(seed), np.random.RandomState(5).dirichlet(np.full(words, 0.3), size=words)
    texts = []
    for _ in range(n):
        text = [rng.randint(words)]
        for _ in range(rng.randint(1, 12)):
            text.append(rng.choice(words, p=table[text[-1]]))
        texts.append([f"w{k}" for k in text])
    return texts


def test_counts_add_up_and_may_come_in_pieces():
    """B-143."""
    texts = corpus()
    whole = NGramCounter(3).update(texts).counts()
    counter = NGramCounter(3)
    for text in texts:
        counter.update([text])
    pieces = counter.counts()
    assert whole.total == sum(len(text) + 1 for text in texts) == sum(whole.count(w) for w in whole.words)
    for gram in [("w1",), ("w1", "w2"), ("<s>", "w3"), ("w0", "w1", "w2"), ("w4", "</s>")]:
        padded = [("<s>", *text, "</s>") for text in texts]
        direct = sum(t[i : i + len(gram)] == gram for t in padded for i in range(len(t)))
        assert whole.count(*gram) == pieces.count(*gram) == direct
    twice = NGramCounter(3).update(texts, weight=2.0).counts()
    assert twice.count("w1", "w2") == 2 * whole.count("w1", "w2")


def test_the_toy_trigram_has_the_catalogue_s_probabilities():
    """B-144, C-18."""
    model = InterpolatedNGrams(weights=(0.6, 0.3, 0.1), boundaries=False).fit([PEOPLE])
    found = model.distribution(["we", "the"])
    assert_allclose(
        [found[w] for w in ("people", "states", "we", "the")], [0.62222, 0.31111, 0.03333, 0.03333], atol=5e-6
    )
    assert_allclose(sum(found.values()), 1)
    unseen = model.distribution(["people", "people"])  # the weight goes to the context "people"
    assert_allclose(sum(unseen.values()), 1)
    assert_allclose(unseen["we"], 0.9 * 1.0 + 0.1 * 3 / 9)


def test_maximum_likelihood_gives_relative_frequencies():
    model = MaximumLikelihoodNGrams(order=3).fit(corpus())
    counts, (first, second, third, *_) = model.counts_, next(text for text in corpus() if len(text) > 2)
    successors = sum(counts.count(first, second, word) for word in counts.words)
    assert_allclose(model.probability(third, [first, second]), counts.count(first, second, third) / successors)
    text = corpus()[0]
    assert_allclose(model.perplexity([text]), math.exp(-model.log_probabilities([text]).mean()))
    assert MaximumLikelihoodNGrams(order=1).fit(["a b"]).perplexity(["c"]) == math.inf


def test_weights_by_em_are_at_least_as_good_as_any_single_model_and_any_grid():
    """B-145."""
    train, held = corpus(40), corpus(30, seed=1)
    model = InterpolatedNGrams(order=2).fit(train).fit_weights(held)
    best = model.score(held)
    assert_allclose(model.weights_.sum(axis=1), 1)
    for a in np.linspace(0, 1, 11):
        for b in np.linspace(0, 1 - a, 6):
            other = InterpolatedNGrams(order=2, weights=(a, b, max(1 - a - b, 0.0))).fit(train)
            assert best >= other.score(held) - 1e-6
    buckets = InterpolatedNGrams(order=2).fit(train).fit_weights(held, bucket_edges=(5, 20))
    assert buckets.weights_.shape == (3, 3) and buckets.score(held) >= best - 1e-9
    assert_allclose(sum(buckets.distribution(["w3"]).values()), 1)


def test_points_that_no_component_allows_leave_the_weights_alone():
    P = np.array([[0.5, 0.1], [0.0, 0.0], [0.2, 0.4]])
    assert_allclose(fit_convex_weights(P).model.weights, fit_convex_weights(P[[0, 2]]).model.weights)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_kneser_ney_equals_its_definition_and_sums_to_one(order):
    texts = corpus(50)
    model, slow = KneserNey(order=order).fit(texts), SlowKneserNey(texts, order)
    assert sorted(map(str, model.vocabulary)) == slow.words
    for context in [(), ("<s>",), ("w1",), ("<s>", "w3"), ("w2", "w7"), ("w0", "w1", "w2"), ("never", "seen")]:
        found = model.distribution(context)
        assert_allclose(sum(found.values()), 1, rtol=1e-12)
        known = ["<unk>" if w in ("never", "seen") else w for w in context]
        for word in ("w0", "w5", "</s>", "<unk>"):
            assert_allclose(found[word], slow.probability(word, known), rtol=1e-10)


@pytest.mark.parametrize(
    "settings", [{"discounting": "original"}, {"boundaries": False}, {"min_count": 5}, {"order": 5}]
)
def test_other_forms_of_kneser_ney_are_distributions_too(settings):
    model = KneserNey(**settings).fit(corpus(30))
    for context in [(), ("w1",), ("w2", "w7"), ("w0", "w1", "w2", "w3")]:
        assert_allclose(sum(model.distribution(context).values()), 1, rtol=1e-12)
    assert math.isfinite(model.perplexity([["w1", "a word never seen"]]))


def test_smoothing_predicts_new_text_better_than_frequencies():
    train, new = corpus(60), corpus(60, seed=3)
    assert KneserNey().fit(train).perplexity(new) < MaximumLikelihoodNGrams().fit(train).perplexity(new)


def test_samples_follow_the_model_and_the_seed():
    model = InterpolatedNGrams(order=2, weights=(1.0, 0.0)).fit([["a", "b"], ["a", "b"], ["c"]])
    texts = [tuple(model.sample(rng=seed)) for seed in range(300)]
    assert set(texts) == {("a", "b"), ("c",)}
    assert abs(texts.count(("c",)) / 300 - 1 / 3) < 3 * math.sqrt(2 / 9 / 300)
    assert model.sample(rng=7) == model.sample(rng=7)
    assert len(KneserNey(boundaries=False).fit([PEOPLE]).sample(12, context=["we"])) == 12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: InterpolatedNGrams(weights=(0.5, 0.4)).fit([PEOPLE]), "weights must be 3 numbers"),
        (lambda: NGramCounter(0), "order of n-grams"),
        (lambda: KneserNey(boundaries=False).fit([]), "no words have been counted"),
        (lambda: KneserNey().fit([["<s>"]]), "stands for the beginning"),
        (lambda: KneserNey(discounting="none").fit([PEOPLE]), "discounting must be"),
        (lambda: KneserNey(order=4).fit_counts(NGramCounter(3).update([PEOPLE]).counts()), "counts of order 3"),
        (lambda: KneserNey().fit([PEOPLE]).perplexity([]), "no word to score"),
    ],
)
def test_mistakes_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()

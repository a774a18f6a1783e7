"""Taggers from counts, decoders of least energy, states of words and positions, sounds in context."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.chain_labels import enumerated

from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import log_likelihood
from fivefold.inference.factors.factor import Factor
from fivefold.sequence.energy_decoders import ChainDecoder, EnumerationDecoder, FactorDecoder
from fivefold.sequence.language_models.interpolated_ngrams import InterpolatedNGrams, MaximumLikelihoodNGrams
from fivefold.sequence.language_models.kneser_ney import KneserNey
from fivefold.sequence.speech.context_units import ContextUnits, contexts_of
from fivefold.sequence.speech.word_positions import WordPosition, WordPositionModel
from fivefold.sequence.taggers import HMMTagger, MostFrequentTagger

TEXTS = ["the dog runs", "the cat runs", "a run ends", "we run", "dogs run", "the run ends"]
TAGS = ["D N V", "D N V", "D N V", "P V", "N V", "D N V"]


def tagged(n=300, seed=0):
    """Texts of a hidden Markov model in which the word "run" is a noun or a verb."""
    rng = np.random.RandomState(seed)
    A = {"": "DP", "D": "N", "P": "V", "N": "VD", "V": "DP"}
    words = {"D": ["the", "a"], "P": ["we", "they"], "N": ["dog", "run", "cat"], "V": ["see", "run", "eat"]}
    X, y = [], []
    for _ in range(n):
        tags = []
        for _ in range(rng.randint(2, 8)):
            follow = A[tags[-1] if tags else ""]
            tags.append(follow[rng.randint(len(follow))])
        X.append([words[k][rng.randint(len(words[k]))] for k in tags])
        y.append(tags)
    return X, y


def test_a_hidden_markov_tagger_reads_a_toy_corpus_and_beats_the_most_frequent_tag():
    """B-204."""
    X, y = [t.split() for t in TEXTS], [t.split() for t in TAGS]
    tagger = HMMTagger().fit(X, y)
    assert tagger.predict([["the", "run", "ends"], ["we", "run"], [], ["the", "zebra"]]) == [
        ["D", "N", "V"],
        ["P", "V"],
        [],
        ["D", "N"],
    ]
    X, y = tagged()
    new, truth = tagged(100, seed=1)
    baseline, tagger = MostFrequentTagger().fit(X, y), HMMTagger().fit(X, y)
    assert tagger.score(new, truth) > 0.99 > baseline.score(new, truth) + 0.05


def test_tables_of_the_tagger_are_distributions_and_its_path_that_of_enumeration():
    X, y = tagged(50)
    tagger = HMMTagger().fit(X, y)
    for table in (tagger.start_[None], tagger.transition_, tagger.emission_.T):
        assert_allclose(table.sum(axis=1), 1)
    text = X[0][:5]
    chain = tagger.chain([text])
    scores = chain.log_emission[chain.rows]
    scores[0] += chain.log_start
    _, P, path = enumerated(scores, chain.log_transition)
    assert tagger.predict([text]) == [[tagger.classes_[k] for k in path]]
    hamming = HMMTagger(decoding="hamming").fit(X, y).predict([text])
    assert hamming == [[tagger.classes_[k] for k in P.argmax(axis=1)]]


def test_texts_without_tags_make_the_tagger_better_by_baum_welch():
    X, y = tagged(15)
    plain, _ = tagged(200, seed=2)
    few = HMMTagger().fit(X[:6], y[:6])
    before = few.chain(plain)
    value = log_likelihood(before).sum()
    few.refine(plain, n_iter=5)
    assert log_likelihood(few.chain(plain)).sum() > value


def test_decoders_find_the_answer_of_least_energy():
    """B-151: E = -ln P(z, x) gives Viterbi's path."""
    rng = np.random.RandomState(0)
    start, A, B = (np.log(rng.dirichlet(np.ones(3), size=s)) for s in (1, 3, 4))
    decoder = ChainDecoder(lambda x: Chain(start[0], A, B[x], np.array([0, len(x)])))
    slow = EnumerationDecoder(decoder.energy, lambda x: map(list, product(range(3), repeat=len(x))))
    x = rng.randint(4, size=6)
    assert decoder.decode(x) == slow.decode(x)
    scores = B[x].copy()
    scores[0] += start[0]
    assert tuple(decoder.decode(x)) == enumerated(scores, A)[2]
    field = FactorDecoder(
        lambda x: (
            [Factor((i,), np.exp(-((np.arange(3) - v) ** 2.0))) for i, v in enumerate(x)]
            + [Factor((i, (i + 1) % 4), np.exp(np.eye(3))) for i in range(4)]
        ),
        [3] * 4,
    )
    states = [dict(enumerate(s)) for s in product(range(3), repeat=4)]
    found = field.decode([0.2, 1.4, 2.0, 1.1])
    assert_allclose(
        field.energy([0.2, 1.4, 2.0, 1.1], found), min(field.energy([0.2, 1.4, 2.0, 1.1], s) for s in states)
    )


PEOPLE = InterpolatedNGrams(weights=(0.6, 0.3, 0.1), boundaries=False).fit(
    ["we the people we the people we the states"]
)


def test_states_print_and_go_on_as_in_the_text():
    """B-146, C-17."""
    model = WordPositionModel(PEOPLE)
    state = WordPosition(("we", "the"), "people", 2)
    assert model.text(state) == "we the pe*ople"
    assert [(model.text(s), p) for s, p in model.successors(state)] == [
        ("we the pe*ople", 0.5),
        ("we the peo*ple", 0.5),
    ]
    end = model.successors(state._replace(position=6))
    assert model.text(state._replace(position=6)) == "we the people*"
    for there, p in end:
        assert model.text(there) == f"the people *{there.word}"
        assert_allclose(p, PEOPLE.probability(there.word, ["the", "people"]))


@pytest.mark.parametrize("language", [PEOPLE, KneserNey(order=3).fit(["we the people", "we run", "the people run"])])
def test_probabilities_of_successors_add_up_to_one_with_that_of_the_end(language):
    model = WordPositionModel(language)
    for state in [WordPosition(("we", "the"), "people", k) for k in range(7)]:
        at_end = state.position == 6 and language.boundaries
        total = sum(p for _, p in model.successors(state)) + (model.end_probability(state) if at_end else 0)
        assert_allclose(total, 1)
        if state.position < 6:
            ends = model.end_probability(state) / 2 if state.position == 5 and language.boundaries else 0.0
            assert_allclose(sum(p for _, p in model.emitting_successors(state)) + ends, 1)


def test_words_have_the_probability_of_the_language_model_whatever_their_length_in_frames():
    """Summed over the frames that each symbol may last, a text has the trigram probability."""
    language = MaximumLikelihoodNGrams(order=2).fit([["ab", "a"], ["a", "ab"], ["a"]])
    model = WordPositionModel(language)
    reached: dict[tuple[str, ...], float] = {}
    now = {(state, (state.word,)): p for state, p in model.start()}
    for _ in range(60):
        ahead: dict[tuple[WordPosition, tuple[str, ...]], float] = {}
        for (state, words), p in now.items():
            if state.position == len(state.word) - 1:
                reached[words] = reached.get(words, 0.0) + p * 0.5 * model.end_probability(state)
            for there, q in model.emitting_successors(state):
                same_word = there in (state, state._replace(position=state.position + 1))
                new = there, words if same_word else (*words, there.word)
                ahead[new] = ahead.get(new, 0.0) + p * q
        now = {key: p for key, p in ahead.items() if len(key[1]) <= 2}
    for words in [("a",), ("ab", "a"), ("a", "ab")]:
        assert_allclose(reached[words], math.exp(language.log_probabilities([list(words)]).sum()), rtol=1e-9)


def test_a_beam_hears_the_words_that_were_said():
    language = KneserNey(order=3).fit(["we the people", "we the states", "the people run", "we run"])
    model = WordPositionModel(language)
    said = "we the people"
    frames = [letter for word in said.split() for letter in word for _ in range(2)]
    found = model.decode(frames, lambda frame, symbol: math.log(0.9 if frame == symbol else 0.1 / 25), beam=200)
    assert found.words == said.split() and len(found.path) == len(frames)
    with pytest.raises(ValueError, match="no path of words"):
        model.decode(frames[:1], lambda frame, symbol: 0.0)
    sounds = WordPositionModel(MaximumLikelihoodNGrams(order=1).fit(["hi"]), {"hi": ["HH", "AY"]})
    assert sounds.text(WordPosition((), "hi", 1)) == "HH*AY"


def test_rare_contexts_of_sounds_back_off_and_shared_ones_are_context_independent():
    """B-147."""
    rng = np.random.RandomState(0)
    sounds = list("abcabdab" * 30)
    contexts = contexts_of(sounds)
    centres = [[ord(sound), 3.0 * ord(context[2] or "a")] for sound, context in zip(sounds, contexts, strict=True)]
    X = np.array(centres) + rng.normal(size=(len(sounds), 2))
    wide = ContextUnits(min_count=20).fit(X, contexts)
    alone = ContextUnits(min_count=10**9).fit(X, contexts)
    single = ContextUnits(width=0).fit(X, contexts_of(sounds, 0))
    assert_allclose(alone.log_density(X, contexts), single.log_density(X, contexts_of(sounds, 0)))
    assert wide.log_density(X, contexts).sum() > alone.log_density(X, contexts).sum() + 100
    assert wide.unit(("x", "a", "y")) == ("a",) and wide.unit(("a", "b", "c")) == ("a", "b", "c")
    five = ContextUnits(width=2, min_count=20).fit(X, contexts_of(sounds, 2))
    assert five.unit(("q", "a", "b", "c", "q")) == ("a", "b", "c")
    with pytest.raises(ValueError, match="was never heard"):
        wide.unit(("a", "z", "a"))

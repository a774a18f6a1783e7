"""Approximate inference: exact where it must be, never beyond its bounds, the same bytes for any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.inference.approximate.chain_diagnostics import autocorrelation, effective_size, split_r_hat
from fivefold.inference.approximate.factor_arrays import POTTS, flat_factors
from fivefold.inference.approximate.gibbs_sampling import block_plan, gibbs, gibbs_chain, iterated_modes, positivity
from fivefold.inference.approximate.loopy_propagation import loopy_propagation
from fivefold.inference.approximate.markov_chain import MarkovChain, total_variation
from fivefold.inference.approximate.mean_field import mean_field
from fivefold.inference.approximate.metropolis_hastings import (
    GaussianWalk,
    TableProposal,
    metropolis_chain,
    metropolis_hastings,
    metropolis_on_factors,
)
from fivefold.inference.approximate.structured_variational import structured_variational
from fivefold.inference.approximate.weighted_sampling import (
    importance_sampling,
    likelihood_weighting,
    rejection_sampling,
    weighted,
)
from fivefold.inference.factors.enumeration import enumerate_joint
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree

EVEN = np.full((2, 2), 0.5)
SCHEDULES = ("flooding", "sequential", "random", "residual")


def with_variables(factors, cards):
    """The factors, and one that is one everywhere per variable, so that the joint has them all."""
    return [*factors, *(Factor((v,), np.ones(card)) for v, card in enumerate(cards))]


def joint(factors, cards):
    return enumerate_joint(with_variables(factors, cards), cards).table


def exact_marginals(factors, cards):
    table = joint(factors, cards)
    n = len(cards)
    return [table.sum(axis=tuple(j for j in range(n) if j != v)) / table.sum() for v in range(n)]


@st.composite
def trees(draw, zeros=False):
    """Factors of up to four variables that hang together as a forest, in any order, some of Potts's form."""
    n = draw(st.integers(1, 7))
    rng = np.random.RandomState(draw(st.integers(0, 2**20)))
    cards = rng.randint(1, 4, size=n).tolist()
    factors, i = [Factor((0,), rng.uniform(0.1, 2.0, cards[0]))], 1
    while i < n:
        size = min(rng.randint(1, 4), n - i)
        scope = ([] if rng.uniform() < 0.1 else [rng.randint(i)]) + list(range(i, i + size))
        scope = [int(v) for v in rng.permutation(scope)]
        table = rng.uniform(0.1, 2.0, [cards[v] for v in scope])
        if table.ndim == 2 and table.shape[0] == table.shape[1] and rng.uniform() < 0.5:
            table = np.where(np.eye(len(table), dtype=bool), *rng.uniform(0.1, 2.0, 2))
        if zeros:
            keep = rng.uniform(size=table.shape) < 0.8
            keep[(0,) * table.ndim] = True
            table = table * keep
        factors.append(Factor(tuple(scope), table))
        i += size
    return [factors[k] for k in rng.permutation(len(factors))], cards


@st.composite
def graphs(draw):
    """Up to five variables and eight positive factors of up to three, with cycles."""
    n = draw(st.integers(2, 5))
    rng = np.random.RandomState(draw(st.integers(0, 2**20)))
    cards = rng.randint(1, 4, size=n).tolist()
    scopes = [rng.permutation(n)[: rng.randint(1, min(n, 3) + 1)].tolist() for _ in range(rng.randint(1, 9))]
    return [Factor(tuple(s), rng.uniform(0.2, 2.0, [cards[v] for v in s])) for s in scopes], cards


@given(
    trees(zeros=True),
    st.sampled_from(SCHEDULES),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
    st.booleans(),
)
def test_loopy_propagation_is_exact_on_trees(case, schedule, damping, division, logs):
    factors, cards = case
    found = loopy_propagation(
        factors, cards, schedule=schedule, damping=damping, division=division, logs=logs, tol=1e-12
    )
    assert found.converged
    assert found.log_partition == pytest.approx(np.log(joint(factors, cards).sum()), abs=1e-8)
    for belief, marginal in zip(found.marginals, exact_marginals(factors, cards), strict=True):
        np.testing.assert_allclose(belief, marginal, atol=1e-8)
    for number, factor in enumerate(factors):
        exact = enumerate_joint(with_variables(factors, cards), cards)
        for v in set(range(len(cards))) - set(factor.variables):
            exact = exact.eliminate(v)
        belief = found.factor_marginal(number).transpose(exact.variables)
        np.testing.assert_allclose(belief.table, exact.normalise().table, atol=1e-8)


@given(trees(zeros=True), st.sampled_from(SCHEDULES), st.booleans())
def test_max_product_finds_the_most_probable_states_of_a_tree(case, schedule, division):
    factors, cards = case
    found = loopy_propagation(factors, cards, maximum=True, schedule=schedule, division=division)
    best = np.log(joint(factors, cards).max())
    assert found.converged
    assert found.log_partition == pytest.approx(best, abs=1e-8)
    assert found.log_score(found.assignment) == pytest.approx(best, abs=1e-8)


def test_equal_maxima_are_decoded_to_states_that_go_together():
    """Every variable alone could be anything: the states have to be chosen together."""
    differ = np.array([[0.0, 1.0], [1.0, 0.0]])
    chain = [Factor((i, i + 1), differ) for i in range(5)]
    assert loopy_propagation(chain, (2,) * 6, maximum=True).assignment.tolist() == [0, 1, 0, 1, 0, 1]


@given(trees(zeros=True), st.data())
def test_evidence_conditions_or_is_refused(case, data):
    factors, cards = case
    v = data.draw(st.integers(0, len(cards) - 1))
    state = data.draw(st.integers(0, cards[v] - 1))
    table = np.take(joint(factors, cards), [state], axis=v)
    if table.sum() == 0:
        with pytest.raises(ValueError, match="none of its states"):
            loopy_propagation(factors, cards, {v: state})
        return
    found = loopy_propagation(factors, cards, {v: state})
    assert found.log_partition == pytest.approx(np.log(table.sum()), abs=1e-7)
    assert found.marginal(v)[state] == pytest.approx(1.0)


@given(graphs())
def test_all_orders_and_forms_of_messages_meet_at_one_fixed_point(case):
    factors, cards = case
    found = loopy_propagation(factors, cards, tol=1e-12, max_passes=2000)
    if not found.converged:
        return
    options = [{"division": True}, {"logs": True}, {"schedule": "sequential"}, {"schedule": "residual"}]
    others = [loopy_propagation(factors, cards, tol=1e-12, max_passes=2000, **option) for option in options]
    assert others[0].passes == found.passes  # division and direct products send the same messages
    for other in others[:2]:
        np.testing.assert_allclose(np.concatenate(other.marginals), np.concatenate(found.marginals), atol=1e-7)
        assert other.log_partition == pytest.approx(found.log_partition, abs=1e-7)


@given(graphs(), st.integers(0, 3))
def test_lower_bounds_never_fall_and_never_pass_the_partition_function(case, blocks):
    factors, cards = case
    log_partition = np.log(joint(factors, cards).sum())
    groups = [(0, 1)][:blocks] if blocks < 3 else [tuple(range(len(cards)))]
    for fit in (mean_field(factors, cards), structured_variational(factors, cards, groups)):
        assert fit.bound <= log_partition + 1e-9
        assert np.diff(fit.bounds).min(initial=0.0) >= -1e-10
    if blocks == 3:  # one block of everything is exact
        assert fit.bound == pytest.approx(log_partition, abs=1e-9)
        for q, p in zip(fit.marginals, exact_marginals(factors, cards), strict=True):
            np.testing.assert_allclose(q, p, atol=1e-9)


@given(st.integers(0, 2**20), st.integers(0, 1))
def test_mean_field_is_exact_where_variables_are_independent(seed, observed):
    rng = np.random.RandomState(seed)
    factors = [Factor((v,), rng.uniform(0.1, 1.0, 3)) for v in range(3)]
    factors.append(Factor((0, 1), np.multiply.outer(*rng.uniform(0.1, 1.0, (2, 3)))))
    fit = mean_field(factors, (3, 3, 3), {2: observed})
    assert fit.bound == pytest.approx(np.log(joint(factors, (3, 3, 3))[..., observed].sum()), abs=1e-9)


@given(graphs(), st.booleans())
def test_a_round_of_gibbs_leaves_the_distribution_as_it_is(case, block):
    factors, cards = case
    chain, states = gibbs_chain(factors, cards, blocks=[(0, 1)] if block else None)
    exact = joint(factors, cards)
    expected = exact[tuple(states.T)] / exact.sum()
    np.testing.assert_allclose(chain.stationary, expected, atol=1e-10)
    assert chain.is_regular
    assert positivity(factors, cards).positive


@settings(max_examples=10)
@given(graphs(), st.booleans())
def test_draws_of_gibbs_come_near_the_marginals(case, block):
    factors, cards = case
    samples = gibbs(factors, cards, draws=20_000, seed=5, blocks=[(0, 1)] if block else None)
    for v, exact in enumerate(exact_marginals(factors, cards)):
        for state, p in enumerate(exact):
            estimate = samples.estimate(lambda x, v=v, state=state: x[..., v] == state)
            assert estimate.value == pytest.approx(samples.marginal(v)[state])
            assert abs(estimate.value - p) < 6 * estimate.standard_error + 1e-3
    assert samples.log_scores.max() <= np.log(joint(factors, cards).max()) + 1e-9


def test_a_draw_costs_as_much_as_the_factors_around_its_variable():
    """However long the chain, a variable is drawn by its evidence and two factors."""
    for n in (10, 1000):
        chain = [Factor((i, i + 1), EVEN) for i in range(n - 1)]
        plan = block_plan(flat_factors(chain, (2,) * n), range(n), None)
        assert np.diff(plan.factor_starts).max() == 2
        np.testing.assert_array_equal(plan.factors[plan.factor_starts[4] : plan.factor_starts[5]], [3, 4])


def test_what_is_too_wide_for_tables_is_answered_approximately():
    """A grid of 45 by 45: a clique of its junction tree would have more than 2 ** 40 cells."""
    factors, cards = grid_factors(45, 2, 3, other=0.7)
    with pytest.raises(ValueError, match="width 4[5-9]|width [5-9]"):
        JunctionTree([f.variables for f in factors], cards)
    loopy = loopy_propagation(factors, cards, schedule="sequential")
    assert loopy.converged
    drawn = gibbs(factors, cards, draws=500, burn_in=50, kept=(), seed=1)
    gaps = [abs(p[0] - q[0]) for p, q in zip(loopy.marginals, drawn.marginals, strict=True)]
    assert np.mean(gaps) < 0.02
    assert mean_field(factors, cards, restarts=0).bound < loopy.log_partition


def random_network(rng, n=5, states=3):
    """Tables p(child | parents), child last, parents before children."""
    factors = []
    for i in range(n):
        parents = tuple(int(p) for p in rng.permutation(i)[: rng.randint(0, min(i, 2) + 1)])
        table = rng.dirichlet(np.ones(states), size=(states,) * len(parents))
        factors.append(Factor((*parents, i), table))
    return [factors[k] for k in rng.permutation(n)], (states,) * n


@pytest.mark.parametrize("seed", range(3))
def test_weighted_draws_come_near_the_posterior(seed):
    rng = np.random.RandomState(seed)
    factors, cards = random_network(rng)
    evidence = {4: 1, 1: 0}
    table = joint(factors, cards)[:, 0, :, :, 1]
    p = table[1].sum() / table.sum()
    for samples in (
        likelihood_weighting(factors, cards, evidence, draws=40_000),
        rejection_sampling(factors, cards, evidence, draws=40_000),
        importance_sampling(factors, cards, [np.ones(3)] * 5, evidence, draws=40_000),
        importance_sampling(factors, cards, mean_field(factors, cards, evidence).marginals, evidence, draws=40_000),
    ):
        found = samples.estimate(lambda x: x[:, 0] == 1)
        assert abs(found.value - p) < 5 * found.standard_error
        assert samples.marginal(0, 3)[1] == pytest.approx(found.value)
        assert samples.log_evidence == pytest.approx(np.log(table.sum()), abs=0.1)
        assert 100 < samples.effective_size <= 40_000 + 1e-6
    direct = likelihood_weighting(factors, cards, draws=40_000)
    assert direct.effective_size == pytest.approx(40_000)
    for v, exact in enumerate(exact_marginals(factors, cards)):
        np.testing.assert_allclose(direct.marginal(v, 3), exact, atol=0.015)


def test_the_error_of_a_sampling_estimate_falls_with_the_root_of_its_draws():
    factors, cards = random_network(np.random.RandomState(7))
    p = exact_marginals(factors, cards)[4][0]

    def errors(draws):
        runs = [likelihood_weighting(factors, cards, draws=draws, random_state=seed) for seed in range(200)]
        found = [samples.estimate(lambda x: x[:, 4] == 0) for samples in runs]
        return np.std([e.value - p for e in found]), np.mean([e.standard_error for e in found])

    (few, few_said), (many, many_said) = errors(100), errors(1600)
    assert few / many == pytest.approx(4.0, rel=0.25)
    assert few == pytest.approx(few_said, rel=0.2)
    assert many == pytest.approx(many_said, rel=0.2)


def test_metropolis_hastings_draws_any_target():
    factors, cards = [Factor((0, 1), np.array([[4.0, 1.0], [1.0, 2.0]])), Factor((1,), np.array([1.0, 3.0]))], (2, 2)
    samples = metropolis_on_factors(factors, cards, draws=4000, burn_in=50)
    estimate = samples.estimate(lambda x: x[..., 1] == 1)
    assert abs(estimate.value - exact_marginals(factors, cards)[1][1]) < 5 * estimate.standard_error
    assert estimate.r_hat < 1.02
    normal = metropolis_hastings(lambda x: -0.5 * float(x @ x), GaussianWalk(2.0), np.zeros((4, 1)), draws=4000, seed=1)
    assert normal.states.var() == pytest.approx(1.0, abs=0.1)
    assert (normal.acceptance < 0.8).all()
    Q = np.array([[0.1, 0.6, 0.3], [0.3, 0.3, 0.4], [0.8, 0.1, 0.1]])
    target = np.array([0.2, 0.3, 0.5])
    chain = metropolis_chain(target, Q)
    assert chain.detailed_balance(target)
    walk = metropolis_hastings(lambda x: float(np.log(target[x[0]])), TableProposal(Q), [[0], [2]], draws=4000)
    np.testing.assert_allclose(np.bincount(walk.states.ravel()) / walk.states.size, target, atol=0.03)


def test_metropolis_hastings_with_full_conditionals_accepts_everything():
    table = np.array([[4.0, 1.0], [1.0, 2.0]])

    class FullConditional:
        """One of two variables given the other."""

        def propose(self, x, rng):
            v, new = rng.randint(2), x.copy()
            row = table[:, x[1]] if v == 0 else table[x[0]]
            new[v] = rng.choice(2, p=row / row.sum())
            return new, float(np.log(row[x[v]]) - np.log(row[new[v]]))

    samples = metropolis_hastings(lambda x: float(np.log(table[tuple(x)])), FullConditional(), [0, 0], draws=2000)
    assert samples.acceptance[0] == 1.0


@given(st.integers(2, 7), st.integers(0, 2**20), st.booleans())
def test_markov_chains(n, seed, sparse):
    rng = np.random.RandomState(seed)
    T = rng.dirichlet(np.ones(n), size=n)
    if sparse:
        T = T * (rng.uniform(size=T.shape) < 0.4) + np.eye(n)[rng.permutation(n)]
        T /= T.sum(axis=1, keepdims=True)
    chain = MarkovChain(T)
    power = np.linalg.matrix_power(T > 0, (n - 1) ** 2 + 1)  # Wielandt: no later power has new zeros
    assert chain.is_regular == bool(power.all())
    assert chain.n_step(5).sum(axis=1) == pytest.approx(np.ones(n))
    start = rng.dirichlet(np.ones(n))
    np.testing.assert_allclose(chain.distribution(start, 4), start @ np.linalg.matrix_power(T, 4))
    if len(chain.closed_classes) == 1:
        np.testing.assert_allclose(chain.stationary @ T, chain.stationary, atol=1e-12)
    if chain.is_regular:
        path = chain.converge(start, tol=1e-10)
        far = [total_variation(p, chain.stationary) for p in path.distributions]
        assert np.diff(far).max(initial=0.0) <= 1e-12  # never further away
        steps = chain.mixing_time(0.05)
        assert chain.distance(steps) <= 0.05 < chain.distance(steps - 1)
        walk = chain.simulate(20, 0, random_state=3)
        assert (T[walk[:-1], walk[1:]] > 0).all()


def test_a_composition_of_local_steps_keeps_what_each_of_them_keeps():
    pi = np.array([0.2, 0.3, 0.5])
    first, second = (metropolis_chain(pi, Q) for Q in (np.full((3, 3), 1 / 3), np.eye(3)[[1, 2, 0]] * 0.5 + 1 / 6))
    np.testing.assert_allclose(first.then(second).stationary, pi, atol=1e-12)


def test_stuck_chains_are_found():
    xor = np.zeros((2, 2, 2))
    xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 1.0
    factors = [Factor((0,), np.array([0.5, 0.5])), Factor((1,), np.array([0.5, 0.5])), Factor((0, 1, 2), xor)]
    found = positivity(factors, (2, 2, 2), {2: 1})
    assert (found.positive, found.zeros, found.regular) == (False, (2,), False)
    with pytest.warns(UserWarning, match="never leaves one of 2 separate parts"):
        stuck = gibbs(factors, (2, 2, 2), {2: 1}, draws=100, chains=2, initial=[0, 1, 1])
    assert (stuck.states == [0, 1, 1]).all()
    free = gibbs(factors, (2, 2, 2), {2: 1}, draws=4000, blocks=[(0, 1)])
    np.testing.assert_allclose(free.marginal(0), [0.5, 0.5], atol=0.02)
    many = [*factors, *(Factor((v,), np.ones(2)) for v in range(3, 14))]
    assert positivity(many, (2,) * 14, {2: 1}).regular is None


def test_a_start_is_found_where_most_states_are_impossible():
    """Maps of three colours in which no two neighbours are alike."""
    rng = np.random.RandomState(0)
    colours = rng.randint(3, size=25)
    differ = 1.0 - np.eye(3)
    edges = [(i, j) for i in range(25) for j in range(i) if colours[i] != colours[j] and rng.uniform() < 0.15]
    factors = [Factor(edge, differ) for edge in edges]
    with pytest.warns(UserWarning, match="hold zeros"):
        samples = gibbs(factors, (3,) * 25, {0: 1}, draws=50, chains=2)
    assert (samples.log_scores == 0.0).all()
    assert (samples.states[..., 0] == 1).all()
    with (
        pytest.warns(UserWarning, match="hold zeros"),
        pytest.raises(ValueError, match="no start with positive probability"),
    ):
        gibbs(
            [Factor((i, (i + 1) % 7), 1.0 - np.eye(2)) for i in range(7)]
            + [Factor((i,), np.ones(2)) for i in range(7, 12)],
            (2,) * 12,
        )


def test_diagnostics_of_an_autoregressive_chain():
    """The autocorrelation of x_t = a x_{t-1} + noise is a^lag, and 1 draw in (1 + a) / (1 - a) counts."""
    rng, a, n = np.random.RandomState(0), 0.8, 20_000
    x = np.zeros((4, n))
    for t in range(1, n):
        x[:, t] = a * x[:, t - 1] + rng.normal(size=4)
    np.testing.assert_allclose(autocorrelation(x, 5).mean(axis=0), a ** np.arange(6), atol=0.03)
    assert effective_size(x) == pytest.approx(4 * n * (1 - a) / (1 + a), rel=0.1)
    assert split_r_hat(x) < 1.01
    assert split_r_hat(x + np.arange(4)[:, None]) > 1.1
    assert effective_size(np.ones((2, 10))) == 20


def test_all_draws_say_more_than_every_tenth_of_them():
    strong = [Factor((0, 1), np.array([[5.0, 1.0], [1.0, 5.0]])), Factor((0,), np.array([1.0, 1.5]))]

    def means(**options):
        runs = [gibbs(strong, (2, 2), chains=1, seed=seed, **options) for seed in range(200)]
        return [samples.marginal(1)[0] for samples in runs]

    assert np.var(means(draws=400)) < np.var(means(draws=40, thin=10))


def test_conditional_modes_never_fall():
    factors, cards = random_network(np.random.RandomState(3), n=6, states=2)
    graph = flat_factors(factors, cards)
    start = [0] * 6 if np.isfinite(graph.log_score(np.zeros(6, dtype=int))) else [1] * 6
    states, _ = iterated_modes(graph, start)
    assert graph.log_score(states) >= graph.log_score(np.array(start))
    for v in range(6):
        for other in range(2):
            near = states.copy()
            near[v] = other
            assert graph.log_score(near) <= graph.log_score(states) + 1e-12


def grid_factors(side, K, seed, other=0.4):
    rng = np.random.RandomState(seed)
    at = np.arange(side * side).reshape(side, side)
    pairs = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    potts = np.where(np.eye(K, dtype=bool), 1.0, other)
    edges = [Factor((int(i), int(j)), potts) for i, j in pairs]
    return [*edges, *(Factor((v,), rng.uniform(0.1, 1.0, K)) for v in range(side * side))], (K,) * side**2


def test_the_number_of_threads_changes_no_byte(monkeypatch):
    factors, cards = grid_factors(60, 3, 0)
    assert (flat_factors(factors, cards).arrays.kinds == POTTS).all()

    def run(threads):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        monkeypatch.setattr("fivefold.core.parallel.SECONDS_PER_THREAD", 1e-7)
        beliefs = loopy_propagation(factors, cards, max_passes=20)
        draws = gibbs(factors, cards, draws=5, burn_in=2, chains=3, seed=9)
        return np.concatenate(beliefs.marginals).tobytes() + draws.states.tobytes()

    assert run(1) == run(2) == run(3)


def test_seeds_decide_the_draws():
    factors, cards = grid_factors(3, 2, 0)
    first, again, other = (gibbs(factors, cards, draws=50, seed=seed).states for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    orders = [loopy_propagation(factors, cards, schedule="random", seed=4, max_passes=3) for _ in range(2)]
    assert orders[0].changes == orders[1].changes


def test_draws_do_not_depend_on_how_often_ctrl_c_is_heard(monkeypatch):
    factors, cards = grid_factors(3, 2, 0)

    def run(piece):
        monkeypatch.setattr("fivefold.inference.approximate.gibbs_sampling.PIECE_DRAWS", piece)
        samples = gibbs(factors, cards, draws=40, burn_in=17, thin=3, seed=6)
        return samples.states.tobytes() + samples.log_scores.tobytes() + np.concatenate(samples.marginals).tobytes()

    assert run(1) == run(100) == run(2_000_000)


def test_a_variable_with_very_many_neighbours_does_not_underflow():
    pull = np.array([[0.9, 0.1], [0.1, 0.9]])
    leaves = [Factor((0, i), pull) for i in range(1, 4001)]
    sides = [Factor((i,), np.array([1.0, 0.0]) if i <= 2001 else np.array([0.0, 1.0])) for i in range(1, 4001)]
    found = loopy_propagation([*leaves, *sides], (2,) * 4001)
    np.testing.assert_allclose(found.marginal(0), [81 / 82, 1 / 82], rtol=1e-9)


def test_evidence_that_is_passed_on_unweakened_does_not_underflow():
    """A chain of equal variables, of which one half speaks for the one state and the other half for the other."""
    n = 3000
    equal = [Factor((i, i + 1), np.eye(2)) for i in range(n - 1)]
    sides = [Factor((i,), np.array([0.7, 0.3]) if 2 * i < n else np.array([0.3, 0.7])) for i in range(n)]
    found = loopy_propagation([*equal, *sides], (2,) * n, schedule="sequential")
    np.testing.assert_allclose(found.marginals, np.full((n, 2), 0.5), atol=1e-6)
    assert found.log_partition == pytest.approx(np.log(2) + n / 2 * np.log(0.21), rel=1e-9)


def test_strong_opposite_messages_do_not_underflow():
    pull = np.array([[1.0, 1e-59], [1e-59, 1.0]])
    sides = [Factor((i,), np.eye(2)[i % 2]) for i in range(1, 13)]
    found = loopy_propagation([*sides, *(Factor((0, i), pull) for i in range(1, 13))], (2,) * 13)
    np.testing.assert_allclose(found.marginal(0), [0.5, 0.5])
    assert found.log_partition == pytest.approx(np.log(2) + 6 * np.log(1e-59), rel=1e-12)


def test_a_long_chain_of_messages_stays_finite():
    chain = [Factor((i, i + 1), np.array([[3.0, 1.0], [1.0, 2.0]])) for i in range(9999)]
    found = loopy_propagation(chain, (2,) * 10_000, schedule="sequential")
    assert found.passes <= 3
    assert np.isfinite(np.concatenate(found.marginals)).all()
    assert np.isfinite(found.log_partition)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: loopy_propagation([Factor((0, 1), np.ones((2, 3)))], (2, 2)), "has shape"),
        (lambda: loopy_propagation([Factor((0, 5), np.ones((2, 2)))], (2, 2)), "numbered from 0 to 1"),
        (lambda: loopy_propagation([Factor((0, 1), -np.ones((2, 2)))], (2, 2)), "zero or positive"),
        (lambda: loopy_propagation([Factor((0, 1), np.zeros((2, 2)))], (2, 2)), "all values are zero"),
        (lambda: loopy_propagation([Factor((0,), np.ones(2))], (2,), {0: 4}), "no state 4"),
        (lambda: loopy_propagation([Factor((0,), np.ones(2))], (2,), damping=1.0), "damping"),
        (lambda: loopy_propagation([Factor((0,), np.ones(2))], (2,), schedule="all"), "flooding"),
        (lambda: gibbs([Factor((0,), np.ones(2))], (2,), draws=0), "positive"),
        (lambda: gibbs([Factor((0,), np.ones(2))], (2,), initial=[3]), "initial"),
        (lambda: gibbs([Factor((0,), np.ones(2))], (2,), blocks=[(0, 0)]), "disjoint"),
        (lambda: gibbs([Factor((0,), np.ones(2))], (2,), draws=2**28, chains=2), "kept="),
        (lambda: likelihood_weighting([Factor((0,), np.ones(2))], (2,)), "sum to one"),
        (lambda: likelihood_weighting([Factor((0, 1), EVEN), Factor((1, 0), EVEN)], (2, 2)), "cycle"),
        (lambda: weighted(np.zeros((1, 1)), [0.0], [-np.inf]), "density zero"),
        (lambda: MarkovChain([[0.5, 0.6], [0.5, 0.5]]), "row 0"),
        (lambda: MarkovChain(np.eye(2)).stationary, "2 sets of states"),
        (lambda: MarkovChain([[0, 1], [1, 0]]).mixing_time(), "does not mix"),
    ],
)
def test_refusals_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()

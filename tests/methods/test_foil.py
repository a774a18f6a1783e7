"""Foil: relations, clauses, joins, and what is learned from facts."""

import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interruption import PressCtrlC
from oracles.logic import assignments, closure, counts_of_bindings
from sklearn.base import clone

from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.rules import Database, Foil, Program, Relation
from fivefold.rules.covering.description_length import foil_gain
from fivefold.rules.logic.clauses import Clause, parse_clause
from fivefold.rules.logic.foil_search import CandidateLiteral, ClauseGrower, descending_orders
from fivefold.rules.logic.joins import TooManyBindings
from fivefold.rules.logic.literals import Atom, Variable

PARENT = [
    ("ann", "bob"), ("ann", "eve"), ("bob", "cy"), ("eve", "dan"), ("cy", "fay"), ("max", "bob"), ("max", "eve"),
    ("dan", "gus"), ("fay", "hal"), ("bob", "ida"), ("ida", "jo"),
]  # fmt: skip
FEMALE = ["ann", "eve", "fay", "ida", "jo"]
MALE = ["bob", "cy", "dan", "max", "gus", "hal"]
BASE = {"parent": PARENT, "female": FEMALE, "male": MALE}
GRAND = sorted({(a, d) for a, b in PARENT for c, d in PARENT if b == c})
ANCESTOR = sorted(closure(PARENT))


def learn(target, facts, relations=BASE, **settings):
    return Foil(**settings).fit({**relations, target: facts}, target)


def family(generations, couples, seed):
    """A larger family: parent, female, male."""
    rng = np.random.RandomState(seed)
    parent, female, male, count = [], [], [], 0

    def person(woman):
        nonlocal count
        count += 1
        (female if woman else male).append(f"p{count}")
        return f"p{count}"

    level = [(person(False), person(True)) for _ in range(couples)]
    for _ in range(generations - 1):
        after = []
        for pair in level:
            for _ in range(rng.randint(1, 4)):
                woman = bool(rng.randint(2))
                child, spouse = person(woman), person(not woman)
                parent += [(who, child) for who in pair]
                after.append((child, spouse))
        level = after
    return {"parent": parent, "female": female, "male": male}


# Relations, clauses, joins


def test_relations_come_from_tuples_values_frames_and_columns():
    wanted = {("ann", 1), ("bob", 2)}
    columns = {"who": ["ann", "bob"], "n": [1, 2]}
    for data in (sorted(wanted), wanted, columns, pd.DataFrame(columns), pl.DataFrame(columns), np.array([["a", "b"]])):
        relation = Relation.of("r", data)
        assert relation.arity == 2 and (relation.facts == wanted or isinstance(data, np.ndarray))
    assert Relation.of("r", ["a", "b"]).facts == {("a",), ("b",)} and ("a",) in Relation.of("r", ["a"])
    assert len(Relation.of("r", [], arity=3)) == 0


TERMS = st.one_of(st.sampled_from("XYZ").map(Variable), st.sampled_from(["ann", "bob", "it is", "Big", 3, -1.5]))
ATOMS = st.one_of(
    st.builds(Atom, st.sampled_from(["p", "Father", "two words"]), st.lists(TERMS, min_size=1, max_size=3).map(tuple),
              st.booleans()),
    st.builds(Atom, st.just("="), st.tuples(TERMS, TERMS), st.booleans()),
)  # fmt: skip
HEADS = st.builds(Atom, st.just("h"), st.lists(TERMS, min_size=1, max_size=3).map(tuple))


@settings(max_examples=200, deadline=None)
@given(st.builds(Clause, HEADS, st.lists(ATOMS, max_size=4).map(tuple)))
def test_a_printed_clause_reads_back_in_both_forms(clause):
    assert parse_clause(str(clause)) == clause
    assert parse_clause(clause.if_then()) == clause


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("p(X", "'\\)' should come before 'the end'"),
        ("p(X) :- ", "should come before 'the end'"),
        ("X = Y", "head of a clause is a relation"),
        ("p(X) q", "'q' stands after the clause"),
        ("IF p(X)", "'then' should come before"),
        ("p(X) :- X", "a literal is relation"),
        ("p(X) :- q(#)", "cannot read"),
    ],
)
def test_what_is_no_clause_is_refused_in_words(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_clause(text)


SMALL = {"p": {("a", "b"), ("b", "c"), ("c", "c")}, "q": {("a",), ("c",)}, "t": {("a", "b", "c"), ("c", "b", "a")}}
SLOTS = st.one_of(st.sampled_from("XYZU").map(Variable), st.sampled_from(["a", "nobody"]))
LITERALS = st.sampled_from([("p", 2), ("q", 1), ("t", 3), ("=", 2)]).flatmap(
    lambda r: st.builds(Atom, st.just(r[0]), st.tuples(*[SLOTS] * r[1]), st.just(True))
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LITERALS, min_size=1, max_size=3).map(tuple), st.data())
def test_joins_give_the_assignments_that_trying_everything_gives(body, data):
    """Constants, variables that repeat within and between literals, equations; negation of what is bound."""
    bound = [v for atom in body for v in atom.variables]
    if bound:
        v, u = (Variable(data.draw(st.sampled_from(bound))) for _ in range(2))
        body = (*body, Atom("p", (v, u), False))
    head = Atom("h", tuple(map(Variable, dict.fromkeys(bound))) or ("a",))
    clause = Clause(head, body)
    constants = sorted({v for facts in SMALL.values() for fact in facts for v in fact})
    found = clause.bindings({name: sorted(facts) for name, facts in SMALL.items()})
    assert len(found) == len(set(found.rows()))
    place = [clause.variables.index(v) for v in found.variables]
    wanted = {tuple(row[i] for i in place) for row in assignments(clause, SMALL, constants)}
    assert set(found.rows()) == wanted


def test_a_variable_that_no_literal_binds_may_be_anything_of_its_type():
    relations = {**BASE, "age": [("ann", 71)], "lone": ["ann"]}
    found = parse_clause("lone(X) :- not parent(X, _)").bindings(relations)  # 71 is no person
    assert {row[0] for row in found.rows()} == {"gus", "hal", "jo"}


def test_a_program_is_applied_until_nothing_new_follows():
    program = Program.parse("anc(X, Y) :- parent(X, Y)\nanc(X, Y) :- anc(X, Z), parent(Z, Y)")
    assert program.derive(BASE).facts == set(ANCESTOR)
    circle = [("a", "b"), ("b", "c"), ("c", "a")]
    assert len(program.derive({"parent": circle})) == 9  # it ends on a circle as well
    assert Program.parse(str(program)) == program
    with pytest.raises(ValueError, match="cannot deny the relation"):
        Program.parse("p(X) :- q(X), not p(X)")
    with pytest.raises(ValueError, match="define one relation; these define p, q"):
        Program.parse("p(X) :- r(X)\nq(X) :- r(X)")


def test_types_are_columns_that_share_constants():
    database = Database.of({**BASE, "age": [("ann", 71), ("bob", 44)], "even": [44]})
    types = database.types
    assert types["parent", 0] == types["female", 0] == types["age", 0] != types["age", 1] == types["even", 0]
    assert [database.constants[i] for i in database.domain("even", 0)] == [44, 71]


def test_a_join_that_is_too_large_is_refused_with_its_size():
    with pytest.raises(TooManyBindings, match="121 rows of bindings, more than 50"):
        parse_clause("h(X, U) :- parent(X, Y), parent(U, V)").bindings(BASE, most=50)


# Learning


def test_grandparent_is_learned_and_its_bindings_are_shown():
    """E-97."""
    model = learn("grandparent", GRAND)
    assert str(model.program_) == "grandparent(X, Y) :- parent(X, Z), parent(Z, Y)"
    table = model.bindings(0)
    assert table.variables == ("X", "Y", "Z") and {row[:2] for row in table.rows()} == set(GRAND)
    assert ("ann", "cy", "bob") in table.rows() and "ann  cy   bob" in str(table)
    assert list(table.columns()) == ["X", "Y", "Z"] and len(table.distinct(["X", "Y"])) == len(GRAND)
    assert model.to_text() == f"IF parent(X, Z) AND parent(Z, Y) THEN grandparent(X, Y)  ({len(GRAND)} right, 0 wrong)"


def test_ancestor_is_learned_by_recursion_and_holds_in_another_family():
    """E-97: no set of clauses without recursion says ancestor for every depth."""
    model = learn("ancestor", ANCESTOR)
    assert str(model.program_) == ("ancestor(X, Y) :- parent(X, Y)\nancestor(X, Y) :- parent(X, Z), ancestor(Z, Y)")
    assert model.missed_ == model.wrong_ == []
    chain = {"parent": [(i, i + 1) for i in range(30)]}
    assert model.derive(chain).facts == {(i, j) for i in range(31) for j in range(i + 1, 31)}
    assert model.predict([(0, 30), (30, 0)], chain).tolist() == [True, False]
    plain = learn("ancestor", ANCESTOR, recursion=False)
    assert not any(clause.recursive for clause in plain.clauses_)
    assert len(plain.derive(chain)) < 31 * 30 / 2


def test_daughter_needs_both_literals_and_nothing_else():
    """E-97."""
    model = learn("daughter", [(c, p) for p, c in PARENT if c in FEMALE])
    assert str(model.program_) == "daughter(X, Y) :- parent(Y, X), female(X)"


def test_recursion_leads_down_along_facts_without_circles():
    """Two relations together are the way down; a circle of facts is none."""
    base = family(5, 3, seed=0)
    father = [(c, p) for p, c in base["parent"] if p in base["male"]]
    mother = [(c, p) for p, c in base["parent"] if p in base["female"]]
    model = learn("ancestor", sorted(closure(base["parent"])), {"father": father, "mother": mother})
    assert sum(clause.recursive for clause in model.clauses_) == 2 and len(model.clauses_) == 4
    assert model.missed_ == model.wrong_ == []
    circle = {"edge": [("a", "b"), ("b", "c"), ("c", "a")], "reach": [("a", "b")]}
    assert descending_orders(Database.of(circle), "reach") == frozenset()
    for clause in model.clauses_:  # the literal of the target comes after the one that leads down
        places = [i for i, atom in enumerate(clause.body) if atom.relation == "ancestor"]
        assert all(i > 0 for i in places)


def test_members_of_lists_are_learned_through_heads_and_tails():
    lists = {p[i:] for p in permutations("abc") for i in range(3)}
    components = [(str(l), l[0], str(l[1:])) for l in lists]
    member = [(x, str(l)) for l in lists for x in l]
    model = learn("member", member, {"components": components})
    assert str(model.program_) == (
        "member(X, Y) :- components(Y, X, Z)\nmember(X, Y) :- components(Y, Z, U), member(X, U)"
    )


def test_negation_and_equality_are_used_where_they_are_allowed():
    sibling = sorted({(a, b) for p, a in PARENT for q, b in PARENT if p == q and a != b})
    model = learn("sibling", sibling, equality=True)
    assert model.missed_ == model.wrong_ == [] and any(a.relation == "=" for c in model.clauses_ for a in c.body)
    lone = sorted({v for pair in PARENT for v in pair} - {p for p, _ in PARENT})
    model = learn("lone", lone, negation=True)
    assert str(model.program_) == "lone(X) :- not parent(X, _1)" and model.missed_ == model.wrong_ == []
    assert learn("lone", lone).missed_  # without negation it cannot be said


def test_determinate_literals_bring_in_variables_that_gain_nothing_by_themselves():
    """The parity of a successor's successor: both literals with new variables leave every row as it is."""
    n = 12
    relations = {"next": [(i, (i + 1) % n) for i in range(n)], "red": [i for i in range(n) if i in (1, 4, 5, 9)]}
    target = [(i,) for i in range(n) if (i + 2) % n in (1, 4, 5, 9)]
    settings = {"recursion": False, "max_new_variables": 4, "stop": "gain", "max_literals": 8}
    model = learn("target", target, relations, determinate=True, **settings)
    assert str(model.program_) == "target(X) :- next(X, Y), next(Y, Z), red(Z)"
    assert str(learn("target", target, relations, **settings).program_) != str(model.program_)


def test_noise_does_not_change_the_rule():
    """One fact in ten is missing and as many are wrong; the clause is the same, and the bits of noise are not paid."""
    base = family(4, 3, seed=0)
    people = base["female"] + base["male"]
    grand = {(a, d) for a, b in base["parent"] for c, d in base["parent"] if b == c}
    for seed in range(5):
        rng = np.random.RandomState(seed)
        kept = {fact for fact in sorted(grand) if rng.rand() > 0.1}
        while len(kept) < len(grand):
            fact = tuple(rng.choice(people, 2).tolist())
            kept |= {fact} - grand
        model = learn("grandparent", sorted(kept), base)
        assert [{str(a) for a in c.body} for c in model.clauses_] == [{"parent(X, Z)", "parent(Z, Y)"}]
        assert model.derive().facts == grand


def test_gain_counts_bindings_and_not_examples():
    """Foil gain of every first literal, against all assignments written out."""
    facts = {name: {f if isinstance(f, tuple) else (f,) for f in listed} for name, listed in BASE.items()}
    database = Database.of({**BASE, "grandparent": GRAND})
    constants, true = database.constants, set(GRAND)
    examples = {(a, b) for a in constants for b in constants}
    codes = database.numbered(sorted(examples), 2)
    positive = np.array([e in true for e in sorted(examples)])
    head = Atom("grandparent", (Variable("X"), Variable("Y")))
    growth = ClauseGrower(database, head, frozenset(), len(codes), False, False, False, False, 6, 3, 10**6, 0)
    start = growth.start(codes, positive, frozenset())
    seen = 0
    for choice in growth.choices(start):
        state = growth.added(start, scored := growth.scored(start, choice, 1.0))
        p, n = counts_of_bindings(examples, true, state.body, head, {**facts, "grandparent": true}, constants)
        assert state.counts == (p, n)
        left = {tuple(row) for row in state.rows[state.positive][:, :2].tolist()}
        wanted = foil_gain(len(true), len(examples), p, p + n, len(left)) if left else -np.inf
        assert scored.gain == pytest.approx(wanted)
        seen += 1
    assert seen == 12 and CandidateLiteral("parent", (0, -1)) in list(growth.choices(start))


def test_given_negatives_take_the_place_of_the_closed_world():
    """With few negatives the one literal that tells them apart is enough."""
    false = [("cy", "ann"), ("dan", "max"), ("fay", "ann")]
    model = Foil(recursion=False, random_state=0).fit({**BASE, "elder": GRAND}, "elder", negatives=false)
    assert len(model.clauses_) == 1 and not model.predict(false).any()


def test_thousands_of_facts_are_learned_from_in_seconds_and_a_seed_decides_the_draw():
    base = family(6, 6, seed=0)
    ancestor = sorted(closure(base["parent"]))
    assert len(ancestor) + sum(map(len, base.values())) > 3000
    texts = {str(learn("ancestor", ancestor, base, max_negatives=20_000, random_state=0).program_) for _ in range(2)}
    assert texts == {"ancestor(X, Y) :- parent(X, Y)\nancestor(X, Y) :- parent(X, Z), ancestor(Z, Y)"}


def test_ctrl_c_keeps_the_clauses_that_are_there():
    model = Foil(random_state=0).set_callbacks(PressCtrlC(after=1))
    with pytest.warns(InterruptedWarning, match="after 1 clause; the best model so far was kept"):
        model.fit({**BASE, "ancestor": ANCESTOR}, "ancestor")
    assert len(model.clauses_) == 1 and model.missed_


def test_a_learner_survives_pickle():
    model = learn("ancestor", ANCESTOR)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.program_ == model.program_ and copy.derive() == model.derive()


@pytest.mark.parametrize(
    ("relations", "target", "negatives", "problem"),
    [
        (BASE, "uncle", None, r"no relation is called 'uncle'; there are parent/2, female/1, male/1"),
        ({"p": [("a", "b"), ("a",)]}, "p", None, r"relation 'p' has arity 2; the fact \('a',\) has 1 value"),
        ({"p": [("a", None)]}, "p", None, "missing value"),
        ({"p": []}, "p", None, "has no facts: say its arity"),
        ({**BASE, "t": Relation.of("t", [], arity=2)}, "t", None, "no facts: there is nothing to learn from"),
        ({"p": ["a"], "q": ["a"]}, "p", None, "nothing is negative"),
        (BASE, "parent", [("ann", "bob")], "both a fact and among the negatives"),
        (BASE, "parent", [("ann",)], "arity 2; the fact"),
        ([("a", "b")], "p", None, "relations are given by name"),
        (BASE, 3, None, "the target is the name of a relation"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(relations, target, negatives, problem):
    with pytest.raises(ValueError, match=problem):
        Foil(random_state=0).fit(relations, target, negatives=negatives)


def test_parameters_are_checked_and_the_learner_clones():
    with pytest.raises(ValueError, match="Foil: the 'max_literals' parameter must be an int"):
        learn("grandparent", GRAND, max_literals=0)
    with pytest.raises(ValueError, match="arity 2; the fact .* has 1 value"):
        learn("grandparent", GRAND).predict(["ann"])
    assert clone(Foil(negation=True, random_state=0)).negation is True
    with pytest.raises(ValueError, match="has 3 term"):
        parse_clause("h(X) :- parent(X, Y, Z)").bindings(BASE)

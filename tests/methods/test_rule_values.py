"""Rules as values: they print, parse, simplify and go to SQL without changing an answer."""

import re
import sqlite3
from math import inf, nextafter

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fivefold.partition.export.text_formats import exact_digits, quote_name, text_literal
from fivefold.rules import Condition, Rule, RuleList, RuleSet, Schema, parse
from fivefold.rules.rule_lists.rule_export import explain, to_dot, to_frame, to_sql

ODD = [
    "a",
    "petal width (cm)",
    'the "shop"',
    "it's",
    "größe",
    "or",
    "if x <= 1",
    "日本",
    "",
    " ",
    "\\",
    "a\nb",
    "1",
    "#",
]
TEXT = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
NUMBER = st.one_of(st.sampled_from([-1.0, 0.0, 0.1, 0.1 + 0.2, 1.0, 2.5, 5e-324, 1e300]), st.floats(allow_nan=False))
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
LEVELS = 4  # categories of a column that has them


@st.composite
def schemas(draw, numbers):
    columns = tuple(draw(st.lists(TEXT, min_size=2, max_size=4, unique=True)))
    cells = st.one_of(TEXT, st.integers(-5, 5))
    chosen = draw(st.sets(st.integers(0, len(columns) - 1)))
    categories = {
        j: tuple(draw(st.lists(cells, min_size=LEVELS, max_size=LEVELS, unique=True))) for j in sorted(chosen)
    }
    labels = st.one_of(st.lists(TEXT, min_size=2, max_size=3, unique=True), st.just([False, True]), st.just([3, 7, 9]))
    return Schema(columns, categories, None if numbers else tuple(draw(labels)))


@st.composite
def conditions(draw, schema):
    column, missing = draw(st.integers(0, len(schema.columns) - 1)), draw(st.booleans())
    if column in schema.categories:
        return Condition(column, levels=frozenset(draw(st.sets(st.integers(0, LEVELS - 1)))), missing=missing)
    ends = draw(st.sampled_from(["none", "low", "high", "both", "either way", "missing"]))
    low, high = sorted(draw(st.tuples(NUMBER, NUMBER)))
    bounds = {
        "none": (-np.inf, np.inf),
        "low": (low, np.inf),
        "high": (-np.inf, high),
        "both": (low, high),
        "either way": (high, low),
        "missing": (np.inf, np.inf),
    }
    return Condition(column, *bounds[ends], missing=missing)


@st.composite
def rules(draw, kind=RuleList, numbers=False):
    """A list or a set with odd names, categories, infinities and gaps."""
    schema = draw(schemas(numbers))
    K = 0 if numbers else len(schema.classes)
    label = NUMBER if numbers else st.sampled_from(schema.classes)
    shares = st.one_of(st.just(()), st.tuples(*[st.integers(0, 9).map(float)] * K), st.tuples(*[st.floats(0, 9)] * K))

    def one(parts):
        value = draw(shares)
        rows = draw(st.integers(0, 99))
        return Rule(tuple(parts), draw(label), value, draw(st.one_of(st.just(float(rows)), st.floats(0, 99))), rows)

    made = [one(draw(st.lists(conditions(schema), max_size=4))) for _ in range(draw(st.integers(0, 6)))]
    extra = {"vote": draw(st.sampled_from(["distribution", "best"]))} if kind is RuleSet else {}
    return kind(tuple(made), one(()), schema, smoothing=draw(st.sampled_from([0.0, 0.0, 1.0, 0.3])), **extra)


def rows_for(found, seed=0, n=60):
    """Rows at the bounds and between them, with gaps, infinities and, where it says -1, a category nobody named."""
    rng = np.random.RandomState(seed)
    X = np.empty((n, len(found.schema.columns)))
    for j in range(X.shape[1]):
        if j in found.schema.categories:
            values = np.arange(-1.0, LEVELS)
        else:
            ends = [v for rule in found for c in rule.conditions if c.column == j for v in (c.low, c.high)]
            near = [w for v in ends for w in (nextafter(v, -inf), v, nextafter(v, inf))]
            values = np.array([*near, 0.0, 1.5, -np.inf, np.inf])
        X[:, j] = rng.choice([*values, np.nan], n)
    return X


def same_answers(found, other, X):
    np.testing.assert_array_equal(other.predict(X), found.predict(X))
    if found.schema.classes is not None:
        np.testing.assert_array_equal(other.proba(X), found.proba(X))
        np.testing.assert_array_equal(other.codes(X), found.codes(X))


ANY = st.one_of(rules(), rules(RuleSet), rules(numbers=True))


@QUICK
@given(ANY)
def test_the_text_of_rules_reads_back_as_rules_that_answer_alike(found):
    """Names with spaces, quotes and any letters, categories, gaps, infinities, all digits of a float."""
    again = parse(str(found), found.schema)
    assert type(again) is type(found) and len(again) == len(found)
    assert str(again) == str(found)
    same_answers(found, again, rows_for(found))


@QUICK
@given(ANY)
def test_simplified_rules_answer_alike_in_no_more_words(found):
    short = found.simplified()
    assert len(short) <= len(found) and short.conditions <= found.conditions
    same_answers(found, short, rows_for(found))
    if isinstance(found, RuleList):
        shorter = found.simplified(labels_only=True)
        assert len(shorter) <= len(short)
        np.testing.assert_array_equal(shorter.predict(rows_for(found)), found.predict(rows_for(found)))


def in_sqlite(sql, found, X):
    """What SQLite answers; NaN is NULL in even rows and, of categories, a text that nobody named in odd ones."""
    base = sqlite3.connect(":memory:")
    names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in found.schema.columns]
    base.execute(f"CREATE TABLE t ({', '.join(names)})")
    known = found.schema.categories
    new = "a category that nobody named"
    cells = [
        [(new if i % 2 and j in known else None) if v != v else known[j][int(v)] if j in known else v
         for j, v in enumerate(row)]
        for i, row in enumerate(X.tolist())
    ]  # fmt: skip
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", cells)
    return np.array(base.execute(sql).fetchall(), dtype=object)


def plain(found):
    """SQL knows no empty name, and sees no difference between names that differ in the case of letters a to z only."""
    folded = {name.lower() for name in found.schema.columns}
    return all(found.schema.columns) and len(folded) == len(found.schema.columns)


@QUICK
@given(ANY.filter(plain))
def test_sqlite_answers_like_predict_with_nulls_and_categories_that_nobody_named(found):
    X = rows_for(found)
    coded = list(found.schema.categories)
    X[:, coded] = np.where(X[:, coded] < 0, np.nan, X[:, coded])  # as admission reads a category that nobody named
    said = in_sqlite(to_sql(found, table="t"), found, X)[:, 0]
    np.testing.assert_array_equal(said.tolist(), found.predict(X).tolist())
    if found.schema.classes is not None:
        said = in_sqlite(to_sql(found, table="t", output="predict_proba"), found, X)
        np.testing.assert_array_equal(said.astype(float), found.proba(X))
    if isinstance(found, RuleList):
        said = in_sqlite(f"SELECT {to_sql(found, output='apply')} FROM t", found, X)[:, 0]
        np.testing.assert_array_equal(said.tolist(), found.fired(X))


STATEMENT = re.compile(
    r'\s*(?P<from>\w+)(?:\s*->\s*(?P<to>\w+))?\s*\[(?:\w+=(?:\w+|"(?:[^"\\]|\\.)*")(?:,\s*)?)+\];\s*', re.DOTALL
)


def read_dot(text):
    """Nodes and edges of a drawing; anything that is not of the language of Graphviz fails."""
    inside = re.fullmatch(r"digraph \w+ \{\n(.*)\n\}", text, re.DOTALL)[1]
    at, nodes, edges = 0, set(), []
    while at < len(inside):
        found = STATEMENT.match(inside, at)
        assert found, inside[at : at + 60]
        if found["to"]:
            edges.append((found["from"], found["to"]))
        elif found["from"] not in ("node", "edge"):
            nodes.add(found["from"])
        at = found.end()
    return nodes, edges


@QUICK
@given(ANY)
def test_a_drawing_is_in_the_language_of_graphviz_and_reaches_every_answer(found):
    nodes, edges = read_dot(to_dot(found))
    assert len(nodes) == 2 * len(found) + 1
    assert {end for edge in edges for end in edge} <= nodes
    chained = isinstance(found, RuleList)
    assert len(edges) == len(found) * (2 if chained else 1)
    if chained:
        reached = {"q0" if len(found) else "a0"}
        for start, end in edges:
            assert start in reached
            reached.add(end)
        assert reached == nodes


@QUICK
@given(ANY)
def test_an_explanation_names_the_rule_that_answers(found):
    X = rows_for(found, n=5)
    for x in X:
        x = np.where(x == -1, np.nan, x) if found.schema.categories else x
        told = explain(found, x)
        if isinstance(found, RuleList):
            assert told.fired == tuple(np.flatnonzero(found.covers(x[None])[0])[:1])
            assert told.rule.label == found.predict(x[None])[0]
        elif found.vote == "distribution":
            assert told.fired == tuple(np.flatnonzero(found.covers(x[None])[0]))


def example():
    schema = Schema(("age", "job type"), {1: ("A", "B", "C")}, ("no", "yes"))
    young = Rule(
        (Condition(0, high=38.5, missing=False), Condition(1, levels=frozenset({0}))), "yes", (1.0, 9.0), 10.0, 10
    )
    old = Rule((Condition(0, low=60.0, missing=False),), "no", (4.0, 0.5), 4.5, 4)
    return RuleList((young, old), Rule((), "no", (20.0, 5.0), 25.0, 25), schema)


def test_rules_read_like_sentences():
    assert str(example()).split("\n") == [
        'if age <= 38.5 and ("job type" in {A} or missing) then yes  (10 rows: no 1, yes 9)',
        "if age > 60 then no  (4 rows, weight 4.5: no 4, yes 0.5)",
        "else no  (25 rows: no 20, yes 5)",
    ]
    assert example().formulas() == {"yes": '(age <= 38.5 and ("job type" in {A} or missing))', "no": "(age > 60)"}
    assert example().text(evidence=False).endswith("\nelse no")
    assert str(explain(example(), np.array([30.0, 2.0]))).split("\n") == [
        'rule 1 fails: not "job type" in {A} or missing  (C)',
        "rule 2 fails: not age > 60  (30)",
        "no rule holds, so no",
    ]


def test_the_first_rule_that_holds_answers_and_then_the_default():
    X = np.array([[30.0, 0.0], [30.0, np.nan], [70.0, 1.0], [50.0, 0.0], [np.nan, 0.0]])
    assert example().fired(X).tolist() == [0, 0, 1, 2, 2]
    assert example().predict(X).tolist() == ["yes", "yes", "no", "no", "no"]
    np.testing.assert_allclose(example().proba(X)[:, 1], [0.9, 0.9, 0.5 / 4.5, 0.2, 0.2])


def test_a_set_votes_with_the_classes_its_rules_covered_or_lets_the_best_rule_answer():
    schema = Schema(("x",), {}, (0, 1))
    many = Rule((Condition(0, high=5.0),), 0, (30.0, 10.0))
    pure = Rule((Condition(0, low=3.0),), 1, (0.0, 12.0))
    default = Rule((), 0, (1.0, 1.0))
    X = np.array([[1.0], [4.0], [9.0]])
    voted = RuleSet((many, pure), default, schema)
    assert voted.predict(X).tolist() == [0, 0, 1]  # 30 votes against 22 where both hold
    np.testing.assert_allclose(voted.proba(X)[1], [30 / 52, 22 / 52])
    best = RuleSet((many, pure), default, schema, vote="best")
    assert best.predict(X).tolist() == [0, 1, 1]  # 13 / 14 against 31 / 42


def test_simplification_merges_bounds_and_drops_what_rules_before_have_settled():
    text = (
        "if x <= 3 then a\n"
        "if (x > 3 or missing) and (x > 1 or missing) and y <= 2 then b\n"  # x > 1 is said by x > 3
        "if x > 4 and y <= 1 then a\n"  # inside the rule before
        "if x > 3 and x <= 3 then c\n"  # impossible
        "if (x > 3 or missing) and (y > 2 or missing) then c\n"  # all that is left
        "if y > 7 then a\n"  # never reached
        "else b"
    )
    found = parse(text, ["x", "y"])
    assert found.simplified().text(evidence=False).split("\n") == [
        "if x <= 3 then a",
        "if y <= 2 then b",
        "else c",
    ]
    same_answers(found, found.simplified(), rows_for(found, n=400))


def test_a_table_of_rules_has_support_in_percent_that_adds_up():
    frame = to_frame(example())
    assert isinstance(frame, pd.DataFrame)
    assert frame["then"].tolist() == ["yes", "no", "no"]
    assert frame["support"].sum() == pytest.approx(100)
    np.testing.assert_allclose(frame["precision"], [0.9, 4 / 4.5, 0.8])


MISTAKES = {
    "if x <= then a\nelse b": r"line 1, character 9: wanted a number; got 'then' in 'if x <= then a'",
    "if x <= 1 then a": "wanted a last line `else LABEL`",
    "if z <= 1 then a\nelse b": "wanted the name of a column; 'z' is none, those are x, colour",
    "if colour in {blau} then a\nelse b": "category of column 'colour', which are 'red', 'blue'; 'blau' is new",
    "if x in {red} then a\nelse b": "category of column 'x', which are none: it holds numbers",
    "if x <= 1 then c\nelse b": "a class: one of 'a', 'b'; 'c' is none",
    "if x ~ 1 then a\nelse b": r"character 6: wanted a name, a number.*got '~'",
    "if x <= 1 then a\nelse b\nif x > 3 then a": "line 3.*nothing after the line of `else`",
    "vote: if x <= 1 then a\nelse b": "begin all of them alike",
    "if x = 1 then a\nelse b": "one of <=",
    "if x <= 1 then a b\nelse b": "the end of the line",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_text_that_is_not_understood_is_refused_with_its_place(text):
    with pytest.raises(ValueError, match=MISTAKES[text]):
        parse(text, Schema(("x", "colour"), {1: ("red", "blue")}, ("a", "b")))


def test_names_given_twice_are_refused():
    with pytest.raises(ValueError, match="two columns are called 'x'"):
        parse("else a", ["x", "x"])


def test_without_names_columns_categories_and_classes_are_found_in_the_text():
    found = parse("if b > 2 and a in {u, v} then 1  # a remark\n\nelse 0")
    assert found.schema == Schema(("b", "a"), {1: ("u", "v")}, (0, 1))
    assert parse("if x <= 2 then 1.5\nelse 2.5").predict([[1.0], [3.0]]).tolist() == [1.5, 2.5]


@given(st.floats(allow_nan=False), TEXT)
def test_numbers_and_words_are_written_so_that_they_read_back(number, text):
    assert float(exact_digits(number)) == number
    read = parse(
        f"if {quote_name(text)} <= {exact_digits(number)} then {text_literal(text)}\nelse {text_literal(text)}"
    )
    assert read.schema.columns == (text,) and read[0].label == text and read[0].conditions[0].high == number

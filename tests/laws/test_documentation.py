"""Documentation is said once: a class inherits the entries of its bases, and repeats none of them word for word."""

import ast
import inspect
import textwrap
from dataclasses import KW_ONLY, fields
from pathlib import Path

import pytest
from tables import METHODS

from fivefold.core.estimators.base import Estimator
from fivefold.core.estimators.documentation import documented_parameters, entries, sections

CLASSES = [method.cls for method in METHODS]


def written(cls):
    """The docstring of a class as its source has it."""
    return ast.get_docstring(ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]) or ""


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_documented_in_the_order_of_the_signature(cls):
    order = [field.name for field in fields(cls)]
    first = [entry.names[0] for entry in entries(sections(cls.__doc__).get("Parameters", ""))]
    assert set(order) <= set(documented_parameters(cls))
    assert first == sorted(first, key=order.index)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_class_repeats_what_it_would_inherit(cls):
    own = sections(written(cls))
    bases = [sections(written(base)) for base in cls.__mro__[1:] if base.__module__.startswith("fivefold.")]
    for title in ("Parameters", "Attributes"):
        inherited = {}  # the nearest base comes last
        for base in reversed(bases):
            inherited |= {name: entry.text for entry in entries(base.get(title, "")) for name in entry.names}
        said = [(entry.names, {inherited.get(name) for name in entry.names}) for entry in entries(own.get(title, ""))]
        texts = {entry.names: entry.text for entry in entries(own.get(title, ""))}
        assert [names for names, known in said if known == {texts[names]}] == []


class Base(Estimator):
    """A base.

    Parameters
    ----------
    first, second
        two numbers.
    third
        a third number.

    Attributes
    ----------
    mean_
        the mean.
    """

    first: int = 1
    _: KW_ONLY
    second: int = 2


class Derived(Base):
    """A method.

    Parameters
    ----------
    own
        a number of its own.
    second
        another second number.

    Examples
    --------
    None.
    """

    own: int = 0


def test_a_docstring_is_completed_by_the_entries_of_the_bases():
    made = sections(Derived.__doc__)
    assert list(made) == ["", "Parameters", "Attributes", "Examples"]
    assert [entry.names for entry in entries(made["Parameters"])] == [("first",), ("second",), ("own",)]
    meanings = {"first": "two numbers.", "second": "another second number.", "own": "a number of its own."}
    assert documented_parameters(Derived) == meanings
    assert [entry.names for entry in entries(made["Attributes"])] == [("mean_",)]


class Ordered(Base, keywords="own second"):
    """A method whose own parameter comes first.

    Parameters
    ----------
    own
        a number of its own.
    """

    _: KW_ONLY
    own: int = 0


class OrderedHeir(Ordered):
    """A method that inherits the order."""


@pytest.mark.parametrize("cls", [Ordered, OrderedHeir])
def test_a_class_may_name_the_order_of_its_keyword_only_parameters(cls):
    assert list(inspect.signature(cls).parameters) == ["first", "own", "second"]
    assert [field.name for field in fields(cls)] == ["first", "own", "second"]
    assert cls(3, second=4).get_params() == {"first": 3, "second": 4, "own": 0}


def test_an_order_that_names_no_parameter_is_refused():
    with pytest.raises(TypeError, match=r"Misspelt: keywords names \['thrid'\]"):
        type("Misspelt", (Base,), {"__annotations__": {}}, keywords="thrid")


def test_the_readme_lists_every_method_by_its_chapter():
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    chapters = {method.chapter for method in METHODS}
    for chapter in chapters:
        names = sorted(method.name for method in METHODS if method.chapter == chapter)
        assert f"| `{chapter}` | {', '.join(names)} |" in readme

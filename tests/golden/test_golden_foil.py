"""First-order rules: the example of the text."""

from fivefold.rules import Foil
from fivefold.rules.logic.clauses import parse_clause

FAMILY = {
    # father(y, x): the father of y is x
    "Father": [("mary", "tom"), ("sam", "tom"), ("lucy", "sam"), ("paul", "sam"), ("nora", "paul"), ("ken", "paul")],
    "Mother": [("mary", "jane"), ("sam", "jane"), ("lucy", "rose"), ("paul", "rose"), ("nora", "ida"), ("ken", "ida")],
    "Female": ["mary", "jane", "rose", "lucy", "ida", "nora"],
    "Male": ["tom", "sam", "paul", "ken"],
}


def test_daughter_is_learned_from_a_small_family_database():
    """E-97: IF Father(y, x) AND Female(y) THEN Daughter(x, y), with x the father."""
    daughters = [(x, y) for y, x in FAMILY["Father"] if y in FAMILY["Female"]]
    model = Foil(random_state=0).fit({**FAMILY, "Daughter": daughters}, "Daughter")
    printed = parse_clause("IF Father(y, x) AND Female(y) THEN Daughter(x, y)", variables="xy")
    (clause,) = model.clauses_
    assert str(clause) == str(printed).replace("x", "X").replace("y)", "Y)").replace("(y", "(Y")
    assert clause.if_then() == "IF Father(Y, X) AND Female(Y) THEN Daughter(X, Y)"
    assert model.bindings(0).rows() == sorted(daughters) and model.missed_ == model.wrong_ == []

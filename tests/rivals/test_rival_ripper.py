"""RIPPER beside Weka's JRip (recorded: version and command in jrip.json)."""

import json
from math import inf
from pathlib import Path

import numpy as np
import pytest
from rivals.jrip_tables import folds, frame, tables

from fivefold.rules import RIPPERClassifier

RECORD = json.loads(Path(__file__).with_name("jrip.json").read_text())["tables"]


def bounds(rules):
    """Conditions as JRip counts them: a bound from below and one from above are two."""
    return sum((c.low > -inf) + (c.high < inf) + (c.levels is not None) for rule in rules for c in rule.conditions)


@pytest.mark.parametrize("name", RECORD)
def test_ripper_errs_no_more_and_asks_no_more_than_jrip_within_a_standard_error(name):
    X, y, discrete = tables()[name]
    table, record = frame(X, discrete), RECORD[name]
    error, size = [], []
    for train, test in folds(X, y):
        model = RIPPERClassifier(random_state=0).fit(table.iloc[train], y[train])
        error.append(1 - model.score(table.iloc[test], y[test]))
        size.append(bounds(model.rules_))
    theirs, conditions = 1 - np.array(record["correct"]) / record["rows"], np.array(record["conditions"])
    root = np.sqrt(len(theirs))
    assert np.mean(error) <= theirs.mean() + theirs.std(ddof=1) / root
    assert np.mean(size) <= conditions.mean() + conditions.std(ddof=1) / root

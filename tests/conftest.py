"""Laws over variants of a method are slow: `make test` checks the defaults of every method, `make test-all` all."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if isinstance(case, tuple) and len(case) == 2 and hasattr(case[0], "card"):
            method, settings = case
            if dict(settings) != dict(method.card.given):
                item.add_marker(pytest.mark.slow)

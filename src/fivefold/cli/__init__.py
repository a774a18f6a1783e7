"""The command `fivefold`.

Exit codes: 0 done, 1 internal failure, 2 wrong use or bad input, 3 some learners of a study failed, 130 interrupted.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

REQUIRED_PACKAGES = ("typer", "rich", "polars")


def main() -> None:
    """Run the command line; without the packages of the `study` extra, only `doctor` works."""
    absent = [name for name in REQUIRED_PACKAGES if find_spec(name) is None]
    if not absent:
        from fivefold.cli.app import app

        app(prog_name="fivefold")
    elif sys.argv[1:] == ["doctor"]:
        from fivefold.cli.commands.doctor import examine, findings_text

        print(findings_text(examine()))
    else:
        print(f'fivefold: {", ".join(absent)} not installed; run: pip install "fivefold[study]"', file=sys.stderr)
        raise SystemExit(2)

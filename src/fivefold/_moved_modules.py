"""Words for pickles and imports that name a module of fivefold 0.1.0 that is elsewhere now."""

from __future__ import annotations

import sys
from pathlib import Path

OLD_NAMES_FILE = Path(__file__).parent / "core" / "storage" / "old_names.tsv"


class _MovedModules:
    """The last of the finders: Python asks it only about modules that no other finder knows."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package, _, old = name.partition(".")
        if package != __package__ or not old:
            return
        lines = (line.split("\t") for line in OLD_NAMES_FILE.read_text(encoding="utf-8").splitlines())
        if places := {new.rpartition(".")[0] for before, new in lines if before.rpartition(".")[0] == old}:
            now = " and ".join(f"{package}.{place}" for place in sorted(places))
            raise ModuleNotFoundError(
                f"{name} of fivefold 0.1.0 is now {now}. A pickle that names it was written by that version: save the "
                "model there as a model file, which this version reads, or fit it again",
                name=name,
            )


def install() -> None:
    """Put the finder behind all others."""
    sys.meta_path.append(_MovedModules)

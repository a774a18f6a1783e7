"""Words for imports and pickles that name a module of fivefold 0.1.0 that is elsewhere now."""

from __future__ import annotations

import sys
from pathlib import Path

STORAGE = Path(__file__).parent / "core" / "storage"
OLD_MODULES_FILE = STORAGE / "old_modules.tsv"  # a module of 0.1.0, and those that hold today what it held
OLD_NAMES_FILE = STORAGE / "old_names.tsv"  # a class of 0.1.0 that models are made of, and its name today


class _MovedModules:
    """The last of the finders: Python asks it only about modules that no other finder knows."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package, _, old = name.partition(".")
        if package != __package__ or not old:
            return
        if places := _pairs(OLD_MODULES_FILE).get(old):
            now = " and ".join(f"{package}.{place}" for place in places.split(" "))
            stored = any(cls.rpartition(".")[0] == old for cls in _pairs(OLD_NAMES_FILE))
            cure = (
                ". A pickle that names it was written by that version: save the model there as a model file, which "
                "this version reads, or fit it again"
            )
            raise ModuleNotFoundError(f"{name} of fivefold 0.1.0 is now {now}{cure if stored else ''}", name=name)


def _pairs(file: Path) -> dict[str, str]:
    return dict(line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())


def install() -> None:
    """Put the finder behind all others."""
    sys.meta_path.append(_MovedModules)

"""Classical machine learning, whole, on a few shared engines.

Chapters bear scikit-learn's names: `from fivefold.cluster import KMeans`. Nothing is imported before it is asked for.
"""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from fivefold import _moved_modules

__version__ = "0.1.0"

_moved_modules.install()


def __getattr__(name: str) -> ModuleType:
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))])

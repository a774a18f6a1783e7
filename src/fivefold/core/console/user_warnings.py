"""Warnings that point to the line of the user's code that led to them, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn

LIBRARY_FOLDERS = tuple(f"{Path(file).resolve().parent}/" for file in (Path(__file__).parents[1], sklearn.__file__))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the nearest call from outside fivefold and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARY_FOLDERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

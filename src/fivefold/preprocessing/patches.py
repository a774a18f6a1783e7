"""Features of images: how well small patches fit as templates.

Templates are patches of training images, drawn at random, centred and of unit length. A feature is how well a template
fits anywhere in an image: the largest correlation of the template with a patch of its size,

    f_t(image) = max over places of  t . (patch - mean) / |patch - mean|

between -1 and 1. With `cells` > 1 the image is cut into cells x cells parts, each with its own maximum, so that the
features also tell roughly where a template fits. Thousands of such simple features feed a learner that knows nothing of
images; they are learned from training images only, so in a pipeline every fold draws its own.

Ullman, Vidal-Naquet & Sali (2002); Coates, Lee & Ng (2011).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fivefold.core.estimators.base import Transformer
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.numerics.arrays import like
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Matrix, Table, UserTable, Weights
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import draw_rows

FLAT_PATCH_SHARE = 1e-9  # as a share of the largest pixel: a patch that varies less is flat and fits nothing
IMAGES_PER_BLOCK = 256  # images correlated at a time, which bounds the memory


@dataclass(frozen=True)
class Templates:
    """Templates of unit length, with the shapes of the images and patches they were taken from."""

    templates: Matrix  # (T, p q)
    image: tuple[int, int]  # height and width
    patch: tuple[int, int]  # height p and width q
    cells: int
    flat: float  # length below which a patch is flat


class PatchFeatures(Transformer):
    """How well small patches of training images, taken as templates, fit anywhere in an image.

    Parameters
    ----------
    n_templates
        number of templates; there are cells^2 features per template.
    patch_size
        height and width of a patch, or one number for both; clipped to the size of the image.
    image_shape
        height and width of an image, whose pixels are the columns, row by row; by default a square if the number of
        columns is one, else a single line.
    cells
        parts along each side, each with its own maximum.
    random_state
        seed of the draw of templates.

    Attributes
    ----------
    templates_
        (T, height, width), each with mean zero and length one; all zero where a flat patch was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.preprocessing import PatchFeatures
    >>> images = np.array([[0, 9, 0, 0, 9, 0, 0, 9, 0], [0, 0, 0, 9, 9, 9, 0, 0, 0]])
    >>> patches = PatchFeatures(4, patch_size=2, random_state=0).fit(images)
    >>> patches.transform(images).shape
    (2, 4)
    """

    n_templates: Count = 100
    _: KW_ONLY
    patch_size: Count | tuple[int, int] = 3
    image_shape: tuple[int, int] | None = None
    cells: Count = 1
    random_state: Seed = None

    card = Card(
        applications=("data mining",),
        use="Small images in front of a linear method or a forest, as many simple features in place of pixels. Not for "
        "large photographs, where learned filters do better, nor for tables whose columns are not pixels.",
        steps=(
            "Draw training images by weight, and a place in each; take the patch there.",
            "Centre each patch and give it unit length: a template.",
            "In an image, correlate every patch with every template.",
            "Keep the largest correlation of each template, in the whole image or in each cell.",
        ),
        source="Ullman, Vidal-Naquet & Sali (2002); Coates, Lee & Ng (2011)",
        see_also=("PCA", "BasisExpansion"),
        variants=({"n_templates": 5, "patch_size": 2, "cells": 2},),
    )

    @property
    def templates_(self) -> Array:
        """Templates as images."""
        return self.model_.templates.reshape(-1, *self.model_.patch)

    def _fit(self, X: Table, w: Weights) -> None:
        image = self._image(X.shape[1])
        size = (self.patch_size, self.patch_size) if isinstance(self.patch_size, int) else tuple(self.patch_size)
        if min(size) < 1:
            raise ValueError(f"PatchFeatures: patch_size must be 1 or more along each side; got {size}")
        patch = min(size[0], image[0]), min(size[1], image[1])
        rng = check_random_state(self.random_state)
        rows, places = rng.uniform(size=(2, self.n_templates))
        chosen = draw_rows(Points.of(X, w).order, w, rows)
        windows = _windows(np.asarray(X[chosen], dtype=np.float64), image, patch)  # (T, places, p q)
        place = np.minimum((places * windows.shape[1]).astype(np.int64), windows.shape[1] - 1)
        flat = FLAT_PATCH_SHARE * float(np.abs(X).max(initial=0.0))
        templates = _unit(windows[np.arange(self.n_templates), place], flat)
        self.model_ = Templates(like(templates, X), image, patch, self.cells, flat)

    def transform(self, X: UserTable) -> Matrix:
        """The best fit of every template in each image, cell by cell."""
        X = self._admit(X)
        model = self.model_
        T = np.asarray(model.templates, dtype=np.float64)
        parts = _cells(model.image, model.patch, model.cells)
        out = np.empty((len(X), len(T) * len(parts)))
        for a in range(0, len(X), IMAGES_PER_BLOCK):
            U = _unit(
                _windows(np.asarray(X[a : a + IMAGES_PER_BLOCK], dtype=np.float64), model.image, model.patch),
                model.flat,
            )
            fits = U @ T.T  # (rows, places, T)
            out[a : a + IMAGES_PER_BLOCK] = np.concatenate([fits[:, part].max(axis=1) for part in parts], axis=1)
        return like(out, X)

    @property
    def _n_features_out(self) -> int:
        model = self.model_
        return len(model.templates) * len(_cells(model.image, model.patch, model.cells))

    def _image(self, d: int) -> tuple[int, int]:
        if self.image_shape is None:
            side = round(d**0.5)
            return (side, side) if side * side == d else (1, d)
        height, width = self.image_shape
        if height * width != d or height < 1:
            raise ValueError(
                f"PatchFeatures: image_shape={self.image_shape} has {height * width} pixels; X has {d} columns"
            )
        return height, width


def _windows(X: Matrix, image: tuple[int, int], patch: tuple[int, int]) -> Array:
    """Patches at every place (n, places, p q), row by row."""
    views = sliding_window_view(X.reshape(-1, *image), patch, axis=(1, 2))
    return views.reshape(len(X), -1, patch[0] * patch[1])


def _unit(patches: Array, flat: float) -> Array:
    """Patches less their mean, of unit length; zero where they are flat."""
    D = patches - patches.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(D, axis=-1, keepdims=True)
    return np.where(length > flat, D / np.where(length > 0, length, 1.0), 0.0)


def _cells(image: tuple[int, int], patch: tuple[int, int], cells: int) -> list[Indices]:
    """Indices of the places in each cell; cells without a place are left out."""
    down, across = image[0] - patch[0] + 1, image[1] - patch[1] + 1
    rows, columns = (np.arange(m) * cells // m for m in (down, across))
    which = (rows[:, None] * cells + columns).ravel()
    return [np.flatnonzero(which == c) for c in np.unique(which)]

"""Vector quantisation of images: blocks of pixels are replaced by the nearest of K, found by k-means.

    codes     r_i = argmin_k |x_i - c_k|        x_i: the colours of block i
    rate      log2 K bits per block, or the entropy of the codes, and the codebook once
    PSNR      10 log10(peak^2 / mean squared error)        in decibels

Blocks of one pixel give a palette. Lloyd (1982); Linde, Buzo & Gray (1980).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from fivefold.cluster.kmeans import KMeans
from fivefold.core.types import Array, Codes, Matrix
from fivefold.spatial.centres.lloyd import nearest_centres

BITS = 8  # of a channel of a stored colour


@dataclass(frozen=True)
class QuantizedImage:
    """An image as a codebook and a code per block."""

    codebook: Matrix  # (K, block_rows * block_columns * channels)
    codes: Codes  # (rows of blocks, columns of blocks)
    block: tuple[int, int]  # pixels in a block: rows, columns
    shape: tuple[int, ...]  # of the image
    dtype: DTypeLike
    distortion: float  # mean squared error of a channel of a pixel
    peak: float  # the largest value that a channel can have

    @property
    def image(self) -> Array:
        """The image that the codes stand for, in the shape and type of the one given."""
        (h, w), (a, b) = self.block, self.codes.shape
        channels = self.shape[2] if len(self.shape) == 3 else 1
        tiles = self.codebook[self.codes].reshape(a, b, h, w, channels)
        whole = tiles.transpose(0, 2, 1, 3, 4).reshape(a * h, b * w, channels)[: self.shape[0], : self.shape[1]]
        whole = np.rint(whole) if np.issubdtype(self.dtype, np.integer) else whole
        return np.clip(whole, 0, self.peak).reshape(self.shape).astype(self.dtype)

    @property
    def psnr(self) -> float:
        """Ratio of peak signal to noise, in decibels: 30 is fair, 40 is good."""
        return float(10 * np.log10(self.peak**2 / self.distortion)) if self.distortion else float("inf")

    @property
    def bits(self) -> float:
        """Bits of all codes at equal length, and of the codebook."""
        return self.codes.size * float(np.ceil(np.log2(max(len(self.codebook), 2)))) + BITS * self.codebook.size

    @property
    def entropy(self) -> float:
        """Bits per code that a variable length could come down to."""
        share = np.bincount(self.codes.ravel()) / self.codes.size
        share = share[share > 0]
        return float(-(share @ np.log2(share)))

    @property
    def compression(self) -> float:
        """How many times fewer bits than eight per channel of each pixel."""
        return BITS * float(np.prod(self.shape)) / self.bits


def quantize_image(
    image: ArrayLike, n_colors: int = 16, *, block: int | tuple[int, int] = 1, random_state: Any = None
) -> QuantizedImage:
    """An image (rows, columns) or (rows, columns, channels) by a codebook of `n_colors` blocks of pixels.

    `block` is the side of a block, or its rows and columns; 1 gives a palette of colours. Integers are taken to end at
    255, other numbers at 1, or at the largest number of the image if that is more.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.cluster import quantize_image
    >>> picture = np.array([[0, 0, 250], [0, 12, 250]], dtype=np.uint8)
    >>> small = quantize_image(picture, 2, random_state=0)
    >>> small.image.tolist(), round(small.psnr, 1)
    ([[3, 3, 250], [3, 3, 250]], 35.6)
    """
    given = np.asarray(image)
    h, w = (block, block) if isinstance(block, int | np.integer) else (int(block[0]), int(block[1]))
    if given.ndim not in (2, 3) or not given.size or given.dtype.kind not in "buif" or not np.isfinite(given).all():
        raise ValueError(
            f"quantize_image: image has shape {given.shape} and type {given.dtype}; give finite numbers, (rows, "
            "columns) or (rows, columns, channels)"
        )
    if h < 1 or w < 1 or h > given.shape[0] or w > given.shape[1]:
        raise ValueError(f"quantize_image: block={block} does not fit an image of shape {given.shape[:2]}")
    pixels = given.reshape(*given.shape[:2], -1).astype(np.float64)
    pixels = np.pad(pixels, ((0, -given.shape[0] % h), (0, -given.shape[1] % w), (0, 0)), mode="edge")
    a, b, channels = pixels.shape[0] // h, pixels.shape[1] // w, pixels.shape[2]
    rows = pixels.reshape(a, h, b, w, channels).transpose(0, 2, 1, 3, 4).reshape(a * b, h * w * channels)
    if not 1 <= n_colors <= len(rows):
        raise ValueError(f"quantize_image: n_colors={n_colors}, but the image has {len(rows)} blocks")
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    K = min(n_colors, len(distinct))
    model = KMeans(K, n_init=1, random_state=random_state).fit(distinct, sample_weight=counts)
    codes = nearest_centres(rows, model.cluster_centers_).reshape(a, b)
    top = float(given.max())
    peak = max(top, 255.0 if given.dtype.kind in "iu" else 1.0)
    made = QuantizedImage(model.cluster_centers_, codes, (h, w), given.shape, given.dtype, 0.0, peak)
    error = float(np.square(made.image.astype(np.float64) - given).mean())
    return QuantizedImage(made.codebook, codes, (h, w), given.shape, given.dtype, error, peak)

"""Vector quantisation: a picture from few colours, and from few blocks of pixels.

Left: a picture of smooth colours and a disc, 24 bits per pixel. Middle: each pixel is the nearest of 8 colours found by
k-means. Right: each block of 4 x 4 pixels is the nearest of 64 such blocks: fewer bits per pixel, and edges suffer.
"""

import matplotlib.pyplot as plt
import numpy as np

from fivefold.cluster import quantize_image


def picture(side=96):
    """Colours that change slowly, with a disc in front."""
    i, j = np.mgrid[0:side, 0:side] / side
    red, green, blue = 0.9 * j + 0.1, 0.5 + 0.4 * np.sin(6 * i + 3 * j), 1 - 0.8 * i
    disc = (i - 0.55) ** 2 + (j - 0.4) ** 2 < 0.06
    image = np.stack([np.where(disc, 0.95, red), np.where(disc, 0.8 - i / 2, green), np.where(disc, 0.2, blue)], axis=2)
    return (255 * image).astype(np.uint8)


def draw():
    image = picture()
    made = {"8 colours": quantize_image(image, 8, random_state=0)}
    made["64 blocks of 4 x 4"] = quantize_image(image, 64, block=4, random_state=0)
    figure, sides = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
    sides[0].imshow(image)
    sides[0].set_title("24 bits per pixel", fontsize=9)
    for ax, (name, small) in zip(sides[1:], made.items(), strict=True):
        ax.imshow(small.image)
        rate = np.log2(len(small.codebook)) / np.prod(small.block)
        ax.set_title(f"{name}: {rate:.2g} bits per pixel, {small.psnr:.0f} dB", fontsize=9)
    for ax in sides:
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    draw()
    plt.show()

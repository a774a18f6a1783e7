"""To play or not to play: ID3 on the weather table of the textbooks, a branch for each value.

Every node tells its question, its label, its rows and their entropy; the thick way is that of the first day.
"""

import matplotlib.pyplot as plt
import pandas as pd

from fivefold.plot import tree
from fivefold.tree import ID3Classifier

DAYS = """
sunny hot high no no, sunny hot high yes no, cloudy hot high no yes, rainy mild high no yes,
rainy cool normal no yes, rainy cool normal yes no, cloudy cool normal yes yes, sunny mild high no no,
sunny cool normal no yes, rainy mild normal no yes, sunny mild normal yes yes, cloudy mild high yes yes,
cloudy hot normal no yes, rainy mild high yes no
"""


def draw():
    table = pd.DataFrame([day.split() for day in DAYS.split(",")], columns=["sky", "heat", "humidity", "wind", "play"])
    X, y = table.drop(columns="play"), table["play"].map({"yes": "play", "no": "stay"})
    ax = tree(ID3Classifier().fit(X, y), details=True, example=X[:1])
    ax.figure.set_size_inches(6.4, 4.2)
    return ax.figure


if __name__ == "__main__":
    draw()
    plt.show()

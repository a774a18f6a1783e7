"""Latent semantic indexing: nine titles and a query in the plane of two topics.

The query shares no word with titles c3 and c5, yet all five titles on computers lie in its direction (the
cosine stands beside them), and the four on graphs do not. The example is that of Deerwester et al. (1990).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from fivefold.decomposition import TruncatedSVD
from fivefold.plot.style import COLOURS, GREY, axes, legend

TITLES = {
    "c1": "Human machine interface for Lab ABC computer applications",
    "c2": "A survey of user opinion of computer system response time",
    "c3": "The EPS user interface management system",
    "c4": "System and human system engineering testing of EPS",
    "c5": "Relation of user-perceived response time to error measurement",
    "m1": "The generation of random, binary, unordered trees",
    "m2": "The intersection graph of paths in trees",
    "m3": "Graph minors IV: Widths of trees and well-quasi-ordering",
    "m4": "Graph minors: A survey",
}
QUERY = "human computer interaction"


def draw():
    counts = CountVectorizer(stop_words=["of", "the", "and", "in", "to", "for"], min_df=2)
    X = counts.fit_transform(TITLES.values()).astype(float)
    svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(X)
    Z, q = svd.transform(X), svd.transform(counts.transform([QUERY]))[0]
    cosines = svd.similarity(counts.transform([QUERY]), X)[0]
    ax = axes(x="topic 1: " + ", ".join(svd.top_features(3, counts.get_feature_names_out())[0]),
              y="topic 2: " + ", ".join(svd.top_features(3, counts.get_feature_names_out())[1]))  # fmt: skip
    for start, ink, mark, name in (("c", COLOURS[0], "o", "on computers"), ("m", COLOURS[2], "^", "on graphs")):
        rows = [i for i, title in enumerate(TITLES) if title.startswith(start)]
        ax.scatter(*Z[rows].T, s=34, color=ink, marker=mark, label=f"titles {name}", zorder=3)
        for i in rows:
            text = f"{list(TITLES)[i]}  {cosines[i]:.2f}"
            ax.annotate(text, Z[i], xytext=(7, 3), textcoords="offset points", size=8, color=ink)
    ax.plot(*np.outer([0, 2.2], q / np.linalg.norm(q)).T, color=COLOURS[1], lw=1, ls=":", zorder=1)
    ax.plot(*q, marker="*", markersize=12, color=COLOURS[1], ls="", label=f"query: {QUERY}", zorder=4)
    ax.axhline(0, color=GREY, lw=0.5)
    ax.margins(x=0.13)
    legend(ax, loc="upper right")
    return ax.figure


if __name__ == "__main__":
    draw()
    plt.show()

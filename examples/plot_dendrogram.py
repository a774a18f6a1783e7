"""Groups within groups: iris merged by Ward's linkage, and twelve clusters of KMeans merged by their distances.

On the left the leaves are rows, and the cut leaves three clusters. On the right the leaves are clusters, and two lines
join at what the merge adds to the sum of distances from rows to the mean of their cluster.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fivefold.cluster import AgglomerativeClustering, StepwiseAgglomeration
from fivefold.plot import dendrogram


def draw():
    X = load_iris().data
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    dendrogram(AgglomerativeClustering(3).fit(X).tree_, cut=10.0, ax=left)
    path = StepwiseAgglomeration(3, cost="distances", start=12, random_state=0).fit(X).path_
    dendrogram(path.tree(), cut=12.0, height="increase of the cost", ax=right)
    left.set_title("150 flowers, Ward's linkage", loc="left", fontsize=10)
    right.set_title("12 clusters of KMeans", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw()
    plt.show()

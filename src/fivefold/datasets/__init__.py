from fivefold.datasets.embedded import EMBEDDED as EMBEDDED
from fivefold.datasets.embedded import embedded as embedded
from fivefold.datasets.tiny import Table as Table
from fivefold.datasets.tiny import tiny as tiny

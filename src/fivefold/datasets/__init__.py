"""Data sets: scikit-learn's toy tables by name, generators with a known truth, tiny tables for tests and
compilation.
"""

from fivefold.datasets.blood_tests import blood_tests as blood_tests
from fivefold.datasets.generators import course_datasets as course_datasets
from fivefold.datasets.generators import disc as disc
from fivefold.datasets.generators import mixture_1d as mixture_1d
from fivefold.datasets.generators import mixture_2d as mixture_2d
from fivefold.datasets.generators import noisy_curve as noisy_curve
from fivefold.datasets.generators import separable_classes as separable_classes
from fivefold.datasets.tiny_tables import TinyTable as TinyTable
from fivefold.datasets.tiny_tables import tiny_tables as tiny_tables
from fivefold.datasets.toy_datasets import EMBEDDED as EMBEDDED
from fivefold.datasets.toy_datasets import load_embedded as load_embedded

"""Many classes from learners for two: one-vs-rest, one-vs-one and output codes."""

from fivefold.multiclass.one_vs_one import OneVsOneClassifier as OneVsOneClassifier
from fivefold.multiclass.one_vs_rest import OneVsRestClassifier as OneVsRestClassifier
from fivefold.multiclass.output_code import OutputCodeClassifier as OutputCodeClassifier

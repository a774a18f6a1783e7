from fivefold.evaluation.compare import Estimate as Estimate
from fivefold.evaluation.compare import corrected_t as corrected_t
from fivefold.evaluation.scores import SCORES as SCORES
from fivefold.evaluation.scores import Score as Score

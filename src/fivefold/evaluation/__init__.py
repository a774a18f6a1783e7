from fivefold.evaluation.compare import Estimate as Estimate
from fivefold.evaluation.compare import corrected_t as corrected_t
from fivefold.evaluation.risk import Risk as Risk
from fivefold.evaluation.risk import expected_loss as expected_loss
from fivefold.evaluation.scores import SCORES as SCORES
from fivefold.evaluation.scores import Score as Score

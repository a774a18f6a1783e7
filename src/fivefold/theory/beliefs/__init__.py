"""Beliefs, and what a prior is worth: belief_revision.py (posteriors over countably many hypotheses, votes),
coin_learning.py (a stubborn prior beside a measured frequency), dutch_book.py (quotes that lose for sure),
prior_generality.py (one prior as general as another), boolean_laboratory.py (no free lunch, by enumeration),
chance_structure.py and feature_scores.py (features that look interesting by chance).
"""

from fivefold.theory.beliefs.belief_revision import CountableBelief as CountableBelief
from fivefold.theory.beliefs.belief_revision import revise_countable as revise_countable
from fivefold.theory.beliefs.belief_revision import vote as vote
from fivefold.theory.beliefs.boolean_laboratory import BooleanLaboratory as BooleanLaboratory
from fivefold.theory.beliefs.boolean_laboratory import unseen_error_over_all_targets as unseen_error_over_all_targets
from fivefold.theory.beliefs.chance_structure import ChanceStructure as ChanceStructure
from fivefold.theory.beliefs.coin_learning import CoinLearning as CoinLearning
from fivefold.theory.beliefs.coin_learning import coin_learning as coin_learning
from fivefold.theory.beliefs.dutch_book import BettingCoherence as BettingCoherence
from fivefold.theory.beliefs.dutch_book import check_quotes as check_quotes
from fivefold.theory.beliefs.prior_generality import PriorGenerality as PriorGenerality
from fivefold.theory.beliefs.prior_generality import compare_generality as compare_generality

"""Kernels of objects that are no rows of numbers.

strings.py compares texts and sequences, alignment.py aligns them, graphs.py and walks.py compare graphs, trees.py
trees, sets.py sets; generative.py makes kernels of fitted models.
"""

from fivefold.kernels.structured.alignment import AlignmentScore as AlignmentScore
from fivefold.kernels.structured.alignment import EditDistance as EditDistance
from fivefold.kernels.structured.alignment import EmpiricalKernelMap as EmpiricalKernelMap
from fivefold.kernels.structured.alignment import choose_templates as choose_templates
from fivefold.kernels.structured.alignment import pairs as pairs
from fivefold.kernels.structured.generative import FisherKernel as FisherKernel
from fivefold.kernels.structured.generative import MarginalisedKernel as MarginalisedKernel
from fivefold.kernels.structured.generative import mixture_scores as mixture_scores
from fivefold.kernels.structured.graphs import Graph as Graph
from fivefold.kernels.structured.graphs import WeisfeilerLehman as WeisfeilerLehman
from fivefold.kernels.structured.graphs import isomorphism_test as isomorphism_test
from fivefold.kernels.structured.sets import SetKernel as SetKernel
from fivefold.kernels.structured.sets import SharedElements as SharedElements
from fivefold.kernels.structured.strings import DeltaKernel as DeltaKernel
from fivefold.kernels.structured.strings import MismatchKernel as MismatchKernel
from fivefold.kernels.structured.strings import SharedWords as SharedWords
from fivefold.kernels.structured.strings import SpectrumKernel as SpectrumKernel
from fivefold.kernels.structured.strings import SubsequenceKernel as SubsequenceKernel
from fivefold.kernels.structured.trees import TreeKernel as TreeKernel
from fivefold.kernels.structured.walks import DiffusionKernel as DiffusionKernel
from fivefold.kernels.structured.walks import RandomWalkKernel as RandomWalkKernel
from fivefold.kernels.structured.walks import SharedPaths as SharedPaths

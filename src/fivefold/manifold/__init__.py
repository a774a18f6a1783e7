"""Manifolds: places of rows in few dimensions that keep distances, geodesics, local geometry or neighbours."""

from fivefold.manifold.classical_mds import ClassicalMDS as ClassicalMDS
from fivefold.manifold.isomap import Isomap as Isomap
from fivefold.manifold.isomap_sweep import NeighborhoodReport as NeighborhoodReport
from fivefold.manifold.isomap_sweep import isomap_sweep as isomap_sweep
from fivefold.manifold.locally_linear import LocallyLinearEmbedding as LocallyLinearEmbedding
from fivefold.manifold.locally_linear import locally_linear_embedding as locally_linear_embedding
from fivefold.manifold.mds import MDS as MDS
from fivefold.manifold.mds import smacof as smacof
from fivefold.manifold.neighborhood_preservation import continuity as continuity
from fivefold.manifold.neighborhood_preservation import trustworthiness as trustworthiness
from fivefold.manifold.sammon import SammonMapping as SammonMapping
from fivefold.manifold.spectral_embedding import SpectralEmbedding as SpectralEmbedding
from fivefold.manifold.spectral_embedding import spectral_embedding as spectral_embedding
from fivefold.manifold.tsne import TSNE as TSNE

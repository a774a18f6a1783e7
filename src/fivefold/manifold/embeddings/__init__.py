"""What manifold methods share: distances, classical scaling, smallest eigenpairs, stress, local geometry."""

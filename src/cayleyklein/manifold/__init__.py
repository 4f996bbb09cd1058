"""Maps of dissimilarities in spaces of constant curvature."""

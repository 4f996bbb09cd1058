"""The absolute, cross-ratios, complex measures, angles, the seven geometries, Hilbert geometry."""

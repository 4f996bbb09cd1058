"""Meshes of polygons under a curved metric."""

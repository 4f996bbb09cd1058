"""Points that may not be put into a mesh, since they are on or beyond a fence."""

import math

import numpy as np
import pytest

from cayleyklein.meshes import _kernels
from cayleyklein.meshes._refine import Refinement


@pytest.mark.parametrize("fence", [0, 1, 2, 3])
@pytest.mark.parametrize("beyond", [0.0, 0.1])
def test_a_point_beyond_a_fence_splits_it_and_is_left_out(fence, beyond):
    corners = np.exp(0.5j * np.pi * np.arange(4))
    edges = np.stack([np.arange(4), (np.arange(4) + 1) % 4], axis=1)
    work = Refinement(corners, edges, 0.0, (0.3, math.inf, math.inf), 100)
    assert not work.build().any()
    mesh, split = work.mesh, np.zeros(4, dtype=bool)
    mesh.fresh[:] = False
    before = mesh.counts[:2].tolist()
    point = (1 + beyond) * (corners[fence] + corners[(fence + 1) % 4]) / 2
    triangle = mesh.at_fence[[fence]]
    given = np.array([point]), triangle, *work.circles(), 100, split
    assert not _kernels.add_inside(mesh, *given)
    assert mesh.counts[:2].tolist() == before
    assert np.flatnonzero(split).tolist() == [fence]

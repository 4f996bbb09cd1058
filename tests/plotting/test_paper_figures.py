"""The figures of the paper: what they show is what the paper says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cayleyklein import exceptions
from cayleyklein.plotting import PAPER_FIGURES, paper_figure, shapes


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_every_figure_of_the_paper_is_here():
    """Each \\begin{figure} of the paper, in its order, with as many panels."""
    panels = {
        "cross_ratio": 2,
        "distance_and_angle": 2,
        "projections": 2,
        "bisectors": 2,
        "voronoi": 2,
        "spheres": 1,
        "bichromatic": 2,
        "order_k": 1,
    }
    assert tuple(panels) == PAPER_FIGURES
    for name, n in panels.items():
        figure = paper_figure(name)
        assert len(figure.axes) == n
        assert plt.get_fignums()[-1] == figure.number


def colors_of(ax):
    """Return the colours of the lines of a legend, by their labels."""
    handles, labels = ax.get_legend_handles_labels()
    return {
        label: plt.matplotlib.colors.to_hex(np.ravel(handle.get_color())[:4])
        for label, handle in zip(labels, handles, strict=True)
    }


def test_spheres_have_the_colours_of_the_paper():
    """Elliptic red, hyperbolic green, Mahalanobis blue, as the captions say."""
    colors = colors_of(paper_figure("spheres").axes[0])
    rgb = {label.split(",")[0]: plt.matplotlib.colors.to_rgb(c) for label, c in colors.items()}
    strongest = {name: int(np.argmax(color)) for name, color in rgb.items()}
    assert strongest == {"elliptic": 0, "hyperbolic": 1, "Mahalanobis": 2}


def test_the_bichromatic_figure_has_eight_generators():
    left, right = paper_figure("bichromatic").axes
    for ax in (left, right):
        dots = [c for c in ax.collections if str(c.get_label()) in ("-1", "1")]
        assert sum(len(c.get_offsets()) for c in dots[:2]) == 8
    thick = [c for c in right.collections if hasattr(c, "get_segments") and c.get_linewidth() > 2.3]
    assert sum(len(lines.get_segments()) for lines in thick) > 1  # the frontier


def test_the_cell_of_order_three_has_three_red_generators():
    (ax,) = paper_figure("order_k").axes
    red = plt.matplotlib.colors.to_rgba(shapes.LIGHT["elliptic"])
    marked = [c for c in ax.collections if len(c.get_offsets()) == 3]
    assert any(np.allclose(c.get_facecolor()[0], red) for c in marked)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sphere", "The paper has no figure 'sphere'. Did you mean 'spheres'"),
        ("zebra", "The figures are 'cross_ratio'"),
        (3, "Got name=3, but expected a str"),
    ],
)
def test_unknown_figures(name, message):
    with pytest.raises(exceptions.InvalidInputError, match=message):
        paper_figure(name)
    assert not plt.get_fignums()

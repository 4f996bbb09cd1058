# Sphinx configuration. The build needs no network: no intersphinx, a theme that Sphinx ships.

from docutils.parsers.rst.states import Inliner

from cayleyklein._version import __version__

project = "cayleyklein"
author = "The cayleyklein developers"
project_copyright = author
release = version = __version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_generated"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists already say the types
numpydoc_show_class_members = False
autosummary_generate = False

html_theme = "alabaster"
html_theme_options = {
    "description": "Curved metric learning",
    "fixed_sidebar": True,
    "page_width": "72rem",
    "body_max_width": "56rem",
}


def bar_is_text(_inliner, match, _lineno):
    """Return the text up to a bar, and the rest, as docutils' handlers do."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


# In docstrings |K| is an absolute value, not one of reStructuredText's substitutions.
Inliner.dispatch["|"] = bar_is_text

# Sphinx configuration. The build needs no network: no intersphinx, a theme that Sphinx ships.

import sys
from pathlib import Path

from docutils.parsers.rst.states import Inliner

from cayleyklein._version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _checks import check_api, check_links, resolve  # noqa: E402
from _gallery import PICTURES, Arguments, gif_scraper  # noqa: E402

project = "cayleyklein"
author = "The cayleyklein developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]  # functions in sphinx_gallery_conf

myst_enable_extensions = ["deflist", "attrs_block"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists already say the types
numpydoc_show_class_members = False
autosummary_generate = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"(^|/)_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", gif_scraper),
    "reset_argv": Arguments(),
    "doc_module": ("cayleyklein",),
    "backreferences_dir": "auto_examples/backreferences",
    "reference_url": {"cayleyklein": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
    "remove_config_comments": True,
}
PICTURES.mkdir(parents=True, exist_ok=True)

html_theme = "alabaster"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_theme_options = {
    "description": "Curved metric learning",
    "fixed_sidebar": True,
    "page_width": "72rem",
    "body_max_width": "57rem",
    "sidebar_width": "14rem",
}


def bar_is_text(_inliner, match, _lineno):
    """Return the text up to a bar, and the rest, as docutils' handlers do."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


# In docstrings |K| is an absolute value, not one of reStructuredText's substitutions.
Inliner.dispatch["|"] = bar_is_text


def setup(app):
    """Have the build fail on a public name that is missing and on a dead link."""
    app.connect("env-check-consistency", check_api)
    app.connect("missing-reference", resolve)
    app.connect("build-finished", check_links)

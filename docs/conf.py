# Sphinx configuration. The build needs no network: no intersphinx, a theme with its own fonts.

import os
import sys
from pathlib import Path

from docutils.parsers.rst.states import Inliner

from cayleyklein._version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _checks import check_api, check_links, check_search, resolve  # noqa: E402
from _explorer import write_explorer  # noqa: E402
from _gallery import (  # noqa: E402
    Arguments,
    Order,
    gif_scraper,
    panel_scraper,
    prepare,
    replace_thumbnails,
)

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

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists already say the types
toc_object_entries_show_parents = "hide"  # "fit()" has room beside a page, its full name has not
numpydoc_show_class_members = False
autosummary_generate = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"(^|/)_",
    "within_subsection_order": Order,
    "image_scrapers": (panel_scraper, "matplotlib", gif_scraper),
    "reset_argv": Arguments(),
    "doc_module": ("cayleyklein",),
    "backreferences_dir": "auto_examples/backreferences",
    "reference_url": {"cayleyklein": None},
    "abort_on_example_error": True,
    "parallel": min(2, os.cpu_count() or 1),
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "write_computation_times": False,  # their page asks a server for its script
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = "cayleyklein"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_show_sphinx = False
# Pages that have no neighbours in their section need no empty column beside them.
html_sidebars = {name: [] for name in ("index", "changelog", "auto_examples/index", "search")}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_theme_options = {
    "logo": {
        "text": f"cayleyklein {version}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "primary_sidebar_end": [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def bar_is_text(_inliner, match, _lineno):
    """Return the text up to a bar, and the rest, as docutils' handlers do."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


# In docstrings |K| is an absolute value, not one of reStructuredText's substitutions.
Inliner.dispatch["|"] = bar_is_text


def setup(app):
    """Draw the gallery and the explorer; fail on a public name that is missing and a dead link."""
    app.connect("builder-inited", prepare, priority=100)
    app.connect("builder-inited", replace_thumbnails, priority=900)
    app.connect("env-check-consistency", check_api)
    app.connect("missing-reference", resolve)
    app.connect("build-finished", write_explorer, priority=600)
    app.connect("build-finished", check_links, priority=900)
    app.connect("build-finished", check_search, priority=900)

"""Settings of the site; `make docs` builds it."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import matplotlib as mpl

from tropicell import enumerate_regions, explore
from tropicell.cli.demo import DOMAIN, demo_network

mpl.use("Agg")
# One line that Numba may print while kernels compile is of no use on a page.
os.environ.setdefault("PYTHONWARNINGS", "ignore")
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

project = "Tropicell"
author = "The Tropicell developers"
project_copyright = "The Tropicell developers"
version = release = installed_version("tropicell")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

# --- pages ----------------------------------------------------------------------------------------
exclude_patterns = ["build", "lab/*/*.csv"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# html_image: <img> on a page, which GitHub shows in its width, is an image here, too.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 3
# `name` in a docstring is a link if there is such a name, and code if not.
default_role = "py:obj"
# Headings of the results start below the first level.
suppress_warnings = ["config.cache", "myst.header"]

# --- reference ------------------------------------------------------------------------------------
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Nothing is fetched while building: links to other projects are written out where they matter.
intersphinx_mapping: dict[str, tuple[str, None]] = {}

# --- gallery --------------------------------------------------------------------------------------
here = Path(__file__).parent
#: From what everyone has to what few need; others come after these.
ORDER = (
    "moons",
    "decision_boundary",
    "skip_and_plain",
    "training_film",
    "digit_plane",
    "merged",
    "region_graph",
    "lipschitz",
    "pruned",
    "out_of_distribution",
    "acas_xu",
    "surface_mesh",
    "cells_3d",
    "sawtooth",
    "topology",
    "near",
    "robustness",
    "tropical",
    "tropical_duality",
    "zonotope_pruning",
    "distillation",
)


def place_in_gallery(file: str) -> tuple[int, str]:
    """Sort key of an example."""
    name = Path(file).stem.removeprefix("plot_")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


sphinx_gallery_conf = {
    "examples_dirs": [str(here.parent / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": place_in_gallery,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1_000_000,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
}


# --- live pages -----------------------------------------------------------------------------------
def write_live_pages(app: Any, problem: Exception | None) -> None:
    """The explorer's page that the first page of the site shows."""
    if problem is None and app.builder.format == "html":
        folder = Path(app.outdir) / "live"
        folder.mkdir(exist_ok=True)
        regions = enumerate_regions(demo_network(), DOMAIN)
        settings = {"colour": "value", "panel": False}
        explore(regions, folder / "explorer.html", settings=settings)


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("build-finished", write_live_pages)


# --- looks ----------------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"Tropicell {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

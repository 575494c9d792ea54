"""How Sphinx builds the site from out/site/source (see scripts/docs)."""

import importlib

from reference import sections

import accelflow

# autodoc sees what a module has loaded; some of ours import a slow part when it is first used.
for module in (f"accelflow.{name}" for names in sections().values() for name in names):
    loaded = importlib.import_module(module)
    vars(loaded).update({name: getattr(loaded, name) for name in loaded.__all__})

project = "accelflow"
author = "the accelflow authors"
version = release = accelflow.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"
smartquotes = False  # two hyphens are an option

# Anchors as GitHub makes them, so that a link works in the repository and on the site.
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # output of a terminal is no source of a language

# Single backticks in docstrings are code; where they name something, they lead there.
default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = "accelflow"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
templates_path: list[str] = []
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True

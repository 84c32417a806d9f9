"""Settings of the documentation site: `make docs` builds it into build/site."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Discreet"
author = "the authors of Discreet"
release = version = installed_version("discreet")

# The folder that is read is the checkout itself, so that a link from a page to any file of it works here as it does on a
# host of Git repositories.
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/*/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "THREAT_MODEL.md"]
exclude_patterns = ["[!dCTe]*", ".*", "deploy", "dist", "examples", "docs/pictures", "docs/_extensions"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
    "generated_reference",
    "repository_links",
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
smartquotes = False  # options begin with two hyphens

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_here_doc_delimiter = "EOF"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = True
napoleon_numpy_docstring = False

suppress_warnings = [
    "ref.python",  # a type in a signature that several classes have a field of: a link less
    "misc.highlighting_failure",  # psql's \\set is no SQL, and an answer of curl no command
]

html_theme = "furo"
html_title = f"Discreet {release}"
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["_static"]
html_js_files = ["accessible.js"]

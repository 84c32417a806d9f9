"""Links to what is in the repository and no page of the site: a file of Markdown is offered as a file, a folder is named."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def _process(app: Sphinx, document: nodes.document) -> None:
    for link in list(document.findall(addnodes.pending_xref)):
        if link.get("reftype") != "myst":
            continue
        target, page = str(link["reftarget"]), app.env.doc2path(app.env.docname)
        folder = (Path(page).parent / target).resolve()
        if link.get("refdomain") == "doc" and target not in app.env.found_docs:
            file = addnodes.download_reference(
                "", "", *link.children, reftarget=f"/{target}.md", refdoc=app.env.docname
            )
            link.replace_self(file)
        elif link.get("refdomain") != "doc" and folder.is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at each page before its downloads are collected."""
    app.connect("doctree-read", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

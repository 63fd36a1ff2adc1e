"""The chosen content as Markdown and plain text."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.content.main import Content
from sitelore.extract.content.style_sheets import Hiding, TreeStage, drop_hidden
from sitelore.extract.content.visibility import shown
from sitelore.extract.markdown import Written, write


def compose(tree: dom.Tree, content: Content, hiding: Hiding, resolver: PageResolver) -> Written:
    """Write the chosen content without what its style sheets hide. Cuts the tree."""
    nodes = shown(content.trimmed())
    drop_hidden(hiding, TreeStage(tree, nodes, hiding))
    return write(nodes, resolver)

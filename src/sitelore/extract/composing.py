"""The chosen content as Markdown and plain text: by compiled code where it can, else from the tree. Both write the same."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.content.main import Content
from sitelore.extract.content.style_sheets import Hiding, drop_hidden
from sitelore.extract.content.visibility import is_collapsed_by, shown
from sitelore.extract.writing.compiled import NO_CUTS, WRITER, Asked, CompiledWriter
from sitelore.extract.writing.markdown import Written, evened, settled, write_markdown, write_text

# Rules on the tree look for these around an element, past the chosen one.
_LOOKED_FOR = "h1,h2,h3,h4,h5,h6,ul,ol,pre,code,picture,sup,table,b,strong,i,em,del,s"


def compose(tree: dom.Tree, content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written]:
    """Markdown and plain text without what nobody sees. May cut the tree."""
    done, is_uncut = _composed_uncut(content, hiding, resolver)
    if done is not None:
        return done
    nodes = shown(content.trimmed())
    drop_hidden(tree, nodes, hiding)
    for node in nodes:
        dom.drop_comments(node)  # the writer would part blocks for them; whoever reads the HTML does not see them
    if is_uncut and len(nodes) == 1 and (done := _composed_of(nodes[0], resolver)) is not None:
        return done
    # Markdown comes first: it puts lists and captions right, of which plain text would lose parts.
    markdown = write_markdown(nodes, resolver)
    return markdown, write_text(nodes)


def composed(content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written] | None:
    """The same by compiled code, which leaves the tree as it is; None where there is none, or where it declines."""
    return _composed_uncut(content, hiding, resolver)[0]


def _composed_uncut(content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[tuple[Written, Written] | None, bool]:
    """And whether it may be done by compiled code once the tree is cut."""
    chosen = dom.as_element(content.nodes[0]) if len(content.nodes) == 1 else None
    if WRITER is None or chosen is None:
        return None, False
    judged = content.judged
    if judged is not None and content.strategy == "learned":
        html, cuts, opened = judged.html, judged.cuts, len(judged.elements)
    elif dom.has_ancestor(chosen, _LOOKED_FOR):
        return None, False
    else:
        html, cuts, opened = dom.serialised(chosen), NO_CUTS, -1
    asked = WRITER.look(html, hiding.names, cuts, opened)
    if asked is not None and asked.is_uncut and hiding.sheets:
        # To read the sheets takes time: only where they seem to speak of something in the page.
        asked = WRITER.look(html, hiding.ruled_names, cuts, opened)
    if asked is None:
        return None, False
    if asked.is_uncut or any(is_collapsed_by(style, tag) for tag, style in asked.styles):
        return None, True
    return _answered(WRITER, asked, resolver), False


def _composed_of(node: dom.Node, resolver: PageResolver) -> tuple[Written, Written] | None:
    """By compiled code, of what is left once the tree is cut."""
    chosen = dom.as_element(node)
    if WRITER is None or chosen is None:
        return None
    html = dom.serialised(chosen)
    asked = WRITER.look(html, ())
    return _answered(WRITER, asked, resolver) if asked is not None else None


def _answered(writer: CompiledWriter, asked: Asked, resolver: PageResolver) -> tuple[Written, Written] | None:
    targets = map(resolver.target, asked.addresses)
    written = writer.write([(target.written, target.url is not None) for target in targets])
    if written is None:
        return None
    plain = Written(written.plain.decode(), written.plain) if written.is_even else evened(written.plain)
    return settled(written.markdown, written.signs), plain

"""The chosen content as Markdown and plain text: by compiled code where it can, else from the tree. Both write the same."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.content.main import Content, Seen
from sitelore.extract.content.style_sheets import NO_HIDING, Hiding, drop_hidden
from sitelore.extract.content.visibility import is_collapsed_by, shown
from sitelore.extract.writing.compiled import NO_CUTS, WRITER, CompiledWriter
from sitelore.extract.writing.markdown import Written, evened, settled, write_markdown, write_text

# Rules on the tree look for these around an element, past the chosen one.
_LOOKED_FOR = "h1,h2,h3,h4,h5,h6,ul,ol,pre,code,picture,sup,table,b,strong,i,em,del,s"


def compose(tree: dom.Tree, content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written]:
    """Markdown and plain text without what nobody sees. May cut the tree."""
    done = composed(content, hiding, resolver)
    return done if done is not None else compose_tree(tree, content, hiding, resolver)


def compose_tree(tree: dom.Tree, content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written]:
    """The same from the tree alone, which is cut."""
    nodes = shown(content.trimmed())
    drop_hidden(hiding, tree, nodes)
    for node in nodes:
        dom.drop_comments(node)  # the writer would part blocks for them; whoever reads the HTML does not see them
    # What stood hidden in it is why compiled code may have declined it.
    if hiding.sheets and (done := composed(Content(nodes, "cut"), NO_HIDING, resolver)) is not None:
        return done
    # Markdown comes first: it puts lists and captions right, of which plain text would lose parts.
    markdown = write_markdown(nodes, resolver)
    return markdown, write_text(nodes)


def composed(content: Content, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written] | None:
    """The same by compiled code, which leaves the tree as it is; None where there is none, or where it declines."""
    chosen = dom.as_element(content.nodes[0]) if len(content.nodes) == 1 else None
    if WRITER is None or chosen is None:
        return None
    judged = content.judged
    if judged is not None and content.strategy == "learned":
        html = judged.html
        asked = WRITER.look_at_html(html, hiding.names, judged.cuts, judged.opened)
    elif dom.has_ancestor(chosen, _LOOKED_FOR):
        return None
    else:
        html = dom.serialised(chosen)
        asked = WRITER.look_at_html(html, hiding.names)
    return _written(WRITER, asked.addresses, resolver) if asked is not None and not _any_collapsed(asked.styles) else None


def composed_seen(seen: Seen, hiding: Hiding, resolver: PageResolver) -> tuple[Written, Written] | None:
    """The same of what was chosen of the page that compiled code holds."""
    if WRITER is None:
        return None
    cuts, opened = (seen.judged.cuts, seen.judged.opened) if seen.judged is not None else (NO_CUTS, 0)
    styles = WRITER.cut_chosen(cuts, opened)
    if styles is None or _any_collapsed(styles) or hiding.sheets:
        return None
    addresses = WRITER.look_at_chosen()
    return _written(WRITER, addresses, resolver) if addresses is not None else None


def _any_collapsed(styles: list[tuple[str, str]]) -> bool:
    return any(is_collapsed_by(style, tag) for tag, style in styles)


def _written(writer: CompiledWriter, addresses: list[str], resolver: PageResolver) -> tuple[Written, Written] | None:
    targets = map(resolver.target, addresses)
    written = writer.write([(target.written, target.url is not None) for target in targets])
    if written is None:
        return None
    plain = Written(written.plain.decode(), written.plain) if written.is_even else evened(written.plain)
    return settled(written.markdown, written.signs), plain

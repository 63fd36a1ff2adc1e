"""The `meta` and `link` elements of a page, read once for all who ask them: metadata, Open Graph, links."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sitelore.extract import dom

_MAX_CHARS = 2_000
_MAX_SHARED_CHARS = 5_000

Meta: TypeAlias = tuple[str, str, str, dom.Element]
"""What it is called, what Open Graph would call it (both in lower case, one may be empty), its content on one line, itself."""


class Head(NamedTuple):
    """What a page says of itself outside of its text, in page order."""

    metas: list[Meta]
    """Those that have a name: by `name`, `property` or `http-equiv`."""
    links: list[tuple[str, dom.Element]]
    """What each `link` is for, in lower case, and itself."""


def read_head(tree: dom.Tree) -> Head:
    """Look at every `meta` and `link`, wherever it stands."""
    metas: list[Meta] = []
    for element in tree.select("meta"):
        attr = element.attr
        name, shared = attr("name"), attr("property")
        if not (said := name or shared or attr("http-equiv")):
            continue
        key, content = said.strip().lower(), attr("content")
        called = (shared.strip().lower() if name and shared else key) if (name or shared) and ":" in (shared or said) else ""
        if content is not None and len(content) <= _MAX_CHARS:
            metas.append((key, called, " ".join(content.split()), element))
            continue
        # Open Graph takes more of a text, and finds it in another attribute too.
        metas.append((key, "", " ".join((content or "")[:_MAX_CHARS].split()), element))
        if called and (told := attr("value") if content is None else content):
            metas.append(("", called, " ".join(told[:_MAX_SHARED_CHARS].split()), element))
    return Head(metas, [((element.attr("rel") or "").lower(), element) for element in tree.select("link")])

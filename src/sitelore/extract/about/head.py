"""The `meta` elements of a page as Open Graph takes them: all that have a name, in page order."""

from __future__ import annotations

from typing import TypeAlias

from sitelore.extract import dom
from sitelore.extract.about.survey import MAX_SAID

_MAX_SHARED_CHARS = 5_000

Meta: TypeAlias = tuple[str, str, str, dom.Element]
"""What it is called, what Open Graph would call it (both in lower case, one may be empty), its content on one line, itself."""


def read_head(tree: dom.Tree) -> list[Meta]:
    """Look at every `meta`, wherever it stands."""
    metas: list[Meta] = []
    for element in tree.select("meta"):
        attr = element.attr
        name, shared = attr("name"), attr("property")
        if not (said := name or shared or attr("http-equiv")):
            continue
        key, content = said.strip().lower(), attr("content")
        called = (shared.strip().lower() if name and shared else key) if (name or shared) and ":" in (shared or said) else ""
        if content is not None and len(content) <= MAX_SAID:
            metas.append((key, called, " ".join(content.split()), element))
            continue
        # Open Graph takes more of a text, and finds it in another attribute too.
        metas.append((key, "", " ".join((content or "")[:MAX_SAID].split()), element))
        if called and (told := attr("value") if content is None else content):
            metas.append(("", called, " ".join(told[:_MAX_SHARED_CHARS].split()), element))
    return metas

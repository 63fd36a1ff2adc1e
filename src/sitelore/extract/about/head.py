"""The `meta` and `link` elements of a page, read once for all who ask them: metadata and Open Graph."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sitelore.extract import dom
from sitelore.extract.about.survey import Survey

_MAX_CHARS = 2_000
_MAX_SHARED_CHARS = 5_000

Meta: TypeAlias = tuple[str, str, str, dom.Element | None]
"""What it is called, what Open Graph would call it (both in lower case, one may be empty), its content on one line, itself."""


class Head(NamedTuple):
    """What a page says of itself outside of its text, in page order."""

    metas: list[Meta]
    """Those that have a name: by `name`, `property` or `http-equiv`."""
    links: list[tuple[str, str]]
    """What each `link` is for, in lower case, and its address."""


def read_head(survey: Survey) -> Head:
    """Every `meta` and `link`, wherever it stands."""
    metas: list[Meta] = []
    for name, shared, equiv, content, value, element in survey.metas:
        key = (name or shared or equiv).strip().lower()
        called = ""
        if (name or shared) and ":" in (shared or name):
            called = shared.strip().lower() if name and shared else key
        if content is not None and len(content) <= _MAX_CHARS:
            metas.append((key, called, " ".join(content.split()), element))
            continue
        # Open Graph takes more of a text, and finds it in another attribute too.
        metas.append((key, "", " ".join((content or "")[:_MAX_CHARS].split()), element))
        if called and (told := value if content is None else content):
            metas.append(("", called, " ".join(told[:_MAX_SHARED_CHARS].split()), element))
    return Head(metas, [(rel.lower(), href) for rel, href in survey.relations])

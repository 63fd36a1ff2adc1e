"""HTML → what it says: by compiled code as far as it goes, from the parser's tree where it declines. Both give the same.

The tree is made when somebody asks for it: for most pages of a crawl that wants content, links and metadata alone nobody does.
"""

from __future__ import annotations

import ctypes
import re
from functools import cached_property
from typing import Any

from sitelore.extract import dom
from sitelore.extract.about.links import Found, PageResolver, find_links, resolver_for
from sitelore.extract.about.metadata import read_metadata
from sitelore.extract.about.survey import Survey, surveyed, with_elements
from sitelore.extract.about.surveying import SURVEYOR
from sitelore.extract.composing import compose
from sitelore.extract.content.main import main_content
from sitelore.extract.content.style_sheets import Hiding, read_hiding
from sitelore.extract.content.teaching import taught
from sitelore.extract.draft import NO_OFFERS, Draft
from sitelore.extract.markdown import Written
from sitelore.extract.memory import LARGE_PAGE
from sitelore.extract.redact import Source
from sitelore.extract.structured.entities import Entity
from sitelore.extract.structured.jsonld import Script, read_scripts
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response

_LONG_CHARS = 50_000
_LONG_DATA = re.compile(rb"""data-[a-z0-9_-]+(?==(?:"[^"]{50000}|'[^']{50000}))""")


class Markup:
    """A page's markup: compiled code may hold it, until it reads the next one; a tree is made once it is asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source  # what is held are pieces of it
        self.is_held = PARSER is not None and PARSER(source.utf8, len(source.utf8)) == 0

    @cached_property
    def tree(self) -> dom.Tree:
        """The parser's tree."""
        return dom.parse(self.source.for_parser())


def read_html(source: Source, response: Response, options: ReadOptions) -> Draft:
    """Everything that a page says."""
    page = Markup(source)
    site = resolver_for(options.dropped_parameters)
    survey = _surveyed(page, options)
    scripts = read_scripts(survey.scripts)
    metadata = read_metadata(survey, response, site.rules, scripts)
    structured = _read_structured(page.tree, metadata.base, scripts) if options.offers else ()
    resolver = site.on_page(metadata.base)
    found = find_links(survey.links, response.url, resolver, nofollow=metadata.robots.nofollow)
    offers = _read_offers(page.tree, response, found, resolver) if options.offers else NO_OFFERS
    strategy, written = _read_content(page, read_hiding(survey.sheets), resolver, response, options)
    return Draft(
        metadata,
        strategy,
        written.markdown,
        written.text,
        links=found.untied,
        structured=structured,
        offers=offers,
    )


def _surveyed(page: Markup, options: ReadOptions) -> Survey:
    """What the page says of itself. Offers are made of elements, which only the tree has."""
    told = SURVEYOR.survey() if SURVEYOR is not None and page.is_held else None
    if told is not None and options.offers:
        told = with_elements(told, page.tree)
    return told or surveyed(page.tree)


def _read_content(
    page: Markup, hiding: Hiding, resolver: PageResolver, response: Response, options: ReadOptions
) -> tuple[str, Written]:
    """Return how the main content was found, and what is written of it."""
    tree = page.tree
    hiding = hiding.beside(tree)
    if len(response.body) >= LARGE_PAGE:
        _drop_long_data(tree, response.body)
    content = main_content(tree, page.source, response.url.host, options.overrides, scored=options.scored)
    return content.strategy, compose(tree, content, hiding, resolver)


def _drop_long_data(tree: dom.Tree, body: bytes) -> None:
    """What scripts keep in attributes: nobody reads it, and writing such a tag out takes eight times its size."""
    for name in {name.decode() for name in _LONG_DATA.findall(body)}:
        for element in dom.select(tree, f"[{name}]"):
            if len(dom.attribute(element, name)) >= _LONG_CHARS:
                dom.drop_attribute(element, name)


def _read_structured(tree: dom.Tree, base: str, scripts: list[Script]) -> tuple[Entity, ...]:
    from sitelore.extract.structured.reading import read_structured  # noqa: PLC0415 as below

    return read_structured(tree, base, scripts)


def _read_offers(tree: dom.Tree, response: Response, links: Found, resolver: PageResolver) -> tuple[Any, ...]:
    """All of it before anything is cut from the tree."""
    from sitelore.extract.offers.reading import read_offers  # noqa: PLC0415 a crawl may ask for content alone

    return read_offers(tree, response, links, resolver)


def _parser() -> Any:
    found = taught()
    if found is not None:
        found.parse_page.restype, found.parse_page.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_int64]
    return found.parse_page if found is not None else None


PARSER = _parser()
"""None where it was not compiled."""

"""Reads a page's HTML: metadata, links, structured data, page objects and the main content as Markdown and plain text."""

from __future__ import annotations

from typing import Any

from sitelore.extract import dom
from sitelore.extract.about.links import Found, PageResolver, find_links, resolver_for
from sitelore.extract.about.metadata import read_metadata
from sitelore.extract.about.survey import surveyed
from sitelore.extract.content.documentation import PageFacts
from sitelore.extract.content.main import Content, Title, find_title, main_content, place_title
from sitelore.extract.content.style_sheets import Hiding, drop_hidden, read_hiding
from sitelore.extract.content.visibility import shown
from sitelore.extract.draft import NO_OFFERS, Draft
from sitelore.extract.markdown import Written, write
from sitelore.extract.memory import LARGE_PAGE
from sitelore.extract.redact import Source
from sitelore.extract.structured.entities import Entity
from sitelore.extract.structured.jsonld import Script, read_scripts
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response

_MAX_ATTRIBUTE_CHARS = 50_000
_LISTS = frozenset({"style", "srcset", "data-srcset", "data-lazy-srcset"})
"""Attributes whose first part says as much as the whole."""


def read_html(source: Source, response: Response, options: ReadOptions) -> Draft:
    """Everything that is extracted from an HTML page."""
    tree = dom.parse(source.for_parser())
    site = resolver_for(options.dropped_parameters)
    survey = surveyed(tree)
    scripts = read_scripts(survey.scripts)
    metadata = read_metadata(survey, response, site.rules, scripts)
    structured = _read_structured(tree, metadata.base, scripts) if options.offers else ()
    resolver = site.on_page(metadata.base)
    found = find_links(survey.links, response.url, resolver, nofollow=metadata.robots.nofollow)
    offers = _read_offers(tree, response, found, resolver) if options.offers else NO_OFFERS
    hiding = read_hiding(survey.sheets).beside(tree)
    if len(response.body) >= LARGE_PAGE:
        _shorten_attributes(tree)
    title = find_title(tree, metadata.title, metadata.site_name)
    content = main_content(tree, source, response.url.host, options.overrides, PageFacts(survey.metas, bool(survey.scripts)))
    written = write_content(tree, content, title, hiding, resolver)
    return Draft(
        metadata,
        content.strategy,
        written.markdown,
        written.text,
        links=found.untied,
        structured=structured,
        offers=offers,
    )


def write_content(tree: dom.Tree, content: Content, title: Title, hiding: Hiding, resolver: PageResolver) -> Written:
    """The chosen content as Markdown and as plain text, after its title and without its hidden parts. Changes the tree."""
    nodes = shown(content.nodes)
    drop_hidden(hiding, tree, nodes)
    return write(place_title(title, nodes), resolver)


def _shorten_attributes(tree: dom.Tree) -> None:
    """Cut long lists and drop other long attributes (inlined files, script state): serialising one takes eight times its size.

    An address of this length is no address of a page or an image, and half of it would be a wrong one.
    """
    for element, name, value in dom.long_attributes(tree, _MAX_ATTRIBUTE_CHARS):
        if name in _LISTS:
            dom.set_attribute(element, name, value[:_MAX_ATTRIBUTE_CHARS])
        else:
            dom.drop_attribute(element, name)


def _read_structured(tree: dom.Tree, base: str, scripts: list[Script]) -> tuple[Entity, ...]:
    from sitelore.extract.structured.reading import read_structured  # noqa: PLC0415 as below

    return read_structured(tree, base, scripts)


def _read_offers(tree: dom.Tree, response: Response, links: Found, resolver: PageResolver) -> tuple[Any, ...]:
    """All of it before anything is cut from the tree."""
    from sitelore.extract.offers.reading import read_offers  # noqa: PLC0415 a crawl may ask for content alone

    return read_offers(tree, response, links, resolver)

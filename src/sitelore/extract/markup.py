"""Reads a page's HTML: metadata, links, structured data, page objects and the main content as Markdown and plain text."""

from __future__ import annotations

from typing import Any

from sitelore.extract import dom
from sitelore.extract.about.links import Found, PageResolver, find_links, resolver_for
from sitelore.extract.about.metadata import read_metadata
from sitelore.extract.about.survey import surveyed
from sitelore.extract.content.documentation import PageFacts
from sitelore.extract.content.main import Content, main_content
from sitelore.extract.content.style_sheets import Hiding, drop_hidden, read_hiding
from sitelore.extract.content.title import Title, find_title, place_title
from sitelore.extract.content.visibility import shown
from sitelore.extract.draft import NO_PAGE_OBJECTS, Draft
from sitelore.extract.markdown import Written, write
from sitelore.extract.memory import LARGE_PAGE
from sitelore.extract.redact import Source
from sitelore.extract.structured.entities import Entity
from sitelore.extract.structured.jsonld import Script, read_scripts
from sitelore.model.document import PROBED_HEADER, ReadOptions
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
    structured = _read_structured(tree, metadata.base, scripts) if options.full else ()
    resolver = site.on_page(metadata.base)
    found = find_links(survey.links, response.url, resolver, nofollow=metadata.robots.nofollow)
    page_objects = _read_page_objects(tree, response, found, resolver) if options.full else NO_PAGE_OBJECTS
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
        page_objects=page_objects,
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
    from sitelore.extract.structured.entities import read_structured  # noqa: PLC0415 as below

    return read_structured(tree, base, scripts)


def _read_page_objects(tree: dom.Tree, response: Response, links: Found, resolver: PageResolver) -> tuple[Any, ...]:
    """Forms, actions, media and brand of a page, read before anything is cut from the tree. Only home pages have a brand."""
    from sitelore.extract.interactive.actions import MARKED, read_actions  # noqa: PLC0415 a crawl may ask for content alone
    from sitelore.extract.interactive.forms import read_forms  # noqa: PLC0415 as above
    from sitelore.extract.interactive.selectors import Selectors  # noqa: PLC0415 as above
    from sitelore.extract.page_media import read_media  # noqa: PLC0415 as above

    selectors, marked = Selectors(tree), dom.select(tree, MARKED)
    forms = read_forms(tree, response.url, resolver, selectors)
    actions = read_actions(tree, marked, links, resolver, selectors)
    media = read_media(tree, marked, links, resolver)
    probed = response.header(PROBED_HEADER)
    if probed is None and not response.url.is_root:
        return forms, actions, media, {}
    from sitelore.extract.brand.home_page import read_brand, unpack_probe  # noqa: PLC0415 a site has one home page

    return forms, actions, media, read_brand(tree, resolver, probed=unpack_probe(probed) if probed else None)

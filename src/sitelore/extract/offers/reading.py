"""All that a page offers, read from the tree that is there already."""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.metadata.links import PageLinks, PageResolver
from sitelore.extract.offers.actions import MARKED, read_actions
from sitelore.extract.offers.forms import read_forms
from sitelore.extract.offers.media_references import read_media
from sitelore.extract.offers.selectors import Selectors
from sitelore.extract.structured.entities import Entity
from sitelore.model.document import PROBED_HEADER
from sitelore.model.response import Response

_Entities = tuple[Entity, ...]


def read_offers(
    tree: dom.Tree, response: Response, links: PageLinks, resolver: PageResolver
) -> tuple[_Entities, _Entities, _Entities, Entity]:
    """Forms, actions, media, and the brand, which is empty for all but home pages."""
    selectors = Selectors(tree)
    marked = dom.select(tree, MARKED)
    return (
        read_forms(tree, response.url, resolver, selectors),
        read_actions(tree, marked, links, resolver, selectors),
        read_media(tree, marked, links, resolver),
        _read_brand(tree, response, resolver),
    )


def _read_brand(tree: dom.Tree, response: Response, resolver: PageResolver) -> Entity:
    """Of home pages alone: the root of a site, and what a browser was asked about."""
    probed = response.header(PROBED_HEADER)
    if probed is None and not response.url.is_root:
        return {}
    from sitelore.extract.offers.brand import read_brand  # noqa: PLC0415 a site has one home page
    from sitelore.extract.offers.brand_probe import unpacked  # noqa: PLC0415 as above

    return read_brand(tree, resolver, probed=unpacked(probed) if probed else None)

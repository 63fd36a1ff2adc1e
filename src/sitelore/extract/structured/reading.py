"""What a page says for machines, read from the tree that is there already: JSON-LD, Microdata, RDFa, Open Graph.

Four readers, one form (`entities`); what is most often asked for is laid out flat beside it (`frames`). Each reader gives
up at a bound of its own, whatever a page holds, and none of them raises.
"""

from __future__ import annotations

from sitelore.extract import dom
from sitelore.extract.metadata.page_facts import read_head, scripts_of
from sitelore.extract.structured.entities import Entity, settle
from sitelore.extract.structured.frames import frame_of
from sitelore.extract.structured.jsonld import Script, linked_entities, read_scripts
from sitelore.extract.structured.microdata import microdata_entities
from sitelore.extract.structured.opengraph import opengraph_entities
from sitelore.extract.structured.rdfa import rdfa_entities

_MAX_ENTITIES = 500
_MARKED = ":is([itemscope],[itemtype],[typeof],[vocab],[about])"


def read_structured(tree: dom.Tree, base: str, scripts: list[Script] | None = None) -> tuple[Entity, ...]:
    """Every entity of a page, in the order JSON-LD, Microdata, RDFa, Open Graph.

    `scripts` are for who has read them already.
    """
    found: list[Entity] = []
    if scripts is None:
        scripts = read_scripts(scripts_of(tree))
    if scripts:
        found += linked_entities(scripts, base)
    # On an average page this one look costs less than searching its source for the names of the attributes.
    marked = dom.select(tree, _MARKED)
    if marked:
        if any(e.attr("itemscope") is not None or e.attr("itemtype") for e in marked):
            found += microdata_entities(tree, base)
        if any(e.attr("typeof") is not None or e.attr("vocab") or e.attr("about") is not None for e in marked):
            found += rdfa_entities(tree, base)
    del found[_MAX_ENTITIES:]
    for each in found:
        _finish(each, is_root=True)
    for each in opengraph_entities(read_head(tree), base):
        each["frame"] = frame_of(each, is_root=True)
        found.append(each)
    return tuple(found)


def _finish(found: Entity, *, is_root: bool) -> None:
    """Put prices right and lay out what is framed, from the inside out."""
    properties = found["properties"]
    for part in (properties, found["reverse"]) if "reverse" in found else (properties,):
        for value in part.values():
            if type(value) is dict:
                if "properties" in value:
                    _finish(value, is_root=False)
            elif type(value) is list:
                for one in value:
                    if type(one) is dict and "properties" in one:
                        _finish(one, is_root=False)
    settle(properties)
    if frame := frame_of(found, is_root=is_root):
        found["frame"] = frame

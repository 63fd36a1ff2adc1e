"""The script that a browser runs on a home page, and the way its findings take to `brand`.

They travel as a header of the response: reading stays a function of the response, and since headers that reading depends
on are kept with the page (`READ_HEADERS`), the same brand comes out when the page is read again from its snapshot.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from sitelore.extract.offers.brand_css import Sheets, ranked_variables
from sitelore.extract.offers.colours import colour_of, is_pale
from sitelore.extract.offers.fonts import first_font, font_name
from sitelore.model.document import PROBED_HEADER
from sitelore.model.response import Response

_LONGEST = 480
"""Kept headers are cut at 500 characters; what is cut is no JSON any more."""
_MOST = 6


@cache
def brand_probe() -> str:
    """The script, one expression whose value are the findings; hand it to `RenderRequest.probe` for home pages."""
    return Path(__file__).with_name("brand_probe.js").read_text("utf-8")


def packed(probed: Any) -> str:
    """A probe's findings as the value of `PROBED_HEADER`: colours and names alone, short. Empty when there is nothing.

    The page made them, so nothing is taken for what it should be.
    """
    if not isinstance(probed, dict):
        return ""
    sheets = Sheets(variables={name: text for name, text in _texts(probed.get("variables")).items() if name.startswith("--")})
    facts: dict[str, Any] = {
        "v": {name: colour for name, text in sheets.variables.items() if len(name) < 50 and (colour := sheets.colour(text))},
        "b": _colours(sheets, [one.get("background") for one in _items(probed.get("buttons")) if isinstance(one, dict)]),
        "h": _colours(sheets, _items(probed.get("backgrounds"))),
        "f": list(dict.fromkeys(_fonts(probed.get("faces"))))[:_MOST],
        "t": {name: font for name in ("body", "h1") if (font := first_font(_texts(probed.get("fonts")).get(name, "")))},
    }
    facts["v"] = {name: facts["v"][name] for name in ranked_variables(facts["v"])[:_MOST]}
    if not any(facts.values()):
        return ""
    while len(text := json.dumps(facts, separators=(",", ":"))) > _LONGEST:
        largest = facts[max(facts, key=lambda part: len(json.dumps(facts[part])))]
        largest.popitem() if isinstance(largest, dict) else largest.pop()
    return text


def with_probed(response: Response, probed: Any) -> Response:
    """A rendered response that carries what the probe found in it."""
    text = packed(probed)
    kept = tuple([pair for pair in response.headers if pair[0] != PROBED_HEADER])
    return replace(response, headers=(*kept, (PROBED_HEADER, text)) if text else kept)


def unpacked(header: str) -> dict[str, Any]:
    """What `packed` wrote; empty for anything else."""
    try:
        facts = msgspec.json.decode(header)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(facts, dict):
        return {}
    return {
        "variables": {name: text for name, text in _texts(facts.get("v")).items() if colour_of(text)},
        "buttons": [text for text in _items(facts.get("b")) if isinstance(text, str) and colour_of(text)],
        "backgrounds": [text for text in _items(facts.get("h")) if isinstance(text, str) and colour_of(text)],
        "faces": _fonts(facts.get("f")),
        "fonts": {name: font for name, text in _texts(facts.get("t")).items() if (font := first_font(text))},
    }


def _items(value: Any) -> list[Any]:
    return value[:200] if isinstance(value, list) else []


def _texts(value: Any) -> dict[str, str]:
    pairs = list(value.items())[:400] if isinstance(value, dict) else []
    return {name: text[:300] for name, text in pairs if isinstance(name, str) and isinstance(text, str)}


def _fonts(value: Any) -> list[str]:
    return [font for text in _items(value) if isinstance(text, str) and (font := font_name(text))]


def _colours(sheets: Sheets, raws: list[Any]) -> list[str]:
    found = [colour for raw in raws if isinstance(raw, str) and (colour := sheets.colour(raw[:300])) and not is_pale(colour)]
    return list(dict.fromkeys(found))[:_MOST]

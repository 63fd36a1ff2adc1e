"""Detects a site's colours, fonts, logo and icon from its home page.

Colours come from variables of the root, then the backgrounds of buttons in the header, then those of the first large
sections; fonts from links to font services, `@font-face`, and the fonts that text is set in. The first source with a value
counts. With the findings of a browser (the probe) these are computed styles, otherwise the page's own style sheets,
attributes and Tailwind classes.

The findings of a probe travel as a response header (`PROBED_HEADER`): extraction stays a function of the response, and since
such headers are kept with the page, a page that is read again from its snapshot has the same brand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from sitelore.extract import dom
from sitelore.extract.links import PageResolver
from sitelore.extract.page_objects.brand_styles import (
    Styles,
    first_font,
    font_name,
    is_pale,
    is_vivid,
    parse_colour,
    read_styles,
    service_fonts,
    tailwind_colour,
)
from sitelore.extract.page_objects.media import source_of
from sitelore.model.document import PROBED_HEADER
from sitelore.model.response import Response

Brand = dict[str, Any]

_BUTTONS = "button,a,[role=button i],input[type=submit i]"
_HEADERS = "header,nav,[role=banner i],[role=navigation i]"
_HEROES = (
    "[class*=hero i],[id*=hero i],[class*=banner i],[class*=jumbotron i],[class*=masthead i],main > section,"
    "main > div > section,header"
)
_FONT_VARIABLES = ("--font-sans", "--font-body", "--font-family", "--font-primary", "--bs-body-font-family", "--font-heading")
_LOGOS = (
    ("[itemprop~=logo i]", 0.95),
    ("[class*=logo i] img,[id*=logo i] img", 0.9),
    ("img[class*=logo i],img[id*=logo i],img[alt*=logo i]", 0.85),
    ("header img[src*=logo i],nav img[src*=logo i]", 0.85),
    ("header a[href='/'] img,nav a[href='/'] img,a[rel~=home i] img", 0.7),
    ("header img,[role=banner i] img", 0.4),
)
_MAX_ELEMENTS = 60
_MAX_CANDIDATES = 8
_ICON_SIZE = re.compile(r"(\d{1,4})x\d{1,4}")
_URL = re.compile(r"[\w:/.]*//[^\s\"')]+")


@dataclass(slots=True)
class _Findings:
    """Colours and fonts in order of preference, each with its source."""

    primary: tuple[str, str] = ("", "")
    secondary: tuple[str, str] = ("", "")
    fonts: list[tuple[str, str]] = field(default_factory=list)

    def add_colours(self, colours: Sequence[str], source: str) -> None:
        for colour in colours:
            if not self.primary[0]:
                self.primary = colour, source
            elif not self.secondary[0] and colour != self.primary[0]:
                self.secondary = colour, source

    def add_font(self, name: str, source: str) -> None:
        if name and all(name.lower() != known.lower() for known, _ in self.fonts):
            self.fonts.append((name, source))


def read_brand(tree: dom.Tree, resolver: PageResolver, *, probed: dict[str, Any] | None = None) -> Brand:
    """The brand of a home page; empty if nothing was found. `probed` is the result of `unpack_probe`.

    `confidence` is the share of primary colour, secondary colour and font that was found.
    """
    probed = probed or {}
    inline = [style.text for style in dom.select(tree, "style")[:_MAX_ELEMENTS]]
    styles = read_styles(inline)
    styles.variables |= _root_variables(tree) | probed.get("variables", {})
    findings = _Findings()
    _add_variable_colours(styles, findings)
    backgrounds = _Backgrounds(styles)
    findings.add_colours(_sorted_colours(probed.get("buttons") or backgrounds.of_buttons(tree)), "header_button")
    findings.add_colours(_sorted_colours(probed.get("backgrounds") or backgrounds.of_heroes(tree)), "hero_background")
    findings.add_colours([colour for colour in _theme_colours(tree) if is_vivid(colour)], "theme_color")
    _add_fonts(tree, styles, probed, findings)
    return _as_brand(findings, _logos(tree, resolver), _icons(tree, resolver))


def merge_brands(entered: Brand, detected: Brand) -> Brand:
    """The brand to keep: entries of a person, with detected values only where they entered nothing.

    Nothing is added if a person has entered a primary colour, or if neither a colour nor a font was detected.
    """
    if entered.get("primary_color") or not detected.get("confidence"):
        return dict(entered)
    return {**detected, **{name: value for name, value in entered.items() if value not in (None, "", [], {})}}


def _as_brand(findings: _Findings, logos: list[Brand], icons: list[Brand]) -> Brand:
    fonts = [name for name, _ in findings.fonts]
    brand: Brand = {
        "primary_color": findings.primary[0],
        "secondary_color": findings.secondary[0],
        "font_primary": fonts[0] if fonts else "",
        "font_secondary": fonts[1] if fonts[1:] else "",
        "logo": logos[0]["url"] if logos else "",
        "favicon": icons[0]["url"] if icons else "",
    }
    brand = {name: value for name, value in brand.items() if value}
    if not brand:
        return {}
    sources = {
        "primary_color": findings.primary[1],
        "secondary_color": findings.secondary[1],
        "font_primary": findings.fonts[0][1] if findings.fonts else "",
    }
    brand["confidence"] = round(sum(name in brand for name in sources) / 3, 2)
    brand["sources"] = {name: source for name, source in sources.items() if source}
    lists = {"fonts": fonts[:_MAX_CANDIDATES], "logos": logos, "icons": icons}
    return brand | {name: items for name, items in lists.items() if items}


def _add_variable_colours(styles: Styles, findings: _Findings) -> None:
    ranks = sorted(rank for name in styles.variables for rank in _variable_ranks(name))
    for role in (0, 1):
        for *_, rank_role, name in ranks:
            colour = styles.colour(styles.variables[name]) if rank_role == role else ""
            if not colour or (role == 1 and colour == findings.primary[0]) or (role == 0 and is_pale(colour)):
                continue
            if role == 0:
                findings.primary = colour, f"css_variable {name}"
            else:
                findings.secondary = colour, f"css_variable {name}"
            break


def _root_variables(tree: dom.Tree) -> dict[str, str]:
    """Variables in the style attributes of the root and the body."""
    roots = [element for tag in ("html", "body") for element in dom.select(tree, tag)[:1]]
    text = "".join(f":root{{{style}}}" for element in roots if (style := element.attr("style")))
    return read_styles([text]).variables if text else {}


def _sorted_colours(raws: list[str]) -> list[str]:
    """Distinct colours, vivid ones first, without nearly white ones."""
    colours = dict.fromkeys(colour for raw in raws if (colour := parse_colour(raw)) and not is_pale(colour))
    return sorted(colours, key=lambda colour: not is_vivid(colour))


class _Backgrounds:
    """Finds the backgrounds of elements by their own style, their classes and the rules of the page."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        # The last rule that matches counts. Pseudo-classes and pseudo-elements are left out.
        self._rules = [(selector, value) for selector, value in reversed(styles.backgrounds) if ":" not in selector]
        self._by_mark: dict[str, set[int]] = {}
        self._by_marks: dict[tuple[str, ...], list[int]] = {}

    def of_buttons(self, tree: dom.Tree) -> list[str]:
        elements = [each for header in dom.select(tree, _HEADERS)[:8] for each in dom.select(header, _BUTTONS)[:_MAX_ELEMENTS]]
        return list(filter(None, map(self._background, elements)))[:_MAX_ELEMENTS]

    def of_heroes(self, tree: dom.Tree) -> list[str]:
        return list(filter(None, map(self._background, dom.select(tree, _HEROES)[:_MAX_ELEMENTS])))

    def _background(self, element: dom.Element) -> str:
        """The background colour of an element; empty if it has none of its own."""
        style = element.attr("style")
        if style and "background" in style:
            for _, value in read_styles([f"x{{{style}}}"]).backgrounds:
                if colour := self._styles.colour(value):
                    return colour
        classes = element.attr("class") or ""
        marks = (*(f".{name}" for name in classes.split()), f"#{element.attr('id')}", element.tag)
        for index in self._rules_with(marks):
            selector, value = self._rules[index]
            if dom.matches(element, selector):
                return self._styles.colour(value)
        return tailwind_colour(classes)

    def _rules_with(self, marks: tuple[str, ...]) -> list[int]:
        """The rules whose selector contains a class, the id or the tag of an element: only these are evaluated."""
        indexes = self._by_marks.get(marks)
        if indexes is None:
            for mark in marks:
                if mark not in self._by_mark:
                    self._by_mark[mark] = {index for index, (selector, _) in enumerate(self._rules) if mark in selector}
            indexes = self._by_marks[marks] = sorted(set().union(*(self._by_mark[mark] for mark in marks)))
        return indexes


def _theme_colours(tree: dom.Tree) -> list[str]:
    names = {"theme-color", "msapplication-tilecolor"}
    metas = [meta for meta in dom.select(tree, "meta") if (meta.attr("name") or "").lower() in names]
    light = [meta for meta in metas if "dark" not in (meta.attr("media") or "")]
    return [colour for meta in light if (colour := parse_colour(meta.attr("content") or ""))]


def _add_fonts(tree: dom.Tree, styles: Styles, probed: dict[str, Any], findings: _Findings) -> None:
    links = [link.attr("href") or "" for link in dom.select(tree, "link")]
    imported = [url for text in styles.imports for url in _URL.findall(text)]
    for url in (*links, *imported):
        for name in service_fonts(url) if "font" in url else ():
            findings.add_font(name, "font_service")
    for raw in (*styles.faces, *probed.get("faces", ())):
        findings.add_font(font_name(styles.resolved(raw)), "font_face")
    for families in (*probed.get("fonts", {}).values(), *styles.fonts.values()):
        findings.add_font(first_font(styles.resolved(families)), "computed_font")
    if not findings.fonts:
        for name in _FONT_VARIABLES:
            findings.add_font(first_font(styles.resolved(styles.variables.get(name, ""))), f"css_variable {name}")


def _logos(tree: dom.Tree, resolver: PageResolver) -> list[Brand]:
    logos: dict[str, Brand] = {}
    pictures = dom.select(tree, "img")
    for selector, weight in _LOGOS:
        # Testing all images of a page is faster than one walk through its elements.
        elements = [each for each in pictures if each.matches(selector)] if "img" in selector else dom.select(tree, selector)
        for element in elements[:_MAX_ELEMENTS]:
            raw = source_of(element) if element.tag == "img" else element.attr("content") or element.attr("href") or ""
            url = resolver.target(raw).url if raw else None
            if url is not None and len(logos) < _MAX_CANDIDATES and str(url) not in logos:
                logo = logos[str(url)] = {"url": str(url), "weight": weight}
                if alt := " ".join((element.attr("alt") or "").split())[:200]:
                    logo["alt"] = alt
    return sorted(logos.values(), key=lambda logo: -float(logo["weight"]))


def _icons(tree: dom.Tree, resolver: PageResolver) -> list[Brand]:
    """Icons that the page links to: scalable ones first, then the largest, those for a home screen last."""
    icons: dict[str, tuple[tuple[int, int], Brand]] = {}
    for link in dom.select(tree, "link"):
        rel = (link.attr("rel") or "").lower().split()
        is_touch = any(word.startswith("apple-touch-icon") for word in rel)
        if "icon" not in rel and not is_touch:
            continue
        url = resolver.target(link.attr("href") or "").url
        if url is None or str(url) in icons or len(icons) >= _MAX_CANDIDATES:
            continue
        sizes, media_type = (link.attr("sizes") or "").lower(), (link.attr("type") or "").lower()
        largest = max(map(int, _ICON_SIZE.findall(sizes)), default=0)
        is_vector = "svg" in media_type or sizes == "any" or url.path.endswith(".svg")
        icon: Brand = {"url": str(url), "rel": " ".join(rel)[:60]}
        if sizes:
            icon["sizes"] = sizes[:60]
        icons[str(url)] = (int(is_touch), -10_000 if is_vector else -largest), icon
    return [icon for _, icon in sorted(icons.values(), key=lambda pair: pair[0])]


# Names of variables that hold the colours of a brand

_VARIABLE_PREFIX = re.compile(
    r"(?:wp--preset--color--|e-global-color-|bs-|mdc-theme-|md-sys-color-|md-|ifm-|chakra-|mantine-|tw-|vp-c-|sl-|ds-|colou?rs?-+|clr-|c-"
    r"|theme-|site-|global-|palette-|ui-|app-|base-)"
)
_VARIABLE_SHADE = re.compile(r"(?:-+(?:colou?r|default|base|main|bg|filled|fg|hex|rgb|hsl|[1-9]00?|50|1))+$")
_PRIMARY = {"primary": 0, "brand-primary": 1, "primary-brand": 1, "brand": 2, "main": 3, "theme": 3, "accent": 4}
_SECONDARY = {"secondary": 0, "brand-secondary": 1, "secondary-brand": 1, "accent": 2, "tertiary": 3, "highlight": 4}
_SHADE_RANKS = {"": 0, "default": 0, "base": 0, "main": 0, "500": 1, "600": 2, "1": 2, "400": 3, "700": 3}


def _variable_ranks(name: str) -> list[tuple[int, int, int, str]]:
    """How well the name of a variable says primary (role 0) or secondary (role 1): ranks of the word and the shade, role,
    name.
    """
    plain = name.lower().lstrip("-")
    while match := _VARIABLE_PREFIX.match(plain):
        plain = plain[match.end() :]
    word = _VARIABLE_SHADE.sub("", plain)
    shade = plain[len(word) :].strip("-").rpartition("-")[2]
    shade_rank = _SHADE_RANKS.get(shade, 4)
    return [(words[word], shade_rank, role, name) for role, words in enumerate((_PRIMARY, _SECONDARY)) if word in words]


# The probe: a script that a browser runs on a home page, and its findings as a header

_MAX_HEADER_CHARS = 480
"""Headers are kept up to 500 characters, and JSON that is cut off cannot be read."""
_MAX_FINDINGS = 6


@cache
def brand_probe() -> str:
    """The script for `RenderRequest.probe`: one expression, whose value are the findings."""
    return Path(__file__).with_name("brand_probe.js").read_text("utf-8")


def pack_probe(probed: Any) -> str:
    """The findings of a probe as the value of `PROBED_HEADER`, reduced to colours and names; empty if there are none.

    The page can tamper with them, so every type is checked.
    """
    if not isinstance(probed, dict):
        return ""
    variables = {name: text for name, text in _string_items(probed.get("variables")).items() if name.startswith("--")}
    styles = Styles(variables=variables)
    colours = {name: colour for name, text in variables.items() if len(name) < 50 and (colour := styles.colour(text))}
    ranked = sorted((min(ranks), name) for name in colours if (ranks := _variable_ranks(name)))
    fonts = _string_items(probed.get("fonts"))
    findings: dict[str, Any] = {
        "v": {name: colours[name] for _, name in ranked[:_MAX_FINDINGS]},
        "b": _dark_colours(
            styles, [each.get("background") for each in _items(probed.get("buttons")) if isinstance(each, dict)]
        ),
        "h": _dark_colours(styles, _items(probed.get("backgrounds"))),
        "f": list(dict.fromkeys(_font_names(probed.get("faces"))))[:_MAX_FINDINGS],
        "t": {name: font for name in ("body", "h1") if (font := first_font(fonts.get(name, "")))},
    }
    if not any(findings.values()):
        return ""
    while len(text := json.dumps(findings, separators=(",", ":"))) > _MAX_HEADER_CHARS:
        largest = findings[max(findings, key=lambda part: len(json.dumps(findings[part])))]
        largest.popitem() if isinstance(largest, dict) else largest.pop()
    return text


def with_probed(response: Response, probed: Any) -> Response:
    """A rendered response with the findings of the probe as a header."""
    text = pack_probe(probed)
    headers = tuple([pair for pair in response.headers if pair[0] != PROBED_HEADER])
    return replace(response, headers=(*headers, (PROBED_HEADER, text)) if text else headers)


def unpack_probe(header: str) -> dict[str, Any]:
    """The findings that `pack_probe` wrote; empty for any other text."""
    try:
        findings = msgspec.json.decode(header)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(findings, dict):
        return {}
    return {
        "variables": {name: text for name, text in _string_items(findings.get("v")).items() if parse_colour(text)},
        "buttons": [text for text in _items(findings.get("b")) if isinstance(text, str) and parse_colour(text)],
        "backgrounds": [text for text in _items(findings.get("h")) if isinstance(text, str) and parse_colour(text)],
        "faces": _font_names(findings.get("f")),
        "fonts": {name: font for name, text in _string_items(findings.get("t")).items() if (font := first_font(text))},
    }


def _items(value: Any) -> list[Any]:
    return value[:200] if isinstance(value, list) else []


def _string_items(value: Any) -> dict[str, str]:
    pairs = list(value.items())[:400] if isinstance(value, dict) else []
    return {name: text[:300] for name, text in pairs if isinstance(name, str) and isinstance(text, str)}


def _font_names(value: Any) -> list[str]:
    return [font for text in _items(value) if isinstance(text, str) and (font := font_name(text))]


def _dark_colours(styles: Styles, raws: list[Any]) -> list[str]:
    """Distinct colours that are not nearly white."""
    colours = [colour for raw in raws if isinstance(raw, str) and (colour := styles.colour(raw[:300])) and not is_pale(colour)]
    return list(dict.fromkeys(colours))[:_MAX_FINDINGS]

"""A site's colours, fonts, logo and icon, from its home page.

Six places are asked in this order, and the first that knows is believed: variables of the root, what the buttons of the header
are painted with (those without paint of their own, "ghosts", are passed over), what the first big sections are painted with;
for fonts, links to font services, `@font-face`, and the fonts that text is set in. With a browser's findings (`brand_probe`)
these are computed styles; without them what the page's own style sheets, attributes and Tailwind classes say.

Confidence is the share that was found of primary colour, secondary colour and font. What a person entered is never
overwritten (`merged`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sitelore.extract import dom
from sitelore.extract.markdown import images
from sitelore.extract.metadata.links import PageResolver
from sitelore.extract.offers.brand_css import Sheets, ranks_of, read_sheets
from sitelore.extract.offers.colours import colour_of, is_pale, is_vivid, tailwind_colour
from sitelore.extract.offers.fonts import first_font, font_name, service_fonts

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
_MAX_LOOKS = 60
_MAX_CANDIDATES = 8
_SIZES = re.compile(r"(\d{1,4})x\d{1,4}")


@dataclass(slots=True)
class _Found:
    """Colours and fonts in the order of belief, each with where it was found."""

    primary: tuple[str, str] = ("", "")
    secondary: tuple[str, str] = ("", "")
    fonts: list[tuple[str, str]] = field(default_factory=list)

    def colours(self, found: Sequence[str], source: str) -> None:
        """Take a place's colours, most telling first."""
        for colour in found:
            if not self.primary[0]:
                self.primary = colour, source
            elif not self.secondary[0] and colour != self.primary[0]:
                self.secondary = colour, source

    def font(self, name: str, source: str) -> None:
        if name and all(name.lower() != known.lower() for known, _ in self.fonts):
            self.fonts.append((name, source))


def read_brand(
    tree: dom.Tree, resolver: PageResolver, *, stylesheets: Iterable[str] = (), probed: dict[str, Any] | None = None
) -> Brand:
    """What a home page says of its brand; empty when it says nothing at all.

    `stylesheets` are texts of linked style sheets where someone has them, `probed` is what `brand_probe.unpacked` gives.
    """
    known = probed or {}
    inline = [style.text for style in dom.select(tree, "style")[:_MAX_LOOKS]]
    sheets = read_sheets([*stylesheets, *inline])
    sheets.variables |= _root_style(tree) | known.get("variables", {})
    found = _Found()
    _by_variables(sheets, found)
    found.colours(_telling(known.get("buttons") or _button_paints(tree, sheets)), "header_button")
    found.colours(_telling(known.get("backgrounds") or _hero_paints(tree, sheets)), "hero_background")
    found.colours([colour for colour in _theme_colours(tree) if is_vivid(colour)], "theme_color")
    _fonts(tree, sheets, known, found)
    logos, icons = _logos(tree, resolver), _icons(tree, resolver)
    return _told(found, logos, icons)


def merged(own: Brand, found: Brand) -> Brand:
    """What to keep of a brand: a person's own entries, with what was found only where nothing stands.

    A person who chose a primary colour chose the brand: then nothing is added. Nothing is added either from a page that
    told neither a colour nor a font.
    """
    if own.get("primary_color") or not found.get("confidence"):
        return dict(own)
    return {**found, **{name: value for name, value in own.items() if value not in (None, "", [], {})}}


def _told(found: _Found, logos: list[Brand], icons: list[Brand]) -> Brand:
    fonts = [name for name, _ in found.fonts]
    facts: Brand = {
        "primary_color": found.primary[0],
        "secondary_color": found.secondary[0],
        "font_primary": fonts[0] if fonts else "",
        "font_secondary": fonts[1] if fonts[1:] else "",
        "logo": logos[0]["url"] if logos else "",
        "favicon": icons[0]["url"] if icons else "",
    }
    if not any(facts.values()):
        return {}
    asked = (facts["primary_color"], facts["secondary_color"], facts["font_primary"])
    sources = {"primary_color": found.primary[1], "secondary_color": found.secondary[1]}
    sources["font_primary"] = found.fonts[0][1] if found.fonts else ""
    told = {name: value for name, value in facts.items() if value}
    told["confidence"] = round(sum(map(bool, asked)) / 3, 2)
    told["sources"] = {name: source for name, source in sources.items() if source}
    told |= {name: list_ for name, list_ in (("fonts", fonts[:_MAX_CANDIDATES]), ("logos", logos), ("icons", icons)) if list_}
    return told


def _by_variables(sheets: Sheets, found: _Found) -> None:
    names = [name for name in sheets.variables if ranks_of(name)]
    for role in (0, 1):
        mine = sorted(rank for name in names for rank in ranks_of(name) if rank[2] == role)
        for *_, name in mine:
            colour = sheets.colour(sheets.variables[name])
            if not colour or (role == 1 and colour == found.primary[0]) or (role == 0 and is_pale(colour)):
                continue
            if role == 0:
                found.primary = colour, f"css_variable {name}"
            else:
                found.secondary = colour, f"css_variable {name}"
            break


def _root_style(tree: dom.Tree) -> dict[str, str]:
    """Variables that the root or the body sets in its own style attribute."""
    roots = [element for tag in ("html", "body") for element in dom.select(tree, tag)[:1]]
    text = "".join(f":root{{{style}}}" for element in roots if (style := element.attr("style")))
    return read_sheets([text]).variables if text else {}


def _telling(colours: list[str]) -> list[str]:
    """Colours first, then greys and blacks; white is paper."""
    painted = [colour for raw in colours if (colour := colour_of(raw)) and not is_pale(colour)]
    unique = list(dict.fromkeys(painted))
    return sorted(unique, key=lambda colour: not is_vivid(colour))


def _button_paints(tree: dom.Tree, sheets: Sheets) -> list[str]:
    found: list[str] = []
    for zone in dom.select(tree, _HEADERS)[:8]:
        found += [paint for element in dom.select(zone, _BUTTONS)[:_MAX_LOOKS] if (paint := _paint(element, sheets))]
    return found[:_MAX_LOOKS]


def _hero_paints(tree: dom.Tree, sheets: Sheets) -> list[str]:
    return [paint for element in dom.select(tree, _HEROES)[:_MAX_LOOKS] if (paint := _paint(element, sheets))]


def _paint(element: dom.Element, sheets: Sheets) -> str:
    """The background of an element as far as its own style, its classes and the page's rules tell; empty for a ghost."""
    style = element.attr("style")
    if style and "background" in style:
        for _, value in read_sheets([f"x{{{style}}}"]).painted:
            if colour := sheets.colour(value):
                return colour
    names = set((element.attr("class") or "").split())
    marks = {f".{name}" for name in names} | {f"#{element.attr('id')}", element.tag}
    for selector, value in reversed(sheets.painted):
        # Most rules are about other elements; asking the parser about each would cost far more than this look.
        if any(mark in selector for mark in marks) and ":" not in selector.replace("::", ":") and _matches(element, selector):
            return sheets.colour(value)
    return tailwind_colour(" ".join(names)) if names else ""


def _matches(element: dom.Element, selector: str) -> bool:
    try:
        return element.matches(selector)
    except ValueError:
        return False


def _theme_colours(tree: dom.Tree) -> list[str]:
    named = {"theme-color", "msapplication-tilecolor"}
    metas = [meta for meta in dom.select(tree, "meta") if (meta.attr("name") or "").lower() in named]
    light = [meta for meta in metas if "dark" not in (meta.attr("media") or "")]
    return [colour for meta in light if (colour := colour_of(meta.attr("content") or ""))]


def _fonts(tree: dom.Tree, sheets: Sheets, known: dict[str, Any], found: _Found) -> None:
    links = [link.attr("href") or "" for link in dom.select(tree, "link")]
    imported = [address for text in sheets.imports for address in re.findall(r"[\w:/.]*//[^\s\"')]+", text)]
    for address in (*links, *imported):
        for name in service_fonts(address) if "font" in address else ():
            found.font(name, "font_service")
    for raw in (*sheets.faces, *known.get("faces", ())):
        found.font(font_name(sheets.resolved(raw)), "font_face")
    for families in (*known.get("fonts", {}).values(), *sheets.fonts.values()):
        found.font(first_font(sheets.resolved(families)), "computed_font")
    if not found.fonts:
        for name in _FONT_VARIABLES:
            found.font(first_font(sheets.resolved(sheets.variables.get(name, ""))), f"css_variable {name}")


def _logos(tree: dom.Tree, resolver: PageResolver) -> list[Brand]:
    found: dict[str, Brand] = {}
    for selector, weight in _LOGOS:
        for element in dom.select(tree, selector)[:_MAX_LOOKS]:
            raw = images.source_of(element) if element.tag == "img" else element.attr("content") or element.attr("href") or ""
            url = resolver.target(raw).url if raw else None
            if url is not None and len(found) < _MAX_CANDIDATES and str(url) not in found:
                found[str(url)] = {"url": str(url), "weight": weight}
                if alt := " ".join((element.attr("alt") or "").split())[:200]:
                    found[str(url)]["alt"] = alt
    return sorted(found.values(), key=lambda logo: -float(logo["weight"]))


def _icons(tree: dom.Tree, resolver: PageResolver) -> list[Brand]:
    """Icons that the page links to: those for any size first, then the largest; those for a home screen after them."""
    found: dict[str, tuple[tuple[int, int], Brand]] = {}
    for link in dom.select(tree, "link"):
        rel = (link.attr("rel") or "").lower().split()
        is_touch = any(word.startswith("apple-touch-icon") for word in rel)
        if "icon" not in rel and not is_touch:
            continue
        url = resolver.target(link.attr("href") or "").url
        if url is None or str(url) in found or len(found) >= _MAX_CANDIDATES:
            continue
        sizes, kind = (link.attr("sizes") or "").lower(), (link.attr("type") or "").lower()
        largest = max(map(int, _SIZES.findall(sizes)), default=0)
        is_vector = "svg" in kind or sizes == "any" or url.path.endswith(".svg")
        icon: Brand = {"url": str(url), "rel": " ".join(rel)[:60]}
        if sizes:
            icon["sizes"] = sizes[:60]
        found[str(url)] = (int(is_touch), -10_000 if is_vector else -largest), icon
    return [icon for _, icon in sorted(found.values(), key=lambda pair: pair[0])]

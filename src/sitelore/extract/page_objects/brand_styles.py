"""Reads the CSS that shows a site's brand: variables, backgrounds and fonts of style sheets, with colours as `#rrggbb`.

Style sheets are read in one bounded pass without the cascade. Rules that hold only in dark mode, in print or for high
contrast are left out: a brand is what most visitors see.
"""

from __future__ import annotations

import colorsys
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit

_MAX_CHARS = 2_000_000
_MAX_RULES = 4000
_MAX_VARIABLES = 2000
_MAX_FONTS = 60
_MAX_VALUE_CHARS = 2000
_BACKGROUNDS = frozenset({"background", "background-color", "background-image"})
_FIRST_LETTERS = frozenset("-bBfF")
"""How the names of the properties start that are read; most declarations are of no interest."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_PIECE = re.compile(r"([^{};]*)([{};])")
_ROOT = re.compile(
    r"(?:html|body|:root|:host|:where\(:root\)|html:root|@theme\b.*|\.light|:root:not\(.*\)"
    r"|(?:html|:root|body)?\[data-(?:\w+-)?(?:theme|mode|color-scheme)=[\"']?(?:light|default)[\"']?\])$"
)
_SPECIAL_MEDIA = re.compile(
    r"prefers-color-scheme:\s*dark|\bprint\b|prefers-contrast|forced-colors|@keyframes|@supports not", re.IGNORECASE
)
_DARK = re.compile(r"\.dark\b|(?<!not\()\[data-[\w-]*=[\"']?dark|\.theme-dark|\.dark-mode")
_TEXT_PARTS = re.compile(r"(?:html|body|:root|h1|h2|h1,\s*h2.*|\*)$")
_VAR = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,([^()]*(?:\([^()]*\)[^()]*)*))?\)")
_GRADIENT = re.compile(r"(?:rgba?|hsla?|hwb|oklch|oklab)\([^()]*\)|#[0-9a-f]{3,8}\b", re.IGNORECASE)


@dataclass(slots=True)
class Styles:
    """The facts of all style sheets of a page."""

    variables: dict[str, str] = field(default_factory=dict)
    """Custom properties of the root."""
    backgrounds: list[tuple[str, str]] = field(default_factory=list)
    """Selector and background of rules, in the order written."""
    faces: list[str] = field(default_factory=list)
    """Names that `@font-face` defines, in order."""
    fonts: dict[str, str] = field(default_factory=dict)
    """`font-family` by the element it is set for: `body`, `h1`."""
    imports: list[str] = field(default_factory=list)

    def colour(self, value: str) -> str:
        """The colour of a value with its variables resolved; of a gradient the first one."""
        resolved = self.resolved(value)
        if colour := parse_colour(resolved):
            return colour
        first = _GRADIENT.search(resolved)
        return parse_colour(first[0]) if first else ""

    def resolved(self, value: str) -> str:
        """A value with its variables replaced, up to eight levels deep."""
        for _ in range(8):
            if "var(" not in value or len(value) > _MAX_VALUE_CHARS:
                break
            value = _VAR.sub(lambda match: self.variables.get(match[1]) or (match[2] or "").strip(), value)
        return value


def read_styles(texts: Iterable[str]) -> Styles:
    """Read style sheets in the order that a page has them."""
    styles = Styles()
    left = _MAX_CHARS
    for text in texts:
        _read_sheet(text[:left], styles)
        left -= len(text)
        if left <= 0:
            break
    return styles


def _read_sheet(text: str, styles: Styles) -> None:
    blocks: list[str] = []
    plain = _COMMENT.sub("", text) if "/*" in text else text
    for match in _PIECE.finditer(plain if plain.rstrip().endswith("}") else plain + "}"):
        piece, mark = match.groups()
        piece = piece.strip()
        if mark == "{":
            if len(blocks) < 12:
                blocks.append(piece)
            continue
        if piece:
            if blocks:
                if piece[0] in _FIRST_LETTERS:
                    _read_declaration(piece, blocks, styles)
            elif piece.lower().startswith("@import") and len(styles.imports) < _MAX_FONTS:
                styles.imports.append(piece)
        if mark == "}" and blocks:
            blocks.pop()


def _read_declaration(declaration: str, blocks: list[str], styles: Styles) -> None:
    name, colon, value = declaration.partition(":")
    name = name.strip()
    lowered, selector = name.lower(), blocks[-1]
    if not colon or not (lowered.startswith("--") or lowered == "font-family" or lowered in _BACKGROUNDS):
        return
    value = value.replace("!important", "").strip()
    if not value or len(value) > _MAX_VALUE_CHARS:
        return
    if lowered == "font-family":
        _read_font(value, selector, styles)
    elif name.startswith("--"):
        if len(styles.variables) < _MAX_VARIABLES and not _is_special(blocks) and _is_root(selector):
            styles.variables[name] = value
    elif len(styles.backgrounds) < _MAX_RULES and selector[:1] != "@" and not _is_special(blocks):
        styles.backgrounds.append((selector, value))


def _read_font(value: str, selector: str, styles: Styles) -> None:
    if selector.lower().startswith("@font-face"):
        if len(styles.faces) < _MAX_FONTS:
            styles.faces.append(value)
        return
    for part in selector.split(",")[:20]:
        plain = part.strip().lower()
        if _TEXT_PARTS.match(plain):
            styles.fonts.setdefault("h1" if plain.startswith("h") and plain != "html" else "body", value)


def _is_root(selector: str) -> bool:
    return any(_ROOT.match(part.strip().lower()) for part in selector.split(",")[:20])


def _is_special(blocks: list[str]) -> bool:
    """Whether a rule holds only in dark mode, in print or for high contrast."""
    if any(_SPECIAL_MEDIA.search(block) for block in blocks if block.startswith("@")):
        return True
    return _DARK.search(blocks[-1]) is not None


# Colours: hex, `rgb()`, `hsl()`, `hwb()`, `oklch()`, `oklab()` in old and new syntax (CSS Color 4), names, and the bare
# numbers that themes keep in variables: `222 47% 11%` for `hsl()`, `79 70 229` for `rgb()`

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$")
_CALL = re.compile(r"(rgba?|hsla?|hwb|oklch|oklab)\(([^()]{1,120})\)$")
_NUMBER = re.compile(r"(-?(?:\d{1,6}\.?\d{0,8}|\.\d{1,8}))(%|deg|turn|rad)?$")
_BARE_HSL = re.compile(r"-?\d{1,3}(?:\.\d+)?(?:deg)?[\s,]+\d{1,3}(?:\.\d+)?%[\s,]+\d{1,3}(?:\.\d+)?%(?:\s*/\s*[\d.]+%?)?$")
_BARE_RGB = re.compile(r"\d{1,3}\s*[\s,]\s*\d{1,3}\s*[\s,]\s*\d{1,3}$")
_MIN_OPACITY = 0.5
_Number: TypeAlias = tuple[float, str]
"""A number and its unit."""
_NAMES = {
    "black": "000000", "white": "ffffff", "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00",
    "orange": "ffa500", "purple": "800080", "navy": "000080", "teal": "008080", "maroon": "800000", "olive": "808000",
    "gray": "808080", "grey": "808080", "silver": "c0c0c0", "lime": "00ff00", "aqua": "00ffff", "cyan": "00ffff",
    "fuchsia": "ff00ff", "magenta": "ff00ff", "crimson": "dc143c", "tomato": "ff6347", "coral": "ff7f50", "gold": "ffd700",
    "indigo": "4b0082", "violet": "ee82ee", "pink": "ffc0cb", "hotpink": "ff69b4", "salmon": "fa8072", "brown": "a52a2a",
    "steelblue": "4682b4", "royalblue": "4169e1", "dodgerblue": "1e90ff", "skyblue": "87ceeb", "slateblue": "6a5acd",
    "rebeccapurple": "663399", "seagreen": "2e8b57", "forestgreen": "228b22", "darkgreen": "006400", "darkblue": "00008b",
    "darkred": "8b0000", "firebrick": "b22222", "midnightblue": "191970", "turquoise": "40e0d0", "khaki": "f0e68c",
}  # fmt: skip
# The shades 500, 600 and 700 of Tailwind's palette, which buttons and heroes are painted with.
_TAILWIND = {
    "red": ("ef4444", "dc2626", "b91c1c"), "orange": ("f97316", "ea580c", "c2410c"), "amber": ("f59e0b", "d97706", "b45309"),
    "yellow": ("eab308", "ca8a04", "a16207"), "lime": ("84cc16", "65a30d", "4d7c0f"), "green": ("22c55e", "16a34a", "15803d"),
    "emerald": ("10b981", "059669", "047857"), "teal": ("14b8a6", "0d9488", "0f766e"), "cyan": ("06b6d4", "0891b2", "0e7490"),
    "sky": ("0ea5e9", "0284c7", "0369a1"), "blue": ("3b82f6", "2563eb", "1d4ed8"), "indigo": ("6366f1", "4f46e5", "4338ca"),
    "violet": ("8b5cf6", "7c3aed", "6d28d9"), "purple": ("a855f7", "9333ea", "7e22ce"),
    "fuchsia": ("d946ef", "c026d3", "a21caf"), "pink": ("ec4899", "db2777", "be185d"), "rose": ("f43f5e", "e11d48", "be123c"),
}  # fmt: skip
_TAILWIND_CLASS = re.compile(r"bg-(?:([a-z]+)-([567])00|\[([^\]\s]{3,60})\])$")


def parse_colour(text: str) -> str:
    """`#rrggbb` of a colour; empty if it is none, or more transparent than opaque."""
    plain = " ".join(text.lower().split())
    if match := _HEX.match(plain):
        return _hex_colour(match[1])
    if match := _CALL.match(plain):
        return _function_colour(match[1], match[2])
    if _BARE_HSL.match(plain):
        return _function_colour("hsl", plain)
    if _BARE_RGB.match(plain):
        return _function_colour("rgb", plain)
    return f"#{_NAMES[plain]}" if plain in _NAMES else ""


def tailwind_colour(classes: str) -> str:
    """The colour of the first Tailwind background class: `bg-indigo-600`, `bg-[#4f46e5]`."""
    for word in classes.split()[:60]:
        if match := _TAILWIND_CLASS.match(word):
            if match[3]:
                return parse_colour(match[3].replace("_", " "))
            if shades := _TAILWIND.get(match[1]):
                return f"#{shades[int(match[2]) - 5]}"
    return ""


def is_vivid(colour: str) -> bool:
    """Whether a colour is neither grey nor nearly white or black."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    _, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    return saturation > 0.15 and 0.08 < light < 0.94


def is_pale(colour: str) -> bool:
    """Whether a colour is white or nearly white."""
    return min(int(colour[at : at + 2], 16) for at in (1, 3, 5)) > 232


def _hex_colour(digits: str) -> str:
    if len(digits) in {3, 4}:
        digits = "".join(digit * 2 for digit in digits)
    return "" if len(digits) == 8 and int(digits[6:], 16) < 255 * _MIN_OPACITY else f"#{digits[:6]}"


def _function_colour(kind: str, inside: str) -> str:
    body, _, alpha = inside.partition("/")
    parts = body.replace(",", " ").split()
    if not alpha and len(parts) == 4:
        alpha = parts.pop()
    numbers = [number for part in parts if (number := _number(part)) is not None]
    if len(numbers) != 3 or len(parts) != 3:
        return ""
    opacity = _number(alpha.strip()) if alpha.strip() else (1.0, "")
    if opacity is not None and (opacity[0] / 100 if opacity[1] == "%" else opacity[0]) < _MIN_OPACITY:
        return ""
    first, second, third = numbers
    if kind.startswith("rgb"):
        red, green, blue = [value / 100 if unit == "%" else value / 255 for value, unit in numbers]
    elif kind.startswith("hsl"):
        red, green, blue = colorsys.hls_to_rgb(_turns(first), min(1.0, third[0] / 100), min(1.0, second[0] / 100))
    elif kind == "hwb":
        red, green, blue = _hwb_to_rgb(_turns(first), second[0] / 100, third[0] / 100)
    else:
        red, green, blue = _oklab_to_rgb(kind, first, second, third)
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, part))):02x}" for part in (red, green, blue))


def _number(text: str) -> _Number | None:
    if text == "none":
        return 0.0, ""
    match = _NUMBER.match(text)
    return (float(match[1]), match[2] or "") if match else None


def _turns(hue: _Number) -> float:
    value, unit = hue
    turns = value if unit == "turn" else value / (2 * math.pi) if unit == "rad" else value / 360
    return turns % 1.0


def _hwb_to_rgb(hue: float, white: float, black: float) -> tuple[float, float, float]:
    if white + black >= 1:
        grey = white / (white + black)
        return grey, grey, grey
    red, green, blue = (part * (1 - white - black) + white for part in colorsys.hls_to_rgb(hue, 0.5, 1.0))
    return red, green, blue


def _oklab_to_rgb(kind: str, first: _Number, second: _Number, third: _Number) -> tuple[float, float, float]:
    """OKLab through linear light to sRGB (CSS Color 4 §10)."""
    light = first[0] / 100 if first[1] == "%" else first[0]
    if kind == "oklch":
        chroma = second[0] / 100 * 0.4 if second[1] == "%" else second[0]
        angle = _turns(third) * 2 * math.pi
        a, b = chroma * math.cos(angle), chroma * math.sin(angle)
    else:
        a, b = (part[0] / 100 * 0.4 if part[1] == "%" else part[0] for part in (second, third))
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    red, green, blue = (_gamma(min(1.0, max(0.0, part))) for part in linear)
    return red, green, blue


def _gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else float(1.055 * part ** (1 / 2.4) - 0.055)


# Fonts

_SYSTEM_FONTS = frozenset({
    "system-ui", "-apple-system", "blinkmacsystemfont", "segoe ui", "segoe ui emoji", "segoe ui symbol", "arial",
    "helvetica", "helvetica neue", "sans-serif", "serif", "monospace", "cursive", "fantasy", "ui-sans-serif", "ui-serif",
    "ui-monospace", "ui-rounded", "emoji", "math", "times", "times new roman", "georgia", "verdana", "tahoma",
    "trebuchet ms", "courier", "courier new", "consolas", "menlo", "monaco", "sfmono-regular", "sf mono", "sf pro text",
    "sf pro display", "liberation sans", "liberation mono", "dejavu sans", "dejavu sans mono", "apple color emoji",
    "noto color emoji", "inherit", "initial", "unset", "revert", "lucida grande", "lucida sans", "lucida sans unicode",
    "lucida console", "palatino", "palatino linotype", "garamond", "impact", "comic sans ms", "ms sans serif",
    "microsoft yahei", "pingfang sc", "hiragino sans", "hiragino sans gb", "meiryo", "yu gothic", "ms pgothic", "simsun",
    "cantarell", "ubuntu mono", "geneva", "charter", "cambria", "calibri", "candara", "none",
})  # fmt: skip
_ICON_FONTS = re.compile(
    r"icon|awesome|glyph|symbols?(?:$| outlined| rounded| sharp)|dashicons|swiper|slick|fontello|icomoon|feather|codicon"
    r"|emoji|katex|mathjax|revicons|eleganticons|star(?:$| )|woocommerce|\bfa\b",
    re.IGNORECASE,
)
_FONT_SERVICES = frozenset({"fonts.googleapis.com", "fonts.bunny.net", "fonts.loli.net", "fonts.cdnfonts.com"})
_NEXT_FONT = re.compile(r"__([A-Za-z][A-Za-z0-9_]*?)(?:_(Fallback))?_(?:[0-9a-f]{6}|(?=[A-Za-z]*\d)[0-9A-Za-z]{5,10})$")
_HASH = re.compile(r"[-_](?=[0-9a-f]*\d)[0-9a-f]{6,}$")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FONT_NAME = re.compile(r"[^\W_][\w .'&+-]{0,60}$")


def font_name(raw: str) -> str:
    """The name of a font family without quotes and build hashes (`__Inter_abc123` → `Inter`); empty for system and icon
    fonts.
    """
    plain = " ".join(raw.strip().strip("'\"").replace("\\", "").split())
    if match := _NEXT_FONT.match(plain):
        if match[2]:
            return ""
        plain = match[1].replace("_", " ")
        if plain[:1].islower():
            plain = " ".join(word.capitalize() for word in _CAMEL_CASE.sub(" ", plain).split())
    plain = _HASH.sub("", plain)
    lowered = plain.lower()
    if lowered in _SYSTEM_FONTS or lowered.endswith("fallback") or _ICON_FONTS.search(plain) or "var(" in plain:
        return ""
    return plain if _FONT_NAME.match(plain) else ""


def first_font(families: str) -> str:
    """The first family of a `font-family` list if it is the site's own font; the others are fallbacks."""
    for family in families.split(",")[:4]:
        if name := font_name(family):
            return name
        if family.strip().strip("'\"").lower() not in {"inherit", "initial", ""} and not family.strip().startswith("__"):
            return ""
    return ""


def service_fonts(url: str) -> list[str]:
    """The families in the URL of a font service: `css?family=Open+Sans:400|Roboto`, `css2?family=Inter:wght@400`."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        pairs = parse_qsl(parts.query, max_num_fields=60)
    except ValueError:
        return []
    if parts.hostname not in _FONT_SERVICES:
        return []
    families = [family.partition(":")[0] for name, value in pairs if name == "family" for family in value.split("|")]
    spelled = [family.replace("-", " ").title() if family.islower() else family for family in families[:12]]
    return [name for family in spelled if (name := font_name(family))]

"""The names of fonts, as people know them: from links to font services, `@font-face`, and lists of families."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_SYSTEM = frozenset({
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
_ICONS = re.compile(
    r"icon|awesome|glyph|symbols?(?:$| outlined| rounded| sharp)|dashicons|swiper|slick|fontello|icomoon|feather|codicon"
    r"|emoji|katex|mathjax|revicons|eleganticons|star(?:$| )|woocommerce|\bfa\b",
    re.IGNORECASE,
)
_SERVICES = frozenset({"fonts.googleapis.com", "fonts.bunny.net", "fonts.loli.net", "fonts.cdnfonts.com"})
_NEXT = re.compile(r"__([A-Za-z][A-Za-z0-9_]*?)(?:_(Fallback))?_(?:[0-9a-f]{6}|(?=[A-Za-z]*\d)[0-9A-Za-z]{5,10})$")
_HASHED = re.compile(r"[-_](?=[0-9a-f]*\d)[0-9a-f]{6,}$")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SAFE = re.compile(r"[^\W_][\w .'&+-]{0,60}$")


def font_name(raw: str) -> str:
    """A family's name without quotes and build marks (`__Inter_abc123` → `Inter`); empty for what every system has."""
    plain = " ".join(raw.strip().strip("'\"").replace("\\", "").split())
    if found := _NEXT.match(plain):
        if found[2]:
            return ""
        plain = found[1].replace("_", " ")
        plain = plain if not plain[:1].islower() else " ".join(word.capitalize() for word in _HUMP.sub(" ", plain).split())
    plain = _HASHED.sub("", plain)
    lowered = plain.lower()
    if lowered in _SYSTEM or lowered.endswith(("fallback", " variable fallback")) or _ICONS.search(plain) or "var(" in plain:
        return ""
    return plain if _SAFE.match(plain) else ""


def first_font(families: str) -> str:
    """The first family of a list, if that is a font of the site's own: what follows it only stands in."""
    for family in families.split(",")[:4]:
        if name := font_name(family):
            return name
        if family.strip().strip("'\"").lower() not in {"inherit", "initial", ""} and not family.strip().startswith("__"):
            return ""
    return ""


def service_fonts(address: str) -> list[str]:
    """The families that a link to a font service asks for: `css?family=Open+Sans:400|Roboto`, `css2?family=Inter:wght@400`."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        pairs = parse_qsl(parts.query, max_num_fields=60)
    except ValueError:
        return []
    if parts.hostname not in _SERVICES:
        return []
    families = [one.partition(":")[0] for name, value in pairs if name == "family" for one in value.split("|")]
    spelled = [family.replace("-", " ").title() if family.islower() else family for family in families[:12]]
    return [name for family in spelled if (name := font_name(family))]

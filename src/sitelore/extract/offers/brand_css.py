"""What style sheets say of a brand: variables of the root, painted backgrounds, fonts. No cascade, one pass, bounded.

What holds only in the dark, on paper or for those who ask for contrast is left out: a brand is what most visitors see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sitelore.extract.offers.colours import colour_of

_FRAMES = re.compile(
    r"(?:wp--preset--color--|e-global-color-|bs-|mdc-theme-|md-sys-color-|md-|ifm-|chakra-|mantine-|tw-|vp-c-|sl-|ds-|colou?rs?-+|clr-|c-"
    r"|theme-|site-|global-|palette-|ui-|app-|base-)"
)
_SHADE = re.compile(r"(?:-+(?:colou?r|default|base|main|bg|filled|fg|hex|rgb|hsl|[1-9]00?|50|1))+$")
_PRIMARY = {"primary": 0, "brand-primary": 1, "primary-brand": 1, "brand": 2, "main": 3, "theme": 3, "accent": 4}
_SECONDARY = {"secondary": 0, "brand-secondary": 1, "secondary-brand": 1, "accent": 2, "tertiary": 3, "highlight": 4}
_MIDDLE = {"": 0, "default": 0, "base": 0, "main": 0, "500": 1, "600": 2, "1": 2, "400": 3, "700": 3}
_MAX_CHARS = 2_000_000
_MAX_RULES = 4000
_MAX_VARIABLES = 2000
_MAX_FACES = 60
_PAINTS = frozenset({"background", "background-color", "background-image"})
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_PIECE = re.compile(r"([^{};]*)([{};])")
_ROOT = re.compile(
    r"(?:html|body|:root|:host|:where\(:root\)|html:root|@theme\b.*|\.light|:root:not\(.*\)"
    r"|(?:html|:root|body)?\[data-(?:\w+-)?(?:theme|mode|color-scheme)=[\"']?(?:light|default)[\"']?\])$"
)
_ELSEWHERE = re.compile(
    r"prefers-color-scheme:\s*dark|\bprint\b|prefers-contrast|forced-colors|@keyframes|@supports not", re.IGNORECASE
)
_DARK = re.compile(r"\.dark\b|(?<!not\()\[data-[\w-]*=[\"']?dark|\.theme-dark|\.dark-mode")
_TEXT_PARTS = re.compile(r"(?:html|body|:root|h1|h2|h1,\s*h2.*|\*)$")
_VAR = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,([^()]*(?:\([^()]*\)[^()]*)*))?\)")
_GRADIENT = re.compile(r"(?:rgba?|hsla?|hwb|oklch|oklab)\([^()]*\)|#[0-9a-f]{3,8}\b", re.IGNORECASE)


@dataclass(slots=True)
class Sheets:
    """What was read from all style sheets of a page together."""

    variables: dict[str, str] = field(default_factory=dict)
    painted: list[tuple[str, str]] = field(default_factory=list)
    """Selector and background, in the order written."""
    faces: list[str] = field(default_factory=list)
    """Names that `@font-face` gives, in order."""
    fonts: dict[str, str] = field(default_factory=dict)
    """`font-family` by the element it is set for: `body`, `h1`."""
    imports: list[str] = field(default_factory=list)

    def colour(self, value: str) -> str:
        """The colour that a value comes to, with variables put in."""
        resolved = self.resolved(value)
        if colour := colour_of(resolved):
            return colour
        found = _GRADIENT.search(resolved)
        return colour_of(found[0]) if found else ""

    def resolved(self, value: str) -> str:
        """A value with its variables put in, as deep as they sensibly nest."""
        for _ in range(8):
            if "var(" not in value or len(value) > 2000:
                break
            value = _VAR.sub(lambda found: self.variables.get(found[1]) or (found[2] or "").strip(), value)
        return value


def read_sheets(texts: Iterable[str]) -> Sheets:
    """Read style sheets in the order a page has them."""
    sheets = Sheets()
    left = _MAX_CHARS
    for text in texts:
        _read(text[:left], sheets)
        left -= len(text)
        if left <= 0:
            break
    return sheets


def _read(text: str, sheets: Sheets) -> None:
    blocks: list[str] = []
    plain = _COMMENT.sub("", text) if "/*" in text else text
    for found in _PIECE.finditer(plain if plain.rstrip().endswith("}") else plain + "}"):
        piece, mark = found[1].strip(), found[2]
        if mark == "{":
            if len(blocks) < 12:
                blocks.append(piece)
            continue
        if piece:
            if blocks:
                _take(piece, blocks, sheets)
            elif piece.lower().startswith("@import") and len(sheets.imports) < _MAX_FACES:
                sheets.imports.append(piece)
        if mark == "}" and blocks:
            blocks.pop()


def _take(declaration: str, blocks: list[str], sheets: Sheets) -> None:
    name, colon, value = declaration.partition(":")
    name, value = name.strip(), value.replace("!important", "").strip()
    if not colon or not value or len(value) > 2000:
        return
    lowered, selector = name.lower(), blocks[-1]
    if lowered == "font-family":
        _take_font(value, selector, sheets)
    elif name.startswith("--"):
        if len(sheets.variables) < _MAX_VARIABLES and not _is_elsewhere(blocks) and _is_root(selector):
            sheets.variables[name] = value
    elif lowered in _PAINTS and len(sheets.painted) < _MAX_RULES and selector[:1] != "@" and not _is_elsewhere(blocks):
        sheets.painted.append((selector, value))


def _take_font(value: str, selector: str, sheets: Sheets) -> None:
    if selector.lower().startswith("@font-face"):
        if len(sheets.faces) < _MAX_FACES:
            sheets.faces.append(value)
        return
    for part in selector.split(",")[:20]:
        plain = part.strip().lower()
        if _TEXT_PARTS.match(plain):
            sheets.fonts.setdefault("h1" if plain.startswith("h") and plain != "html" else "body", value)


def _is_root(selector: str) -> bool:
    return any(_ROOT.match(part.strip().lower()) for part in selector.split(",")[:20])


def _is_elsewhere(blocks: list[str]) -> bool:
    return any(_ELSEWHERE.search(block) for block in blocks if block.startswith("@")) or _DARK.search(blocks[-1]) is not None


def ranked_variables(variables: dict[str, str]) -> list[str]:
    """Names of variables that name a brand's colours, the most telling first."""
    ranked = [(min(ranks), name) for name in variables if (ranks := ranks_of(name))]
    return [name for _, name in sorted(ranked)]


def ranks_of(name: str) -> list[tuple[int, int, int, str]]:
    """How well a variable's name says primary (0) or secondary (1): the word, the shade, the length."""
    plain = name.lower().lstrip("-")
    while found := _FRAMES.match(plain):
        plain = plain[found.end() :]
    word = _SHADE.sub("", plain)
    shade = plain[len(word) :].strip("-").rpartition("-")[2]
    place = _MIDDLE.get(shade, 4)
    ranks = []
    for role, words in enumerate((_PRIMARY, _SECONDARY)):
        if word in words:
            ranks.append((words[word], place, role, name))
    return ranks

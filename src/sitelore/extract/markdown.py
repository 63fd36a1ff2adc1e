"""A subtree as Markdown and as plain text: absolute links, no scripts in them, no characters that nobody can see."""

from __future__ import annotations

import re

import re2

from sitelore.extract import dom
from sitelore.extract.links import PageResolver
from sitelore.model.url import Url

_KEPT_SCHEMES = re.compile(
    r"(?:mailto:[^\s<>\"'()\\@]{1,200}@[^\s<>\"'()\\@]{1,300}|tel:[+\d().\s-]{3,30}|sms:[+\d().\s-]{3,30})$", re.IGNORECASE
)
_FRAGMENT = re.compile(r"[A-Za-z0-9._~!$&*+,;=:@/?%-]{1,200}$")
_LAZY_SOURCES = ("data-src", "data-lazy-src", "data-original")
# Zero-width, bidi and tag characters, variation selectors 17-256 and controls: text can hide in all of them.
_RANGES = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_UNSEEN = frozenset(chr(code) for low, high in _RANGES for code in range(low, high + 1))
_ANY_UNSEEN = re2.compile("".join(["[", *(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in _RANGES), "]"]).encode())
_JOINERS = frozenset("\u200c\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_ALL_BUT_JOINERS = dict.fromkeys(map(ord, _UNSEEN - _JOINERS))
_FEW = 16


def visible(text: str) -> str:
    """Text without the characters that show nothing."""
    return without(text, unseen(text, text.encode("utf-8", "replace")))


def unseen(text: str, utf8: bytes) -> frozenset[str]:
    """The characters of a text that show nothing. `utf8` is the same text encoded."""
    return _UNSEEN & set(text) if _ANY_UNSEEN.search(utf8) is not None else frozenset()


def without(text: str, chars: frozenset[str]) -> str:
    """Text without these characters. Joiners stay where they shape Persian, Indic scripts or emoji: not next to ASCII."""
    if len(chars) > _FEW:
        text = text.translate(_ALL_BUT_JOINERS)
    else:
        for char in chars - _JOINERS:
            text = text.replace(char, "")
    return _JOINER.sub(_kept_joiner, text) if chars & _JOINERS else text


def _kept_joiner(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    shapes = 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()
    return found[0] if shapes else ""


def write_markdown(nodes: tuple[dom.Node, ...], resolver: PageResolver) -> str:
    """The Markdown of the chosen subtrees. Changes their links and images in place."""
    parts = []
    for node in nodes:
        _settle_links(node, resolver)
        parts.append(dom.to_markdown(node))
    return "\n\n".join(parts).strip()


def write_text(nodes: tuple[dom.Node, ...]) -> str:
    """The plain text of the chosen subtrees, one line a block."""
    lines = [" ".join(line.split()) for node in nodes for line in dom.to_text(node).split("\n")]
    return "\n".join(filter(None, lines))


def _settle_links(node: dom.Node, resolver: PageResolver) -> None:
    for element in dom.elements_list(node, "a", "img"):
        if element.tag == "img":
            _settle_image(element, resolver)
            continue
        href = element.attr("href")
        if href is None:
            continue
        target = _target(href.strip(), resolver)
        if not target:
            dom.drop_attribute(element, "href")
        elif target != href:
            dom.set_attribute(element, "href", target)


def _settle_image(element: dom.Element, resolver: PageResolver) -> None:
    for name in ("src", *_LAZY_SOURCES):
        raw = dom.attribute(element, name).strip()
        url = resolver.resolve(raw) if raw and not raw.startswith("data:") else None
        if url is not None:
            target = _plain(url)
            if name != "src" or target != raw:
                dom.set_attribute(element, "src", target)
            return
    dom.drop(element)


def _target(raw: str, resolver: PageResolver) -> str:
    """The absolute, harmless form of a link, empty for one that leads nowhere a reader may go."""
    if not raw:
        return ""
    url = resolver.resolve(raw)
    if url is None:
        return raw if _KEPT_SCHEMES.match(raw) else ""
    hash_at = raw.find("#")
    if hash_at >= 0 and _FRAGMENT.match(raw, hash_at + 1):
        return _plain(url) + raw[hash_at:]
    return _plain(url)


def _plain(url: Url) -> str:
    """A URL that Markdown cannot misread: parentheses, quotes and angle brackets escaped."""
    if "(" not in url and ")" not in url and "'" not in url and "\\" not in url:
        return str(url)
    return url.replace("(", "%28").replace(")", "%29").replace("'", "%27").replace("\\", "%5C")

"""A subtree as Markdown and as plain text: absolute links, no scripts in them, no characters that nobody can see."""

from __future__ import annotations

import re

import re2

from sitelore.extract import dom
from sitelore.extract.links import PageResolver
from sitelore.model.url import Url

_KEPT_SCHEMES = re.compile(
    r"(?:mailto:[^\s<>\"'()\\]+@[^\s<>\"'()\\]+|tel:[+\d().\s-]{3,30}|sms:[+\d().\s-]{3,30})$", re.IGNORECASE
)
_FRAGMENT = re.compile(r"[A-Za-z0-9._~!$&*+,;=:@/?%-]{1,200}$")
_LAZY_SOURCES = ("data-src", "data-lazy-src", "data-original")
# Zero-width, bidi and tag characters, variation selectors 17-256 and controls: text can hide in all of them.
_UNSEEN = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ANY_UNSEEN = re2.compile(re.sub(r"\\[uU]([0-9a-f]+)", r"\\x{\1}", rf"[{_UNSEEN}\u200c\u200d]").encode())
_JOINERS = frozenset("\u200c\u200d")
_JOINER = re.compile("[\u200c\u200d]")


def visible(text: str) -> str:
    """Text without the characters that show nothing."""
    return without(text, unseen(text.encode("utf-8", "replace")))


def unseen(utf8: bytes) -> frozenset[str]:
    """The characters of a text that show nothing."""
    if _ANY_UNSEEN.search(utf8) is None:
        return frozenset()
    return frozenset(found.decode() for found in set(_ANY_UNSEEN.findall(utf8)))


def without(text: str, chars: frozenset[str]) -> str:
    """Text without these characters. Joiners stay where they shape Persian, Indic scripts or emoji: not next to ASCII."""
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

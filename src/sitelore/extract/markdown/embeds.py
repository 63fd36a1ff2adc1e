"""Embedded content: players, maps and frames become links, task boxes become text, `noscript` images take their place.

All of it has to run before hidden elements are dropped: frames, players, form controls and `noscript` are among them.
"""

from __future__ import annotations

import re

from sitelore.extract import dom
from sitelore.extract.markdown import images
from sitelore.extract.markdown.images import Attributed

_PLAYERS = {"iframe": "Embed", "video": "Video", "audio": "Audio", "object": "Embed", "embed": "Embed"}
_SOURCES = ("src", "data-src", "data-lazy-src", "data-url", "data")
_NO_ADDRESS = re.compile(r"\s*(?:$|#|(?:about|javascript|data|blob|file|chrome|vbscript):)", re.IGNORECASE)
_VIDEO_HOSTS = re.compile(
    r"//(?:[\w-]+\.)*(?:youtube(?:-nocookie)?\.com|youtu\.be|vimeo\.com|dailymotion\.com|wistia\.(?:com|net))/"
)
_MAP_HOSTS = re.compile(r"//(?:maps\.google\.|(?:www\.)?google\.[a-z.]+/maps|(?:www\.)?openstreetmap\.org/)")
# Frames of advertisements, trackers, captchas and sign-in widgets.
_MACHINERY = re.compile(
    r"googletagmanager|doubleclick|googlesyndication|/recaptcha/|hcaptcha|adservice|/ads?/|amazon-adsystem"
    r"|facebook\.com/(?:plugins|tr)|platform\.twitter\.com/widgets|accounts\.google"
)
_MAX_EMBEDS = 500
_MAX_NOSCRIPT_CHARS = 200


def rescue_embeds(tree: dom.Tree) -> None:
    """Replace embedded content by links. Their addresses are resolved later, with those of all links."""
    for tag in _PLAYERS:
        for element in dom.select(tree, tag)[:_MAX_EMBEDS]:
            # Elements inside a player are a fallback for browsers without it.
            is_within = dom.has_ancestor(element, "object,video,audio")
            if not is_within and (embedded := link_to(element, _addresses_within(element))) is not None:
                source, name = embedded
                link = dom.made("a", {"href": source}, dom.words(name))
                element.replace_with(dom.made("div", None, link))


def link_to(player: Attributed, within: list[str]) -> tuple[str, str] | None:
    """Return the address and the name of what a player shows; None when it is blank, an advertisement or a tracker.

    `within`: addresses of the elements inside it.
    """
    usable = (source for source in [*[player.attr(name) or "" for name in _SOURCES], *within] if not _NO_ADDRESS.match(source))
    source = next(usable, "")
    if not source or _MACHINERY.search(source) or images.is_pixel(player):
        return None
    title = player.attr("title") or player.attr("aria-label") or ""
    return source.strip(), " ".join(title.split()) or _kind(source) or _PLAYERS[player.tag]


def _addresses_within(player: dom.Element) -> list[str]:
    if player.tag in {"video", "audio"}:
        return [dom.attribute(source, "src") for source in dom.elements_list(player, "source")]
    if player.tag != "object":
        return []
    moving = [inner for inner in dom.elements_list(player, "param") if dom.attribute(inner, "name").lower() in {"movie", "src"}]
    embedded = [dom.attribute(inner, "src") for inner in dom.elements_list(player, "embed")]
    return embedded + [dom.attribute(inner, "value") for inner in moving]


def _kind(source: str) -> str:
    if _VIDEO_HOSTS.search(source):
        return "Video"
    return "Map" if _MAP_HOSTS.search(source) else ""


def rescue_task_boxes(tree: dom.Tree) -> None:
    """Replace the check boxes that list items start with by `[x]` and `[ ]`. Boxes of a form are questions, not tasks."""
    for box in dom.select(tree, "input[type=checkbox i]"):
        item = box.closest("li")
        if item is None or (box.closest("form") is not None and not dom.has_attribute(box, "disabled")):
            continue
        first = next((each for each in item.descendants if each == box or not _shows_nothing(each)), None)
        if first == box:
            mark = "[x]" if dom.has_attribute(box, "checked") else "[ ]"
            after = dom.as_text(box.next_sibling)
            gap = [] if after is not None and after.data[:1].isspace() else [dom.words(" ")]
            box.replace_with(dom.verbatim(mark, dom.words(mark)), *gap)


def _shows_nothing(node: dom.AnyNode) -> bool:
    """Whether a node is neither text nor a box: a wrapper element, a comment, or white space."""
    element = dom.as_element(node)
    return element.tag not in {"input", "img"} if element is not None else dom.is_blank(node)


def rescue_images(tree: dom.Tree) -> None:
    """Use the images of `noscript` elements for the empty ones that a script would fill."""
    for spare in dom.select(tree, "noscript")[:_MAX_EMBEDS]:
        image = spare.find("img")
        if image is None or images.is_pixel(image) or len(spare.text.strip()) > _MAX_NOSCRIPT_CHARS:
            continue
        source = images.source_of(image)
        if not source:
            continue
        empty = _image_before(spare)
        if empty is None:
            spare.insert_before(image.extract())
            continue
        if not images.source_of(empty):
            dom.set_attribute(empty, "src", source)
            if not dom.attribute(empty, "alt"):
                dom.set_attribute(empty, "alt", dom.attribute(image, "alt"))
        dom.drop(image)


def _image_before(spare: dom.Element) -> dom.Element | None:
    """Return the image that a `noscript` stands in for: its neighbour on the left, or the last image inside that."""
    before = spare.previous_sibling
    while before is not None and dom.is_blank(before):
        before = before.previous_sibling
    element = dom.as_element(before)
    if element is None or element.tag == "img":
        return element
    inner = dom.elements_list(element, "img")
    return inner[-1] if inner else None

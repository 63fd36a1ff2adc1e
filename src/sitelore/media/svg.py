"""Removes from SVG images everything that can run, load or link: scripts, handlers, foreign content, external references.

What is not known to be harmless is removed. The result is shown only as an image, and delivered with a policy that forbids
scripts; this is a second lock for copies of the file that are opened elsewhere.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_XML = "http://www.w3.org/XML/1998/namespace"
_ELEMENTS = frozenset(
    {
        "svg", "g", "defs", "symbol", "use", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline",
        "polygon", "text", "tspan", "textPath", "image", "style", "linearGradient", "radialGradient", "stop", "pattern",
        "clipPath", "mask", "marker", "filter", "switch", "view", "feBlend", "feColorMatrix", "feComponentTransfer",
        "feComposite", "feConvolveMatrix", "feDiffuseLighting", "feDisplacementMap", "feDistantLight", "feDropShadow",
        "feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feMerge", "feMergeNode", "feMorphology",
        "feOffset", "fePointLight", "feSpecularLighting", "feSpotLight", "feTile", "feTurbulence",
    }
)  # fmt: skip
_INLINE_IMAGE = re.compile(r"\s*data:image/(?:png|jpeg|gif|webp);base64,", re.IGNORECASE)
_EXTERNAL = re.compile(r"url\(\s*[\"']?\s*(?!#)|@import|expression\s*\(|javascript:|-moz-binding|\\", re.IGNORECASE)
_DECLARED = re.compile(rb"<!\s*ENTITY|<!DOCTYPE[^>\[]*\[", re.IGNORECASE)
_MAX_DEPTH = 200


class NotSvg(Exception):
    """The file is not an SVG image that can be made harmless."""


def sanitise_svg(data: bytes) -> bytes:
    """The image without everything that is not known to be harmless. Raises `NotSvg`."""
    if _DECLARED.search(data):
        raise NotSvg("it declares entities")
    try:
        root = ET.fromstring(data)  # noqa: S314 entities are refused before, and the process has limits
    except (ET.ParseError, ValueError, LookupError) as error:
        raise NotSvg(f"it is not valid XML: {error}") from error
    if _local_name(root) != "svg":
        raise NotSvg("its root is not svg")
    _clean(root, 0)
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    clean: bytes = ET.tostring(root, encoding="utf-8")
    return clean


def svg_size(data: bytes) -> tuple[int | None, int | None]:
    """Width and height in pixels, from the attributes or the view box."""
    try:
        root = ET.fromstring(data)  # noqa: S314 as above
    except (ET.ParseError, ValueError, LookupError):
        return None, None
    box = [_pixels(part) for part in re.split(r"[\s,]+", root.get("viewBox", "").strip())]
    sizes = box[2:] if len(box) == 4 else [None, None]
    return _pixels(root.get("width", "")) or sizes[0], _pixels(root.get("height", "")) or sizes[1]


def _pixels(text: str) -> int | None:
    match = re.fullmatch(r"(\d{1,5})(?:\.\d*)?(?:px)?", text.strip())
    return int(match[1]) or None if match else None


def _local_name(element: ET.Element) -> str:
    """The name of an SVG element; empty for elements of other namespaces, comments and instructions."""
    tag: object = element.tag
    if not isinstance(tag, str):
        return ""
    namespace, _, name = tag[1:].partition("}") if tag.startswith("{") else (_SVG, "", tag)
    return name if namespace == _SVG else ""


def _clean(element: ET.Element, depth: int) -> None:
    for name in list(element.attrib):
        if not _is_harmless(name, element.attrib[name]):
            del element.attrib[name]
    if _local_name(element) == "style" and _EXTERNAL.search(element.text or ""):
        element.text = ""
    for child in list(element):
        if depth >= _MAX_DEPTH or _local_name(child) not in _ELEMENTS:
            _drop(element, child)
        else:
            _clean(child, depth + 1)


def _drop(parent: ET.Element, child: ET.Element) -> None:
    """Remove a child, and keep the text after it."""
    at = list(parent).index(child)
    tail = child.tail or ""
    if at:
        before = parent[at - 1]
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(child)


def _is_harmless(name: str, value: str) -> bool:
    namespace, _, local = name[1:].partition("}") if name.startswith("{") else ("", "", name)
    if namespace not in {"", _XLINK, _XML} or local.lower().startswith("on"):
        return False
    if local.lower() in {"href", "src"}:
        return value.strip().startswith("#") or _INLINE_IMAGE.match(value) is not None
    if local.lower() in {"base", "attributename", "to", "values", "from", "by"}:
        return False
    return not _EXTERNAL.search(value)

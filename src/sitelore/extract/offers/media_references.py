"""The pictures, films, sounds and files a page shows or links to, each once, with what the page says of it.

Nothing is fetched. What cannot be seen (tracking pixels) and what has no address (`data:`) is left out.
"""

from __future__ import annotations

import re
from typing import Any

from sitelore.extract import dom
from sitelore.extract.markdown import images
from sitelore.extract.metadata.links import PageLinks, PageResolver
from sitelore.extract.offers.form_fields import one_line
from sitelore.model.url import Url

Media = dict[str, Any]

_DOCUMENTS = (
    "pdf", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "ppt", "pptx", "odp", "epub", "zip", "txt", "tex",
    "djvu", "ics",
)  # fmt: skip
_SOUNDS = ("mp3", "wav", "ogg", "oga", "m4a", "flac", "opus", "aac")
_FILMS = ("mp4", "webm", "mov", "m4v", "ogv", "avi", "mkv", "m3u8")
_KIND = {**dict.fromkeys(_DOCUMENTS, "document"), **dict.fromkeys(_SOUNDS, "audio"), **dict.fromkeys(_FILMS, "video")}
_FILE = re.compile(rf"\.({'|'.join(_KIND)})(?=$|[?;])", re.IGNORECASE)
_PLAYERS = (
    ("youtube", re.compile(r"//(?:www\.|m\.)?(?:youtube(?:-nocookie)?\.com/(?:embed/|v/|watch\?v=)|youtu\.be/)([\w-]{6,20})")),
    ("vimeo", re.compile(r"//(?:player\.)?vimeo\.com/(?:video/)?(\d{5,15})")),
    ("dailymotion", re.compile(r"//(?:www\.|geo\.)?dailymotion\.com/(?:embed/video/|video/|player\.html\?video=)(\w{5,20})")),
    ("wistia", re.compile(r"//fast\.wistia\.(?:net|com)/embed/(?:iframe|medias)/(\w{6,20})")),
    ("loom", re.compile(r"//(?:www\.)?loom\.com/embed/(\w{10,40})")),
)
_SOUND_PLAYERS = re.compile(r"//(?:w\.soundcloud\.com/player|open\.spotify\.com/embed|embed\.podcasts\.apple\.com)")
_BACKGROUND = re.compile(r"background(?:-image)?\s*:[^;]*?url\(\s*[\"']?([^\"')\s]{1,2000})", re.IGNORECASE)
_SIZE = re.compile(r"\s*(\d{1,5})(?:\.\d+)?(?:px)?\s*$")
_PLAIN = re.compile(
    r"(?:(https?://[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,})|(?!//))/[A-Za-z0-9_./~-]*(?:\?[A-Za-z0-9_=&.,-]+)?$"
)
_MAX_ELEMENTS = 400
_MAX_MEDIA = 300
_LONGEST_END = 1 + max(map(len, _KIND))


def read_media(tree: dom.Tree, styled: list[dom.Element], links: PageLinks, resolver: PageResolver) -> tuple[Media, ...]:
    """The media of a page: pictures, players, then linked files, each in page order. `styled` may have backgrounds."""
    found: dict[str, Media] = {}
    _take_images(tree, resolver, found)
    for element in styled[:_MAX_ELEMENTS]:
        style = element.attr("style")
        if style and (background := _BACKGROUND.search(style)) and (url := _resolved(background[1], resolver)):
            found.setdefault(url, {"type": "image", "url": url, "role": "background"})
    for tag in ("video", "audio"):
        for player in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            _take_player(player, resolver, found)
    for tag in ("iframe", "embed", "object"):
        for frame in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            _take_frame(frame, resolver, found)
    _take_files(links, found)
    return tuple(found.values())[:_MAX_MEDIA] if found else ()


def _take_images(tree: dom.Tree, resolver: PageResolver, found: dict[str, Media]) -> None:
    pictures = dom.select(tree, "img")[:_MAX_ELEMENTS]
    if not pictures:
        return
    has_figures, origin = bool(dom.select(tree, "figure")), Url.trusted(resolver.base).origin
    for image in pictures:
        source = images.source_of(image)
        if not source:
            continue
        if _is_plain(source):
            url = source if source[0] != "/" else origin + source
        elif not (url := str(resolver.target(source).url or "")):
            continue
        known = found.get(url)
        if known is None:
            if images.is_pixel(image):
                continue
            known = found[url] = {"type": "image", "url": url}
            _add_size(image, known)
        if "alt" not in known and (said := image.attr("alt")) and (alt := one_line(said)):
            known["alt"] = alt
        if has_figures and "caption" not in known and (caption := _caption(image)):
            known["caption"] = caption


def _take_player(player: dom.Element, resolver: PageResolver, found: dict[str, Media]) -> None:
    sources = dom.elements_list(player, "source")
    raws = [
        player.attr("src") or player.attr("data-src") or "",
        *(one.attr("src") or one.attr("data-src") or "" for one in sources[:8]),
    ]
    urls = list(dict.fromkeys(url for raw in raws if raw and (url := _resolved(raw, resolver))))
    if not urls:
        return
    media: Media = {"type": player.tag, "url": urls[0]}
    if urls[1:]:
        media["also"] = urls[1:]
    if (poster := player.attr("poster")) and (url := _resolved(poster, resolver)):
        media["poster"] = url
    if kind := one_line((sources[0].attr("type") if sources else player.attr("type")) or ""):
        media["media_type"] = kind
    tracks = [
        {"url": url, "kind": one_line(track.attr("kind") or "subtitles"), "lang": one_line(track.attr("srclang") or "")}
        for track in dom.elements_list(player, "track")[:16]
        if (url := _resolved(track.attr("src") or "", resolver))
    ]
    if tracks:
        media["tracks"] = tracks
    _add_name(player, media)
    found.setdefault(urls[0], media)


def _take_frame(frame: dom.Element, resolver: PageResolver, found: dict[str, Media]) -> None:
    raw = frame.attr("src") or frame.attr("data-src") or frame.attr("data-lazy-src") or frame.attr("data") or ""
    if not raw or not (url := _resolved(raw, resolver)):
        return
    media: Media | None = None
    for provider, pattern in _PLAYERS:
        if player := pattern.search(url):
            media = {"type": "video", "url": url, "provider": provider, "id": player[1]}
    if media is None and _SOUND_PLAYERS.search(url):
        media = {"type": "audio", "url": url}
    if media is None and (file := _FILE.search(url)):
        media = {"type": _KIND[file[1].lower()], "url": url, "format": file[1].lower()}
    if media is not None:
        _add_name(frame, media)
        found.setdefault(url, media)


def _take_files(links: PageLinks, found: dict[str, Media]) -> None:
    """Links to files, by the ends of their paths."""
    urls = links.urls
    for at in [at for at, url in enumerate(urls) if "." in url[-_LONGEST_END:] or "?" in url]:
        url = urls[at]
        path = url.partition("?")[0]
        extension = path[path.rfind(".") + 1 :].lower()
        if extension not in _KIND or path.count("/") < 3:
            continue
        media: Media = {"type": _KIND[extension], "url": str(url), "format": extension}
        if at < len(links.texts) and links.texts[at]:
            media["title"] = links.texts[at]
        if at < len(links.elements) and (said := links.elements[at].attr("type")):
            media["media_type"] = one_line(said)
        found.setdefault(str(url), media)


def _resolved(raw: str, resolver: PageResolver) -> str:
    if _is_plain(raw):
        return raw if raw[0] != "/" else Url.trusted(resolver.base).origin + raw
    return str(resolver.target(raw).url or "")


def _is_plain(raw: str) -> bool:
    """Most addresses of pictures are in their final form already; parsing takes ten times as long as seeing that."""
    return _PLAIN.match(raw) is not None and "/." not in raw


def _add_size(element: dom.Element, media: Media) -> None:
    for name in ("width", "height"):
        if raw := element.attr(name):
            size = raw if raw.isdecimal() and raw.isascii() and len(raw) < 6 else _pixels(raw)
            if size and (number := int(size)):
                media[name] = number


def _pixels(raw: str) -> str:
    found = _SIZE.match(raw)
    return found[1] if found else ""


def _add_name(element: dom.Element, media: Media) -> None:
    _add_size(element, media)
    if title := one_line(element.attr("title") or element.attr("aria-label") or ""):
        media["title"] = title
    if caption := _caption(element):
        media["caption"] = caption


def _caption(element: dom.Element) -> str:
    figure = element.closest("figure")
    caption = dom.first(figure, "figcaption") if figure is not None else None
    return one_line(caption.text) if caption is not None else ""

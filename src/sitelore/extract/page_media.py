"""Images, videos, sounds and files that a page shows or links to, each once, with what the page says about it.

Nothing is fetched. Tracking pixels and media without a URL (`data:`) are left out.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import zstandard

from sitelore.extract import dom
from sitelore.extract.about.links import Found, PageResolver
from sitelore.extract.interactive.forms import short_line
from sitelore.extract.markdown import images
from sitelore.extract.redact import sealed
from sitelore.model.document import Blob, Reading
from sitelore.model.ids import BlobKey
from sitelore.model.url import Url

Media = dict[str, Any]

_EXTENSIONS = {
    "document": (
        "pdf", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "ppt", "pptx", "odp", "epub", "zip", "txt", "tex",
        "djvu", "ics",
    ),
    "audio": ("mp3", "wav", "ogg", "oga", "m4a", "flac", "opus", "aac"),
    "video": ("mp4", "webm", "mov", "m4v", "ogv", "avi", "mkv", "m3u8"),
}  # fmt: skip
_TYPE_BY_EXTENSION = {extension: kind for kind, extensions in _EXTENSIONS.items() for extension in extensions}
_MAX_EXTENSION_CHARS = 1 + max(map(len, _TYPE_BY_EXTENSION))
_FILE = re.compile(rf"\.({'|'.join(_TYPE_BY_EXTENSION)})(?=$|[?;])", re.IGNORECASE)
_PLAYERS = (
    ("youtube", re.compile(r"//(?:www\.|m\.)?(?:youtube(?:-nocookie)?\.com/(?:embed/|v/|watch\?v=)|youtu\.be/)([\w-]{6,20})")),
    ("vimeo", re.compile(r"//(?:player\.)?vimeo\.com/(?:video/)?(\d{5,15})")),
    ("dailymotion", re.compile(r"//(?:www\.|geo\.)?dailymotion\.com/(?:embed/video/|video/|player\.html\?video=)(\w{5,20})")),
    ("wistia", re.compile(r"//fast\.wistia\.(?:net|com)/embed/(?:iframe|medias)/(\w{6,20})")),
    ("loom", re.compile(r"//(?:www\.)?loom\.com/embed/(\w{10,40})")),
)
_AUDIO_PLAYERS = re.compile(r"//(?:w\.soundcloud\.com/player|open\.spotify\.com/embed|embed\.podcasts\.apple\.com)")
_BACKGROUND = re.compile(r"background(?:-image)?\s*:[^;]*?url\(\s*[\"']?([^\"')\s]{1,2000})", re.IGNORECASE)
_PIXELS = re.compile(r"\s*(\d{1,5})(?:\.\d+)?(?:px)?\s*$")
_NORMAL_URL = re.compile(
    r"(?:(https?://[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,})|(?!//))/[A-Za-z0-9_./~-]*(?:\?[A-Za-z0-9_=&.,-]+)?$"
)
"""URLs in their final form already, as most of images are: parsing them takes ten times as long as this match."""
_MAX_ELEMENTS = 400
_MAX_MEDIA = 300
_COMPRESSOR = zstandard.ZstdCompressor(level=1)


def read_media(tree: dom.Tree, styled: list[dom.Element], links: Found, resolver: PageResolver) -> tuple[Media, ...]:
    """The media of a page: images, players, then linked files, each in page order. `styled` may have background images."""
    reader = _MediaReader(resolver)
    reader.add_images(tree)
    for element in styled[:_MAX_ELEMENTS]:
        style = element.attr("style")
        if style and (background := _BACKGROUND.search(style)) and (url := reader.resolved(background[1])):
            reader.media.setdefault(url, {"type": "image", "url": url, "role": "background"})
    for tag in ("video", "audio"):
        for player in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            reader.add_player(player)
    for tag in ("iframe", "embed", "object"):
        for frame in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            reader.add_frame(frame)
    reader.add_files(links)
    return tuple(reader.media.values())[:_MAX_MEDIA]


class _MediaReader:
    """Collects the media of one page by their URLs."""

    __slots__ = ("_origin", "_resolver", "media")

    def __init__(self, resolver: PageResolver) -> None:
        self._resolver = resolver
        self._origin = Url.trusted(resolver.base).origin
        self.media: dict[str, Media] = {}

    def resolved(self, raw: str) -> str:
        if _NORMAL_URL.match(raw) and "/." not in raw:
            return raw if raw[0] != "/" else self._origin + raw
        return str(self._resolver.target(raw).url or "")

    def add_images(self, tree: dom.Tree) -> None:
        elements = dom.select(tree, "img")[:_MAX_ELEMENTS]
        has_figures = bool(elements and dom.select(tree, "figure"))
        media, resolved = self.media, self.resolved
        for element in elements:
            source = images.source_of(element)
            if not source or not (url := resolved(source)):
                continue
            image = media.get(url)
            if image is None:
                if images.is_pixel(element):
                    continue
                image = media[url] = {"type": "image", "url": url}
                _add_size(element, image)
            if "alt" not in image and (raw := element.attr("alt")) and (alt := short_line(raw)):
                image["alt"] = alt
            if has_figures and "caption" not in image and (caption := _caption(element)):
                image["caption"] = caption

    def add_player(self, player: dom.Element) -> None:
        """Add a `video` or `audio` element with its sources and tracks."""
        sources = dom.elements_list(player, "source")
        raws = [element.attr("src") or element.attr("data-src") for element in (player, *sources[:8])]
        urls = list(dict.fromkeys(url for raw in raws if raw and (url := self.resolved(raw))))
        if not urls:
            return
        media: Media = {"type": player.tag, "url": urls[0]}
        if urls[1:]:
            media["also"] = urls[1:]
        if (poster := player.attr("poster")) and (url := self.resolved(poster)):
            media["poster"] = url
        if media_type := short_line((sources[0] if sources else player).attr("type") or ""):
            media["media_type"] = media_type
        tracks = [
            {"url": url, "kind": short_line(track.attr("kind") or "subtitles"), "lang": short_line(track.attr("srclang") or "")}
            for track in dom.elements_list(player, "track")[:16]
            if (url := self.resolved(track.attr("src") or ""))
        ]
        if tracks:
            media["tracks"] = tracks
        _add_name(player, media)
        self.media.setdefault(urls[0], media)

    def add_frame(self, frame: dom.Element) -> None:
        """Add a frame that holds a known player or a media file."""
        raw = frame.attr("src") or frame.attr("data-src") or frame.attr("data-lazy-src") or frame.attr("data") or ""
        if not raw or not (url := self.resolved(raw)):
            return
        media: Media | None = None
        for provider, pattern in _PLAYERS:
            if player := pattern.search(url):
                media = {"type": "video", "url": url, "provider": provider, "id": player[1]}
        if media is None and _AUDIO_PLAYERS.search(url):
            media = {"type": "audio", "url": url}
        if media is None and (file := _FILE.search(url)):
            extension = file[1].lower()
            media = {"type": _TYPE_BY_EXTENSION[extension], "url": url, "format": extension}
        if media is not None:
            _add_name(frame, media)
            self.media.setdefault(url, media)

    def add_files(self, links: Found) -> None:
        """Add links to files, which are known by the extension of their path."""
        urls = links.urls
        for index in [at for at, url in enumerate(urls) if "." in url[-_MAX_EXTENSION_CHARS:] or "?" in url]:
            url = urls[index]
            path = url.partition("?")[0]
            extension = path[path.rfind(".") + 1 :].lower()
            if extension not in _TYPE_BY_EXTENSION or path.count("/") < 3:
                continue
            media: Media = {"type": _TYPE_BY_EXTENSION[extension], "url": str(url), "format": extension}
            if index < len(links.texts) and links.texts[index]:
                media["title"] = links.texts[index]
            if index < len(links.elements) and (media_type := links.elements[index].attr("type")):
                media["media_type"] = short_line(media_type)
            self.media.setdefault(str(url), media)


def _add_size(element: dom.Element, media: Media) -> None:
    for name in ("width", "height"):
        if (raw := element.attr(name)) and (pixels := _pixels(raw)):
            media[name] = pixels


def _pixels(raw: str) -> int:
    if raw.isdecimal() and len(raw) < 6:
        return int(raw)
    match = _PIXELS.match(raw)
    return int(match[1]) if match else 0


def _add_name(element: dom.Element, media: Media) -> None:
    _add_size(element, media)
    if title := short_line(element.attr("title") or element.attr("aria-label") or ""):
        media["title"] = title
    if caption := _caption(element):
        media["caption"] = caption


def _caption(element: dom.Element) -> str:
    figure = element.closest("figure")
    caption = dom.first(figure, "figcaption") if figure is not None else None
    return short_line(caption.text) if caption is not None else ""


def screenshot_blob(jpeg: bytes, reading: Reading) -> Blob | None:
    """A screenshot as a blob, None if the page shows a secret (pixels cannot be redacted) or forbids archiving."""
    if not jpeg or reading.redactions or reading.noarchive:
        return None
    return Blob(BlobKey(hashlib.sha256(jpeg).hexdigest()), sealed(_COMPRESSOR.compress(jpeg)))

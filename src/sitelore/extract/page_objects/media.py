"""Reads the media of a page (images, videos, sounds, files), and finds the URL of each where `src` does not hold it.

Lazy loaders, `srcset` and `picture` keep the address of an image in other attributes than `src`. Before hidden elements are
dropped from a tree, players, maps and frames become links, and `noscript` images take the place of the empty ones that a script
would fill. Nothing is fetched. Tracking pixels and media without a URL (`data:`) are left out of the list.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any

from sitelore.extract import dom
from sitelore.extract.links import PageLinks, PageResolver
from sitelore.extract.text import short_line
from sitelore.model.url import Url

# Images and embedded content in Markdown

_LAZY = ("data-src", "data-lazy-src", "data-original")
_RARELY_LAZY = ("data-lazy", "data-original-src", "data-full-src", "data-hi-res-src", "data-img-src", "data-image")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
_PLACEHOLDER = re.compile(
    r"(?:^|[/_.-])(?:blank|spacer|pixel|placeholder|transparent|loading|loader|lazy|lazyload|1x1|clear|dot|grey|gray)"
    r"(?:[._-][^/]*)?\.(?:gif|png|svg|jpe?g|webp)(?:$|\?)",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(r"\s*,*\s*(\S*[^\s,])(?:\s+([\d.]{1,12})[wxh])?[^,]*(?:,|$)")
_NO_ADDRESS = ("data:", "javascript:", "blob:", "about:", "vbscript:")
_NO_SIZE = frozenset({"0", "1", "0px", "1px"})
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MAX_SET_CHARS = 20_000
_PLAYERS = {"iframe": "Embed", "video": "Video", "audio": "Audio", "object": "Embed", "embed": "Embed"}
_SOURCES = ("src", "data-src", "data-lazy-src", "data-url", "data")
_NO_PLAYER_ADDRESS = re.compile(r"\s*(?:$|#|(?:about|javascript|data|blob|file|chrome|vbscript):)", re.IGNORECASE)
_VIDEO_HOSTS = re.compile(
    r"//(?:[\w-]+\.)*(?:youtube(?:-nocookie)?\.com|youtu\.be|vimeo\.com|dailymotion\.com|wistia\.(?:com|net))/"
)
_MAP_HOSTS = re.compile(r"//(?:maps\.google\.|(?:www\.)?google\.[a-z.]+/maps|(?:www\.)?openstreetmap\.org/)")
# Frames of advertisements, trackers, captchas and sign-in widgets.
_MACHINERY = re.compile(
    r"googletagmanager|doubleclick|googlesyndication|/recaptcha/|hcaptcha|adservice|/ads?/|amazon-adsystem"
    r"|facebook\.com/(?:plugins|tr\b)|platform\.twitter\.com/widgets|accounts\.google"
)
_TRACKERS = re.compile(
    r"//(?:[\w-]+\.)*(?:scorecardresearch\.com|doubleclick\.net|google-analytics\.com|bat\.bing\.com|ads\.linkedin\.com"
    r"|quantserve\.com|pixel\.wp\.com|analytics\.twitter\.com|ct\.pinterest\.com|facebook\.com/tr\b)"
)
_SITE_ALTS = frozenset({"logo", "site logo", "company logo"})
"""Texts of images that stand for the site."""
_MAX_EMBEDS = 500
_MAX_NOSCRIPT_CHARS = 200
_CHECKS = frozenset({"check", "checkmark", "tick", "yes"})
_CROSSES = frozenset({"cross", "times", "xmark"})
_TOKENS = re.compile(r"[a-z]+")
_MAX_ICON_ELEMENTS = 8
_MAX_ICON_SIZE = 64
_MAX_REPEATS = 2
_AVATAR = re.compile(r"(?:^|[\s_/.-])(?:avatars?|gravatar)(?=$|[\s_/.-])", re.IGNORECASE)
_SIZE_SUFFIX = re.compile(r"-\d{2,4}x\d{2,4}(?=\.\w{3,4}$)")
_MAX_ICON_CHARS = 40


def source_of(image: dom.Element) -> str:
    """Return the raw address of an `img`, empty when it has none."""
    source = _usable(image.attr("src"))
    # A lazy attribute beside a real address holds the better image.
    for name in _LAZY:
        if (raw := image.attr(name)) and (lazy := _usable(raw)):
            return lazy
    if source and not _is_placeholder(source):
        return source
    rare = (_usable(image.attr(name)) for name in _RARELY_LAZY)
    return next(filter(None, rare), "") or _best_of_sets(image) or _picture_source(image) or source


def _is_placeholder(source: str) -> bool:
    """Whether the file's name says that it is a placeholder."""
    query = source.find("?")
    start = max(0, source.rfind("/", 0, query if query >= 0 else len(source)))
    return _PLACEHOLDER.search(source, start) is not None


def is_pixel(element: dom.Element) -> bool:
    """Whether an element is a tracking pixel, or hidden."""
    if element.attr("width") in _NO_SIZE or element.attr("height") in _NO_SIZE:
        return True
    if _TRACKERS.search(element.attr("src") or "") is not None:
        return True
    style = (element.attr("style") or "").lower()
    return ("none" in style or "hidden" in style) and _HIDING.search(style) is not None


class Images:
    """The images of a subtree: which of them are worth showing."""

    def __init__(self, node: dom.Node) -> None:
        self._node = node
        self._repeated: set[str] | None = None
        self._last: tuple[str, str, object] = ("", "", None)

    def shows(self, image: dom.Element, source: str, alt: str, place: object) -> bool:
        """Whether an image is shown. `place` is the same for images with nothing between them."""
        if alt.lower() in _SITE_ALTS:
            return False
        if not alt:
            return not _is_decoration(image, source) and not self._is_repeated(source)
        last, self._last = self._last, (source, alt, place)
        if last[1:] != self._last[1:] or _without_size(last[0]) != _without_size(source):
            return True
        # Another size of the image before it, for another width of the screen; the same small image in a row is a rating.
        return last[0] == source and " " not in alt

    def _is_repeated(self, source: str) -> bool:
        """Whether an image without a text was shown before, or is shown so often that it is an ornament."""
        if self._repeated is None:
            images = dom.select(self._node, "img:not([alt]),img[alt='']")
            self._repeated = {name for name, count in Counter(map(source_of, images)).items() if count > _MAX_REPEATS}
        is_repeated = source in self._repeated
        self._repeated.add(source)
        return is_repeated


def _is_decoration(image: dom.Element, source: str) -> bool:
    """Whether an image without a text is a spacer, an avatar or an icon."""
    if _is_placeholder(source) or _AVATAR.search(f"{dom.attribute(image, 'class')} {source}"):
        return True
    sizes = [int(raw) for name in ("width", "height") if (raw := dom.attribute(image, name).removesuffix("px")).isdecimal()]
    if sizes and min(sizes) <= _MAX_ICON_SIZE:
        return True
    # HTML says that an image with an empty text is decoration; of pictures in other formats that is seldom meant.
    return image.attr("alt") is not None and source.partition("?")[0].lower().endswith(".svg")


def _without_size(source: str) -> str:
    """Return an address without what tells apart the sizes of one image."""
    return _SIZE_SUFFIX.sub("", source.partition("?")[0])


def _usable(raw: str | None) -> str:
    if not raw:
        return ""
    raw = raw.strip()
    # Braces belong to a template that a script fills in.
    return "" if raw[:11].lower().startswith(_NO_ADDRESS) or "{" in raw else raw


def _best_of_sets(element: dom.Element) -> str:
    for name in _SETS:
        if (raw := element.attr(name)) and (best := best_of_set(raw)):
            return best
    return ""


def _picture_source(image: dom.Element) -> str:
    picture = image.closest("picture")
    if picture is None:
        return ""
    for source in dom.elements_list(picture, "source"):
        if best := _best_of_sets(source):
            return best
    return ""


def best_of_set(raw: str) -> str:
    """Return the largest candidate of a `srcset`; of equals the first."""
    best, largest = "", -1.0
    for candidate, raw_size in _CANDIDATE.findall(raw[:_MAX_SET_CHARS]):
        try:
            size = float(raw_size or 0)
        except ValueError:
            size = 0.0
        if size > largest and (address := _usable(candidate)):
            best, largest = address, size
    return best


def rescue_embeds(tree: dom.Tree) -> None:
    """Replace embedded content by links. Their addresses are resolved later, with those of all links."""
    for tag in _PLAYERS:
        for element in dom.select(tree, tag)[:_MAX_EMBEDS]:
            # Elements inside a player are a fallback for browsers without it.
            is_within = dom.has_ancestor(element, "object,video,audio")
            if not is_within and (embedded := _player_link(element)) is not None:
                address, name = embedded
                link = dom.new_element("a", {"href": address}, dom.new_text(name))
                element.replace_with(dom.new_element("div", None, link))


def _player_link(player: dom.Element) -> tuple[str, str] | None:
    """Return the address and the name of what a player shows; None when it is blank, an advertisement or a tracker."""
    addresses = [*[player.attr(name) or "" for name in _SOURCES], *_addresses_within(player)]
    source = next((address for address in addresses if not _NO_PLAYER_ADDRESS.match(address)), "")
    if not source or _MACHINERY.search(source) or is_pixel(player):
        return None
    title = " ".join((player.attr("title") or player.attr("aria-label") or "").split())
    kind = "Video" if _VIDEO_HOSTS.search(source) else "Map" if _MAP_HOSTS.search(source) else _PLAYERS[player.tag]
    return source.strip(), title or kind


def _addresses_within(player: dom.Element) -> list[str]:
    if player.tag in {"video", "audio"}:
        return [dom.attribute(source, "src") for source in dom.elements_list(player, "source")]
    if player.tag != "object":
        return []
    params = [param for param in dom.elements_list(player, "param") if dom.attribute(param, "name").lower() in {"movie", "src"}]
    embeds = [dom.attribute(inner, "src") for inner in dom.elements_list(player, "embed")]
    return embeds + [dom.attribute(param, "value") for param in params]


def rescue_images(tree: dom.Tree) -> None:
    """Use the images of `noscript` elements for the empty ones that a script would fill."""
    for spare in dom.select(tree, "noscript")[:_MAX_EMBEDS]:
        image = spare.find("img")
        if image is None or is_pixel(image) or len(spare.text.strip()) > _MAX_NOSCRIPT_CHARS:
            continue
        source = source_of(image)
        if not source:
            continue
        empty = _image_before(spare)
        if empty is None:
            spare.insert_before(image.extract())
            continue
        if not source_of(empty):
            dom.set_attribute(empty, "src", source)
            if not dom.attribute(empty, "alt"):
                dom.set_attribute(empty, "alt", dom.attribute(image, "alt"))
        dom.drop(image)


def _image_before(spare: dom.Element) -> dom.Element | None:
    """Return the image that a `noscript` replaces: its neighbour on the left, or the last image inside that."""
    element = dom.as_element(next((node for node in spare.previous_siblings if not dom.is_blank(node)), None))
    if element is None or element.tag == "img":
        return element
    inner = dom.elements_list(element, "img")
    return inner[-1] if inner else None


def rescue_icons(tree: dom.Tree) -> None:
    """Replace the drawings that are all there is in a cell by their labels."""
    cells: set[dom.Element] = set()
    for drawing in dom.select(tree, "td svg,th svg")[:_MAX_EMBEDS]:
        cell = drawing.closest("td,th")
        if cell is None or cell in cells:
            continue
        cells.add(cell)
        meaning = icon_meaning(cell)
        if meaning and " ".join(cell.text.split()) in {"", meaning}:
            drawing.replace_with(dom.new_text(meaning))


def icon_meaning(cell: dom.Element) -> str:
    """Return what the icon means that is all there is in a cell: a check, a cross, or its label. Empty when there is none."""
    for element in islice(cell.iter_elements(), _MAX_ICON_ELEMENTS):
        label = dom.attribute(element, "aria-label") or (element.text if element.tag == "title" else "")
        if label := " ".join(label.split()):
            return label if len(label) <= _MAX_ICON_CHARS else ""
        tokens = set(_TOKENS.findall(dom.attribute(element, "class").lower()))
        if not tokens.isdisjoint(_CHECKS):
            return "✓"
        if not tokens.isdisjoint(_CROSSES):
            return "✗"
    return ""


# The list of a page's media

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
_PROVIDERS = (
    (
        "youtube",
        re.compile(
            r"//(?:(?:www|m|music)\.)?(?:youtube(?:-nocookie)?\.com/(?:embed/|v/|e/|shorts/|live/|watch\?(?:[^#]*&)?v=)|youtu\.be/)"
            # A playlist, or whatever a channel streams now, is not one video.
            r"(?!videoseries\b|live_stream\b)([\w-]{6,20})"
        ),
    ),
    # An unlisted video has a hash, without which it does not play.
    (
        "vimeo",
        re.compile(
            r"//(?:www\.|player\.)?vimeo\.com/(?:video/|channels/[\w-]+/|groups/[\w-]+/videos/|album/\d+/video/|showcase/\d+/video/)?"
            r"(\d{5,15})(?:(?:/|\?(?:[^#]*&)?h=)([0-9a-f]{6,20})\b)?"
        ),
    ),
    ("dailymotion", re.compile(r"//(?:www\.|geo\.)?dailymotion\.com/(?:embed/video/|video/|player\.html\?video=)(\w{5,20})")),
    ("wistia", re.compile(r"//fast\.wistia\.(?:net|com)/embed/(?:iframe|medias)/(\w{6,20})")),
    ("loom", re.compile(r"//(?:www\.)?loom\.com/embed/(\w{10,40})")),
)
_AUDIO_PLAYERS = re.compile(r"//(?:w\.soundcloud\.com/player|open\.spotify\.com/embed|embed\.podcasts\.apple\.com)")
_CSS_URL = re.compile(r"url\(\s*(?:\"([^\"]{1,2000})\"|'([^']{1,2000})'|([^\"'()\s]{1,2000}))\s*\)")
_BACKGROUND = re.compile(r"\s*background(?:-image)?\s*:", re.IGNORECASE)
_MAX_DECLARATION_CHARS = 4_000
_LITE_PLAYERS = {"lite-youtube": "https://www.youtube.com/embed/", "lite-vimeo": "https://player.vimeo.com/video/"}
"""Elements that load a player when they are clicked; the attribute `videoid` has the id."""
_PIXELS = re.compile(r"\s*(\d{1,5})(?:\.\d+)?(?:px)?\s*$")
_NORMAL_URL = re.compile(
    r"(?:(https?://[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,})|(?!//))/[A-Za-z0-9_./~-]*(?:\?[A-Za-z0-9_=&.,-]+)?$"
)
"""URLs in their final form already, as most of images are: parsing them takes ten times as long as this match."""
_MAX_ELEMENTS = 400
_MAX_SHEETS, _MAX_SHEET_CHARS, _MAX_BACKGROUNDS = 20, 100_000, 50
_MAX_MEDIA = 300
MAX_DOWNLOAD_WIDTH = 1920
"""Images are not stored wider than this (`media/compression.py`), so a wider candidate would be downloaded in vain."""
_SIZED_CANDIDATE = re.compile(r"\s*,*\s*(\S*[^\s,])(?:\s+([\d.]{1,12})([wx]))?[^,]*(?:,|$)")
_DECODABLE_TYPES = frozenset({"image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif", "image/svg+xml", "image/avif"})


def read_media(tree: dom.Tree, styled: list[dom.Element], links: PageLinks, resolver: PageResolver) -> tuple[Media, ...]:
    """The media of a page: images, players, then linked files, each in page order. `styled` may have background"""
    reader = _MediaReader(resolver)
    reader.add_images(tree)
    for element in styled[:_MAX_ELEMENTS]:
        reader.add_backgrounds(element.attr("style") or "")
    for sheet in dom.select(tree, "style")[:_MAX_SHEETS]:
        reader.add_backgrounds(sheet.text[:_MAX_SHEET_CHARS])
    for tag in ("video", "audio"):
        for player in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            reader.add_player(player)
    for tag in ("iframe", "embed", "object", *_LITE_PLAYERS):
        for frame in dom.select(tree, tag)[:_MAX_ELEMENTS]:
            reader.add_frame(frame)
    reader.add_files(links)
    return tuple(reader.media.values())[:_MAX_MEDIA]


def _download_candidate(image: dom.Element) -> str:
    """The candidate of an image's `srcset`, or of its `picture`, that is worth keeping; empty where there is none."""
    own = _candidate_of_sets(image, image.attr("width") or "")
    picture = image.closest("picture")
    if own or picture is None:
        return own
    for source in dom.elements_list(picture, "source"):
        is_known = (source.attr("type") or "image/webp").strip().lower() in _DECODABLE_TYPES
        if is_known and (candidate := _candidate_of_sets(source, image.attr("width") or "")):
            return candidate
    return ""


def _candidate_of_sets(element: dom.Element, width: str) -> str:
    for name in _SETS:
        if (raw := element.attr(name)) and (candidate := candidate_up_to(raw, MAX_DOWNLOAD_WIDTH, _pixels(width))):
            return candidate
    return ""


def candidate_up_to(raw: str, limit: int, width: int = 0) -> str:
    """The widest candidate of a `srcset` within a limit in pixels, else the narrowest; `width` is that of density 1."""
    sized: list[tuple[float, str]] = []
    for candidate, number, unit in _SIZED_CANDIDATE.findall(raw[:_MAX_SET_CHARS]):
        if address := _usable(candidate):
            size = float(number) if number.count(".") < 2 and number.strip(".") else 1.0
            sized.append((size if unit == "w" else size * (width or 1), address))
    within = [each for each in sized if each[0] <= limit]
    if within:
        return max(within, key=lambda each: each[0])[1]
    return min(sized, key=lambda each: each[0])[1] if sized else ""


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
            source = source_of(element)
            if not source or not (url := resolved(source)):
                continue
            image = media.get(url)
            if image is None:
                if is_pixel(element):
                    continue
                image = media[url] = {"type": "image", "url": url}
                _add_size(element, image)
                if (best := _download_candidate(element)) and (best := resolved(best)) and best != url:
                    image["best"] = best
            if "alt" not in image and (raw := element.attr("alt")) and (alt := short_line(raw)):
                image["alt"] = alt
            if has_figures and "caption" not in image and (caption := _caption(element)):
                image["caption"] = caption

    def add_backgrounds(self, style: str) -> None:
        """Add the background images of a `style` attribute or element."""
        for raw in _backgrounds(style):
            if url := self.resolved(raw):
                self.media.setdefault(url, {"type": "image", "url": url, "role": "background"})

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
        if frame.tag in _LITE_PLAYERS:
            raw = _LITE_PLAYERS[frame.tag] + (frame.attr("videoid") or "")
        if not raw or not (url := self.resolved(raw)):
            return
        media: Media | None = None
        for provider, pattern in _PROVIDERS:
            if player := pattern.search(url):
                media = {"type": "video", "url": url, "provider": provider, "id": "/".join(filter(None, player.groups()))}
        if media is None and _AUDIO_PLAYERS.search(url):
            media = {"type": "audio", "url": url}
        if media is None and (file := _FILE.search(url)):
            extension = file[1].lower()
            media = {"type": _TYPE_BY_EXTENSION[extension], "url": url, "format": extension}
        if media is not None:
            _add_name(frame, media)
            self.media.setdefault(url, media)

    def add_files(self, links: PageLinks) -> None:
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


def _backgrounds(style: str) -> list[str]:
    """The addresses of background images in CSS."""
    addresses: list[str] = []
    for match in _CSS_URL.finditer(style):
        at = match.start()
        # Addresses are few and declarations many, so each address is traced back to its declaration.
        declaration = max(style.rfind(end, max(0, at - _MAX_DECLARATION_CHARS), at) for end in ";{}") + 1
        if _BACKGROUND.match(style, declaration, at) and (address := _usable("".join(filter(None, match.groups())))):
            addresses.append(address)
            if len(addresses) == _MAX_BACKGROUNDS:
                break
    return addresses


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

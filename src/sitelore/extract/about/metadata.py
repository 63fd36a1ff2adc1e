"""What a page says about itself: title, description, language, dates, author, canonical address, what robots may do.

Where several places say the same thing, what its author wrote for machines goes before what stands on the page, and the
path of its address comes last. Dates are normalised (`dates`), never guessed; JSON-LD is read by `linked`, headings and
landmarks by `outline`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sitelore.extract.about.dates import date_in_path, iso_date
from sitelore.extract.about.linked import Linked, read_linked
from sitelore.extract.about.outline import NO_OUTLINE, Outline, read_outline
from sitelore.extract.about.survey import Survey
from sitelore.extract.structured.jsonld import Script
from sitelore.model.response import Response
from sitelore.model.url import KeyRules, Url

_AGENT = "sitelore"
_TO_ROBOTS = frozenset({"robots", _AGENT})
_VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_KEPT_PREFIXES = ("og:", "article:", "book:", "profile:", "product:", "twitter:", "dc.", "dcterms.", "citation_")
_KEPT_NAMES = frozenset({
    "author", "keywords", "date", "pubdate", "publish_date", "last-modified", "revised", "generator", "application-name",
    "subject", "category", "copyright", "news_keywords", "section", "parsely-pub-date", "parsely-author", "theme-color",
})  # fmt: skip
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "article:published", "datepublished", "date.published",
    "parsely-pub-date", "citation_publication_date", "citation_date", "dc.date.issued", "dcterms.issued", "dcterms.created",
    "dc.date.created", "publish_date", "publishdate", "publication_date", "pubdate", "sailthru.date", "article.published",
    "published-date", "dc.date", "dcterms.date", "date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:article:modified_time", "article:modified", "datemodified", "og:updated_time",
    "dcterms.modified", "dc.date.modified", "last-modified", "article.updated", "revised",
)  # fmt: skip
_AUTHOR = (
    "author", "article:author", "og:article:author", "parsely-author", "dc.creator", "dcterms.creator", "citation_author",
    "sailthru.author", "byl",
)  # fmt: skip
_IMAGE = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src", "image", "thumbnail")
_SITE_NAME = ("og:site_name", "application-name", "apple-mobile-web-app-title")

_MAX_META = 64
_MAX_KEY_CHARS = 80
_MAX_TITLE_CHARS = 1000
_MAX_NAME_CHARS = 300
_ADDRESS = re.compile(r"https?:|www\.|//|@\w", re.IGNORECASE)
_BY = re.compile(r"(?:(?:written|posted|published)\s+)?by:?\s+", re.IGNORECASE)
_LANG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}$")
_LINK_HEADER = re.compile(r"<([^<>]*)>([^<]*)")  # without "<" inside: a header of nothing else would take quadratic time
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Robots:
    """What the page asks of crawlers, from its head and its headers together, the most restrictive of both."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


_NO_ROBOTS = Robots()


@dataclass(frozen=True, slots=True)
class Metadata:
    """The page's own account of itself. Nothing here is redacted yet beyond what the source was."""

    title: str = ""
    h1: str = ""
    description: str = ""
    lang: str = ""
    base: str = ""
    """What relative links resolve against."""
    canonical: Url | None = None
    robots: Robots = _NO_ROBOTS
    meta: dict[str, str] = field(default_factory=dict)
    author: str = ""
    published: str = ""
    """ISO 8601, as far as the page says it; empty when it does not."""
    modified: str = ""
    site_name: str = ""
    image: str = ""
    outline: Outline = NO_OUTLINE


def read_metadata(survey: Survey, response: Response, rules: KeyRules, scripts: list[Script]) -> Metadata:
    """Everything but links and content. `scripts` are the page's JSON-LD."""
    canonical, picture = _pointed_at(survey.relations)
    said = survey.base.strip()
    base = (Url.parse(said, response.url, rules) if said else None) or response.url
    linked = read_linked([script.value for script in scripts])
    named, outline, h1 = _named(survey.metas), read_outline(survey.layout), survey.h1[:_MAX_TITLE_CHARS]
    published = _date(named, _PUBLISHED) or _marked_date(survey, "datepublished") or linked.published or outline.published
    image = _first(named, _IMAGE) or picture or linked.image
    return Metadata(
        title=(survey.title or named.get("og:title", "") or named.get("twitter:title", "") or h1)[:_MAX_TITLE_CHARS],
        h1=h1,
        description=named.get("description", "") or named.get("og:description", "") or named.get("twitter:description", ""),
        lang=_lang(survey.languages, response, named),
        base=base,
        canonical=_address(canonical, base, rules) if canonical else _header_canonical(response, rules),
        robots=robots_of([named.get("robots", ""), named.get(_AGENT, "")], response.header_all("x-robots-tag")),
        meta={name: value for name, value in named.items() if name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)},
        author=_author(survey, named, linked),
        published=published or date_in_path(response.url.path),
        modified=_date(named, _MODIFIED) or _marked_date(survey, "datemodified") or linked.modified or outline.modified,
        site_name=(_first(named, _SITE_NAME) or linked.site_name)[:_MAX_NAME_CHARS],
        image=(_address(image, base, rules) or "") if image else "",
        outline=outline,
    )


def _address(raw: str, base: str, rules: KeyRules) -> Url | None:
    """A whole address means the same on every page, and is mostly in its final form already."""
    return Url.parse(raw, None if raw.startswith(("http://", "https://")) else base, rules)


def _first(named: dict[str, str], names: tuple[str, ...]) -> str:
    """The value of the first of these names that has one."""
    for name in names:
        if value := named.get(name):
            return value
    return ""


def _date(named: dict[str, str], names: tuple[str, ...]) -> str:
    """The first of these that is a date."""
    for name in names:
        if (value := named.get(name)) and (date := iso_date(value)):
            return date
    return ""


def _author(survey: Survey, named: dict[str, str], linked: Linked) -> str:
    """Who wrote the page: from its head, its JSON-LD, a link to the author, or what is marked as one."""
    for name in _AUTHOR:
        if name in named and (who := _person(named[name])):
            return who
    return _person(linked.author) if linked.author else _one_of(survey.bylines()) or _one_of(survey.marked("author"))


def _one_of(said: list[str]) -> str:
    """The one person whom all of these name: a list of posts has many, and none of them wrote the page."""
    if not said:
        return ""
    names = set(map(_person, said)) - {""}
    return names.pop() if len(names) == 1 else ""


def _marked_date(survey: Survey, name: str) -> str:
    """The page's date of this name: where several differ, they belong to comments or other posts."""
    said = survey.marked(name)
    dates = set(map(iso_date, said)) - {""} if said else ()
    return dates.pop() if len(dates) == 1 else ""


def _person(text: str) -> str:
    """A name as a name: without "by" before it; an address is none."""
    text = _BY.sub("", text, count=1) if text[:9].lower().startswith(("by", "written", "posted", "published")) else text
    return "" if len(text) > _MAX_NAME_CHARS or _ADDRESS.search(text) else text.strip(" ,;|")


def _named(metas: list[tuple[str, str]]) -> dict[str, str]:
    """The first of each name; robots directives of several elements are joined."""
    named: dict[str, str] = {}
    for name, content in metas:
        if name in _TO_ROBOTS:
            named[name] = f"{named[name]},{content}" if name in named else content
        elif content and name and name not in named and len(name) <= _MAX_KEY_CHARS and len(named) < _MAX_META:
            named[name] = content
    return named


def _pointed_at(relations: list[tuple[str, str]]) -> tuple[str, str]:
    """The canonical address and the picture that `link` elements name, the first of each."""
    canonical = picture = ""
    for rel, href in relations:
        if "canonical" in rel and not canonical and "canonical" in rel.split():
            canonical = href.strip()
        elif rel == "image_src":
            picture = picture or href.strip()
    return canonical, picture


def robots_of(metas: list[str], headers: list[str]) -> Robots:
    """Directives of meta elements and of `X-Robots-Tag` headers, added up."""
    if not headers and not any(metas):
        return _NO_ROBOTS
    words: set[str] = set()
    for content in metas:
        words.update(word.strip().lower() for word in content.split(","))
    for header in headers:
        words |= _header_directives(header)
    everything = "none" in words
    return Robots(everything or "noindex" in words, everything or "nofollow" in words, "noarchive" in words)


def _header_directives(header: str) -> set[str]:
    """The directives of one header that speak to us: those before any agent's name, and those after ours."""
    words: set[str] = set()
    ours = True
    for part in header.split(","):
        name, colon, rest = part.partition(":")
        word = name.strip().lower()
        if colon and word not in _VALUED_DIRECTIVES:
            ours = word in {_AGENT, "*", "robots"}
            word = rest.strip().lower()
        if ours:
            words.add(word)
    return words


def _lang(own: list[str], response: Response, named: dict[str, str]) -> str:
    """From the root element, the header, its stand-in in the head, or Open Graph; the first that is a language tag."""
    said = [*own, response.header("content-language") or "", named.get("content-language", ""), named.get("og:locale", "")]
    for text in said:
        tag = text.partition(",")[0].strip()
        if _LANG.match(tag):
            return tag.replace("_", "-")
    return ""


def _header_canonical(response: Response, rules: KeyRules) -> Url | None:
    for header in response.header_all("link"):
        for target, parameters in _LINK_HEADER.findall(header):
            rel = _REL.search(parameters)
            if rel is not None and "canonical" in (rel[1] or rel[2] or rel[3] or "").lower().split():
                return Url.parse(target.strip(), response.url, rules)
    return None

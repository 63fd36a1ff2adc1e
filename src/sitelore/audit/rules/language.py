"""Rules about the language of a page and its translations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable
from sitelore.audit.site import AlternateLink, PageSummary, Site, TargetKind
from sitelore.model.audit.findings import Indexability, Severity
from sitelore.model.url import Url

TABLE = RuleTable()

_LANGUAGES = frozenset(
    code
    for line in (
        "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de",
        "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id",
        "ie ig ii ik in io is it iu iw ja ji jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln",
        "lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi",
        "pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti",
        "tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu",
    )
    for code in line.split()
)
"""ISO 639-1, with codes that browsers still accept."""
_TAG = re.compile(
    r"(?P<primary>[a-z]{2,3})(?:-[a-z]{3}){0,3}(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|\d{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|\d[a-z0-9]{3}))*(?:-[a-wyz0-9](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?"
    r"|x(?:-[a-z0-9]{1,8})+|i-[a-z]+",
    re.IGNORECASE,
)
_HREFLANG = re.compile(r"(?P<primary>[a-z]{2,3})(?:-[a-z]{4})?(?:-(?P<region>[a-z]{2}|\d{3}))?", re.IGNORECASE)
_NO_REGIONS = frozenset({"uk", "eu"})
"""Codes that are often written for a region and are none: the United Kingdom is GB."""
_ALIKE = (
    {"no", "nb", "nn", "da"},
    {"hr", "sr", "bs", "sh"},
    {"id", "ms", "in"},
    {"pt", "gl"},
    {"cs", "sk"},
    {"bg", "mk"},
    {"he", "iw"},
)
"""Languages that a detector confuses."""


_WIDESPREAD = frozenset(
    code
    for line in (
        "ar bg bn ca cs da de el en es et eu fa fi fr gu he hi hr hu hy id is it ja ka kk kn ko lt lv mk ml mr ms nb",
        "nl no pa pl pt ro ru sk sl sq sr sv ta te th tr uk ur vi zh",
    )
    for code in line.split()
)
"""Languages that a detector does not report for lists of names and code."""


def is_language_tag(tag: str) -> bool:
    """Whether a text is a language tag by BCP 47, with a language that exists."""
    match = _TAG.fullmatch(tag.strip())
    if match is None:
        return False
    primary = match["primary"]
    return primary is None or len(primary) == 3 or primary.lower() in _LANGUAGES


def is_hreflang(code: str) -> bool:
    """Whether search engines accept a code: a language, a script, a region, or `x-default`."""
    match = _HREFLANG.fullmatch(code.strip())
    if match is None:
        return code.strip().lower() == "x-default"
    region = (match["region"] or "").lower()
    return (len(match["primary"]) == 3 or match["primary"].lower() in _LANGUAGES) and region not in _NO_REGIONS


@TABLE.page(
    "lang-missing",
    Group.LANGUAGE,
    Severity.WARNING,
    title="Language is not declared",
    explanation=(
        "The html element has no lang. Screen readers choose the wrong voice, and browsers offer the wrong translation."
    ),
    fix="Add lang to the html element, for example lang=\u201cen\u201d.",
)
def _lang_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if not page.facts.lang.strip():
        yield Hit({"detected": page.facts.detected_lang})


@TABLE.page(
    "lang-invalid",
    Group.LANGUAGE,
    Severity.WARNING,
    title="Language tag is not valid",
    explanation="The lang of the html element is not a language tag (BCP 47), so it has no effect.",
    fix="Use a valid tag: en, de-AT, zh-Hant.",
)
def _lang_invalid(page: AuditPage, _: Limits) -> Iterator[Hit]:
    lang = page.facts.lang.strip()
    if lang and not is_language_tag(lang):
        yield Hit({"lang": lang, "detected": page.facts.detected_lang})


@TABLE.page(
    "lang-mismatch",
    Group.LANGUAGE,
    Severity.NOTICE,
    thresholds={"min_words": 200},
    title="Text is in another language than declared",
    explanation="The page declares one language, but its text reads like another: it is not translated, or the lang is wrong.",
    fix="Correct the lang, or translate the page.",
)
def _lang_mismatch(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    declared, detected = (lang.partition("-")[0].lower() for lang in (page.facts.lang.strip(), page.facts.detected_lang))
    is_alike = declared == detected or any({declared, detected} <= alike for alike in _ALIKE)
    if page.word_count >= limits["min_words"] and detected in _WIDESPREAD and not is_alike and is_language_tag(declared):
        yield Hit({"declared": declared, "detected": detected, "sample": page.content.text[:120]})


@TABLE.page(
    "hreflang-invalid",
    Group.LANGUAGE,
    Severity.ERROR,
    identity=("lang", "href"),
    title="Translation link is not valid",
    explanation=(
        "A link with hreflang has a code that is not language or language-REGION, or an address that is not "
        "absolute. It is ignored."
    ),
    fix="Use a valid code and the full URL.",
)
def _hreflang_invalid(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for each in page.facts.alternates:
        problem = (
            "code" if not is_hreflang(each.lang) else "" if each.href.lower().startswith(("http:", "https:")) else "address"
        )
        if problem:
            yield Hit({"lang": each.lang, "href": each.href, "problem": problem})


def _own_alternates(site: Site, page: PageSummary) -> Iterator[tuple[AlternateLink, PageSummary]]:
    """Yield the translations of a page that the run knows, other than itself."""
    for each in page.alternates:
        target = site.pages.get(each.url) if each.url is not None else None
        if target is not None and target is not page:
            yield each, target


@TABLE.site(
    "hreflang-no-return",
    Group.LANGUAGE,
    Severity.WARNING,
    (Needs.FACTS, Needs.GRAPH),
    identity=("target",),
    title="Translation does not link back",
    explanation="The page names a translation, but that page does not name this one. Search engines ignore such pairs.",
    fix="Add the link with hreflang on the other page too.",
)
def _hreflang_no_return(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        for each, target in _own_alternates(site, page):
            is_valid = is_hreflang(each.lang) and not bad_target(site, target.url)  # else a finding of another rule
            if target.is_html and is_valid and page.url not in {back.url for back in target.alternates}:
                yield Hit({"target": str(target.url), "lang": each.lang, "returns": len(target.alternates)}, page.url)


@TABLE.site(
    "hreflang-self",
    Group.LANGUAGE,
    Severity.NOTICE,
    (Needs.FACTS, Needs.GRAPH),
    identity=("problem",),
    title="Set of translations is inconsistent",
    explanation=(
        "The translations of a page do not name the page itself, name it with another language, or name one URL "
        "for two languages."
    ),
    fix="List every language once, the page itself included.",
)
def _hreflang_self(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        named = [each for each in page.alternates if each.lang.lower() != "x-default"]
        own = [each.lang.partition("-")[0].lower() for each in named if each.url == page.url]
        languages: dict[Url | None, set[str]] = {}
        for each in named:
            languages.setdefault(each.url, set()).add(each.lang.partition("-")[0].lower())
        shown = {"languages": [each.lang for each in page.alternates][:20]}
        declared = page.lang.partition("-")[0]
        if named and not own:
            yield Hit({"problem": "no link to itself", **shown}, page.url)
        elif own and declared and declared not in own:
            yield Hit({"problem": "another language than lang", "lang": page.lang, **shown}, page.url, Severity.WARNING)
        double = [str(url) for url, langs in languages.items() if url is not None and len(langs) > 1]
        if double:
            yield Hit({"problem": "one URL for two languages", "urls": double[:5], **shown}, page.url, Severity.WARNING)


@TABLE.site(
    "hreflang-to-bad",
    Group.LANGUAGE,
    Severity.ERROR,
    (Needs.FACTS, Needs.GRAPH),
    identity=("target",),
    title="Translation cannot be listed",
    explanation=(
        "A translation that the page names redirects, answers with an error, is noindex, or names another canonical URL."
    ),
    fix="Name the final URL of an indexable page.",
)
def _hreflang_to_bad(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        for each, target in _own_alternates(site, page):
            if problem := bad_target(site, target.url):
                yield Hit({"target": str(target.url), "lang": each.lang, "problem": problem, "status": target.status}, page.url)


def bad_target(site: Site, url: str) -> str:
    """Why search engines cannot list a URL; empty where they can, or where the run does not know it."""
    page, kind = site.pages.get(url), site.target(url).kind
    if page is None or kind in {TargetKind.EXTERNAL, TargetKind.UNKNOWN}:
        return ""
    if page.indexability in {Indexability.INDEXABLE, Indexability.NOT_HTML, Indexability.NOT_FETCHED, Indexability.FORBIDDEN}:
        return ""
    is_duplicate = page.indexability is Indexability.ALIAS and page.canonical in {None, page.url}
    return "" if is_duplicate else page.indexability.value

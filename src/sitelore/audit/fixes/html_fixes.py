"""Edits of HTML that fix findings, one function for each rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape

from sitelore.audit.fixes.html_tags import HtmlText, Tag
from sitelore.audit.fixes.source import Edit, FixContext, NoFix, closest
from sitelore.model.url import Url

HtmlFix = Callable[[HtmlText, FixContext], Iterable[Edit]]

VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TRAILING_COMMA = re.compile(r""",(\s*[}\]])""")
_ZOOM_LIMITS = re.compile(r"\s*(?:user-scalable|maximum-scale)\s*=")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})[_-]([A-Za-z]{2})")


# The head


def _title(page: HtmlText, context: FixContext) -> list[Edit]:
    title = escape(context.text(str(context.finding.evidence.get("proposal") or "")), quote=False)
    empty = page.head_tags("title")
    if empty:
        return [Edit(*page.inner(empty[0]), title)]
    return [page.insert_into_head(f"<title>{title}</title>")]


def _description(page: HtmlText, context: FixContext) -> list[Edit]:
    text = context.text(str(context.finding.evidence.get("proposal") or ""))
    metas = [tag for tag in page.head_tags("meta") if (tag.get("name") or "").lower() == "description"]
    if metas:
        return [metas[0].set("content", text)]
    return [page.insert_into_head(f'<meta name="description" content="{_attribute(text)}">')]


def _lang(page: HtmlText, context: FixContext) -> list[Edit]:
    known = (context.words.get(context.finding.key), context.finding.evidence.get("detected"), context.site_lang)
    lang = next((str(each) for each in known if each), "")
    if not lang:
        raise NoFix("the language of the page is not known; give it with --words")
    return [_only(page.starts("html"), "html element").set("lang", lang)]


def _invalid_lang(page: HtmlText, context: FixContext) -> list[Edit]:
    lang = _language_tag(str(context.finding.evidence["lang"])) or str(context.finding.evidence.get("detected") or "")
    if not lang:
        raise NoFix("the language that is meant is not clear")
    return [_only(page.starts("html"), "html element").set("lang", lang)]


def _language_tag(code: str) -> str:
    """The tag that a code such as `en_UK` means; empty when it is not clear."""
    match = _LANGUAGE.fullmatch(code.strip())
    if match is None:
        return ""
    region = match[2].upper()
    return f"{match[1].lower()}-{'GB' if region == 'UK' else region}"


def _viewport(page: HtmlText, _: FixContext) -> list[Edit]:
    return [page.insert_into_head(VIEWPORT)]


def _zoom(page: HtmlText, _: FixContext) -> list[Edit]:
    tag = _only(_metas(page, "viewport"), "viewport")
    parts = [part.strip() for part in (tag.get("content") or "").split(",")]
    return [tag.set("content", ", ".join(part for part in parts if not _ZOOM_LIMITS.match(part)))]


def _charset(page: HtmlText, _: FixContext) -> list[Edit]:
    declared = [tag for tag in page.head_tags("meta") if tag.get("charset") is not None]
    head = _only(page.starts("head"), "head")
    if any((tag.get("charset") or "").lower() not in {"utf-8", "utf8"} for tag in declared):
        raise NoFix("the file declares another encoding; convert it to UTF-8 first")
    if re.search(r"[\udc80-\udcff]", page.text):
        raise NoFix("the file is not UTF-8")
    following = re.compile(r"\r?\n[ \t]*").match(page.text, head.end)
    space = following[0] if following is not None else ""
    return [*(page.remove(tag) for tag in declared), Edit(head.end, head.end, f'{space}<meta charset="utf-8">')]


def _repeated(page: HtmlText, context: FixContext) -> list[Edit]:
    name = str(context.finding.evidence["element"]).removeprefix("meta ")
    if name == "title":
        raise NoFix("which of the titles counts is for a person to say")
    tags = list(_metas(page, name))
    if len({" ".join((tag.get("content") or "").lower().split()) for tag in tags}) != 1:
        raise NoFix("the elements differ; which of them counts is for a person to say")
    return [page.remove(tag) for tag in tags[1:]]


def _metas(page: HtmlText, name: str) -> Iterable[Tag]:
    return (tag for tag in page.head_tags("meta") if (tag.get("name") or "").lower() == name)


# Canonical and translation links


def _canonical_missing(page: HtmlText, context: FixContext) -> list[Edit]:
    return [page.insert_into_head(f'<link rel="canonical" href="{_attribute(str(context.page_url))}">')]


def _canonical_invalid(page: HtmlText, context: FixContext) -> list[Edit]:
    evidence = context.finding.evidence
    if evidence["place"] != "head":
        raise NoFix("the link is not in the head of the page")
    value, url = str(evidence["value"]), None
    if evidence["problem"] != "no http(s) URL":
        url = context.resolved(value.partition("#")[0])
    return [_canonical(page, value).set("href", str(url or context.page_url))]


def _canonical_target(page: HtmlText, context: FixContext) -> list[Edit]:
    target, final = str(context.finding.evidence["target"]), str(context.finding.evidence.get("final") or "")
    tags = [tag for tag in _canonicals(page) if str(context.resolved(tag.get("href") or "")) == target]
    url = final if final and context.is_live(final) else str(context.page_url)
    return [_only(tags, "canonical link").set("href", url)]


def _canonicals(page: HtmlText) -> list[Tag]:
    return [tag for tag in page.head_tags("link") if "canonical" in (tag.get("rel") or "").lower().split()]


def _canonical(page: HtmlText, value: str) -> Tag:
    return _only([tag for tag in _canonicals(page) if (tag.get("href") or "").strip() == value], "canonical link")


def _hreflang(page: HtmlText, context: FixContext) -> list[Edit]:
    lang, href = str(context.finding.evidence["lang"]), str(context.finding.evidence["href"])
    tags = [tag for tag in page.head_tags("link") if (tag.get("hreflang"), tag.get("href")) == (lang, href)]
    tag = _only(tags, "translation link")
    if context.finding.evidence["problem"] == "code":
        code = _language_tag(lang)
        if not code:
            raise NoFix(f"the language that {lang!r} means is not clear")
        return [tag.set("hreflang", code)]
    url = context.resolved(href)
    if url is None:
        raise NoFix("the address is no URL")
    return [tag.set("href", str(url))]


# Links and resources


def _link_to(page: HtmlText, context: FixContext, url: str) -> list[Edit]:
    return [tag.set("href", context.styled(tag.get("href") or "", url)) for tag in _links(page, context)]


def _links(page: HtmlText, context: FixContext) -> list[Tag]:
    target = str(context.finding.evidence["target"])
    base = next((str(context.resolved(tag.get("href") or "") or "") for tag in page.starts("base")), "")
    tags = [
        tag for tag in page.starts("a", "area") if _without_fragment(context.resolved(tag.get("href") or "", base)) == target
    ]
    if not tags:
        raise NoFix("the file has no such link; it comes from a template or a script")
    return tags


def _without_fragment(url: Url | None) -> str:
    return "" if url is None else str(url).partition("#")[0]


def _broken_link(page: HtmlText, context: FixContext) -> list[Edit]:
    return _link_to(page, context, replacement_of(context))


def replacement_of(context: FixContext) -> str:
    """The URL to which a broken link should lead."""
    target = str(context.finding.evidence["target"])
    url = context.words.get(context.finding.key) or closest(target, context.live_urls)
    if not url:
        raise NoFix("no page of the site is clearly the one that is meant")
    return url


def _redirected_link(page: HtmlText, context: FixContext) -> list[Edit]:
    return _link_to(page, context, final_of(context))


def final_of(context: FixContext) -> str:
    """The end of the redirects of a link's target."""
    final = str(context.finding.evidence.get("final") or "")
    if not final:
        raise NoFix("where the redirects end is not known")
    return final


def _https_link(page: HtmlText, context: FixContext) -> list[Edit]:
    return [tag.set("href", _https(tag.get("href") or "")) for tag in _links(page, context)]


def _https_resource(page: HtmlText, context: FixContext) -> list[Edit]:
    url = str(context.finding.evidence.get("url") or context.finding.evidence.get("action") or "")
    edits = [
        tag.set(name, _https(value))
        for tag in page.tags
        if not tag.is_end
        for name in ("src", "href", "data", "action", "formaction", "poster")
        if (value := tag.get(name)) is not None and value.strip() == url
    ]
    if not edits:
        raise NoFix("the file does not have this address; it comes from a template or a script")
    return edits


def _https(address: str) -> str:
    return re.sub(r"^\s*http:", "https:", address, flags=re.IGNORECASE)


def _anchor(page: HtmlText, context: FixContext) -> list[Edit]:
    fragment, nearest = str(context.finding.evidence["fragment"]), anchor_of(context)
    tags = [tag for tag in page.starts("a") if (tag.get("href") or "").partition("#")[2] == fragment]
    target = str(context.finding.evidence["target"])
    tags = [tag for tag in tags if _without_fragment(context.resolved(tag.get("href") or "")) == target]
    if not tags:
        raise NoFix("the file has no such link; it comes from a template or a script")
    return [tag.set("href", f"{(tag.get('href') or '').partition('#')[0]}#{nearest}") for tag in tags]


def anchor_of(context: FixContext) -> str:
    """The id that is meant by a fragment that does not exist."""
    fragment, ids = str(context.finding.evidence["fragment"]), list(context.finding.evidence["nearest"])
    own_words = context.words.get(context.finding.key)
    nearest = own_words or next((each for each in ids if _folded(each) == _folded(fragment)), "")
    if not nearest:
        raise NoFix("no id of the target is clearly the one that is meant")
    return str(nearest)


def _folded(name: str) -> str:
    """An id without case and punctuation, and without the s of a plural."""
    return re.sub(r"[\W_]+", "", name.casefold()).removesuffix("s")


def _follow(page: HtmlText, context: FixContext) -> list[Edit]:
    if not context.finding.evidence.get("target"):
        raise NoFix("the directive of the whole page is for a person to remove")
    edits = []
    for tag in _links(page, context):
        words = (tag.get("rel") or "").split()
        left = [word for word in words if word.lower() != "nofollow"]
        if len(left) != len(words):
            edits.append(tag.set("rel", " ".join(left)) if left else tag.remove("rel"))
    return edits


# Content


def _alt(page: HtmlText, context: FixContext) -> list[Edit]:
    src = str(context.finding.evidence["src"])
    tags = [tag for tag in page.starts("img") if (tag.get("src") or "").strip() == src and tag.get("alt") is None]
    if not tags:
        raise NoFix("the file does not have this image; it comes from a template or a script")
    if context.finding.key not in context.words:
        raise NoFix("it needs words of a person (empty for decoration); give them with --words")
    return [tag.set("alt", " ".join(context.words[context.finding.key].split())) for tag in tags]


def _frame_title(page: HtmlText, context: FixContext) -> list[Edit]:
    src = str(context.finding.evidence["src"])
    tags = [tag for tag in page.starts("iframe") if (tag.get("src") or "") == src]
    url = context.resolved(src)
    title = context.text(f"Content of {url.host}" if url is not None else "")
    return [_only(tags, "iframe").set("title", title)]


def _first_heading(page: HtmlText, context: FixContext) -> list[Edit]:
    text = str(context.finding.evidence["first_heading"])
    if not text:
        raise NoFix("the page has no heading that could be the main one")
    return _level(page, text, None, 1)


def _skipped_level(page: HtmlText, context: FixContext) -> list[Edit]:
    evidence = context.finding.evidence
    return _level(page, str(evidence["heading"]), int(evidence["level"]), int(str(evidence["after"])[1]) + 1)


def _level(page: HtmlText, text: str, level: int | None, new: int) -> list[Edit]:
    tags = [tag for tag in page.starts(*_HEADINGS) if level is None or tag.name == f"h{level}"]
    tag = _only([tag for tag in tags if page.words(tag) == " ".join(text.split())], "heading with this text")
    end = page.end_of(tag)
    return [Edit(tag.start + 1, tag.start + 3, f"h{new}"), Edit(end.start + 2, end.start + 4, f"h{new}")]


def _empty_headings(page: HtmlText, _: FixContext) -> list[Edit]:
    edits = []
    for tag in page.starts(*_HEADINGS):
        start, end = page.inner(tag)
        if not page.text[start:end].strip():
            edits.append(Edit(tag.start, page.end_of(tag).end, ""))
    if not edits:
        raise NoFix("the headings hold elements, which a person has to look at")
    return edits


def _json_ld(page: HtmlText, _: FixContext) -> list[Edit]:
    edits = []
    for tag in page.starts("script"):
        if (tag.get("type") or "").lower() != "application/ld+json":
            continue
        start, end = page.inner(tag)
        repaired = _TRAILING_COMMA.sub(r"\1", page.text[start:end])
        if repaired != page.text[start:end]:
            try:
                json.loads(repaired)
            except ValueError:
                continue
            edits.append(Edit(start, end, repaired))
    if not edits:
        raise NoFix("the fault is not one that can be repaired without a person")
    return edits


def _copyright(page: HtmlText, context: FixContext) -> list[Edit]:
    return [year_edit(page.text, int(context.finding.evidence["year"]), context.year)]


def year_edit(text: str, old: int, new: int) -> Edit:
    """The edit that extends the years of the last copyright notice to the current one."""
    notices = list(re.finditer(rf"(?:©|&copy;|\(c\)|copyright)[^\n]{{0,120}}?\b({old})\b", text, re.IGNORECASE))
    if not notices:
        raise NoFix("the file does not have the notice; it comes from a template or a script")
    match = notices[-1]
    is_range = re.search(r"\d{4}\s*(?:-|\u2013|&ndash;)\s*$", text[: match.start(1)]) is not None
    return Edit(match.start(1), match.end(1), str(new) if is_range else f"{old}-{new}")


def _attribute(text: str) -> str:
    return escape(text, quote=False).replace('"', "&quot;")


def _only(tags: Iterable[Tag], name: str) -> Tag:
    known = list(tags)
    if len(known) != 1:
        raise NoFix(f"the file has {len(known) or 'no'} {name}{'s' if len(known) > 1 else ''}; it is not clear what to change")
    return known[0]


HTML_FIXES: Mapping[str, HtmlFix] = {
    "title-missing": _title,
    "description-missing": _description,
    "lang-missing": _lang,
    "lang-invalid": _invalid_lang,
    "viewport-missing": _viewport,
    "zoom-blocked": _zoom,
    "charset-unclear": _charset,
    "head-element-repeated": _repeated,
    "canonical-missing": _canonical_missing,
    "canonical-invalid": _canonical_invalid,
    "canonical-chain": _canonical_target,
    "canonical-to-bad": _canonical_target,
    "canonical-to-home": _canonical_target,
    "hreflang-invalid": _hreflang,
    "broken-internal-link": _broken_link,
    "redirected-internal-link": _redirected_link,
    "link-downgrade": _https_link,
    "mixed-active": _https_resource,
    "mixed-passive": _https_resource,
    "form-insecure": _https_resource,
    "broken-anchor": _anchor,
    "nofollow-internal": _follow,
    "image-alt-missing": _alt,
    "frame-without-title": _frame_title,
    "h1-missing": _first_heading,
    "heading-skip": _skipped_level,
    "heading-empty": _empty_headings,
    "jsonld-invalid": _json_ld,
    "copyright-stale": _copyright,
}
"""The rules whose findings can be fixed in HTML."""

TEMPLATE_RULES = frozenset(
    {
        "lang-missing",
        "lang-invalid",
        "viewport-missing",
        "zoom-blocked",
        "charset-unclear",
        "head-element-repeated",
        "copyright-stale",
    }
)
"""Rules whose findings are fixed in the template where a generator makes the pages."""

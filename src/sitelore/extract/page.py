"""Extracts a document from a response: the entry point of the package, a pure function.

`read` picks the reader for the kind of body. HTML is decoded, redacted and parsed, and `_read_html` makes a draft of it:
metadata, links, structured data, page objects, and the main content as Markdown and plain text. Plain text, files and answers
of a declared API become drafts as well. `_build_reading` redacts a draft a second time, because parsing can bring secrets to
light, and packs it into a document.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, cast

import msgspec
import zstandard

from sitelore.extract import dom
from sitelore.extract.app_shell import ENOUGH_WORDS, NO_SHELL, detect_app_shell
from sitelore.extract.content.documentation import PageFacts
from sitelore.extract.content.main_content import Content, Title, find_title, main_content, place_title
from sitelore.extract.content.visibility import Hiding, drop_hidden, drop_unseen, read_hiding, shown
from sitelore.extract.links import NO_LINKS, PageLinks, PageResolver, find_links, read_anchors, resolver_for
from sitelore.extract.markdown import Written, prepare, write
from sitelore.extract.metadata import Metadata, collect_elements, links_of, read_metadata, read_robots
from sitelore.extract.process_memory import LARGE_PAGE, memory_for_page
from sitelore.extract.redaction.redactor import (
    RedactedSource,
    Redactor,
    add_counts,
    as_clean,
    declare_clean,
    redactor_of,
    snapshot_bytes,
    source_of,
)
from sitelore.extract.response_body import FILE_KINDS, ContentKind, content_kind, decode
from sitelore.extract.structured.entities import Entity, text_for_redaction, texts_of, with_texts
from sitelore.extract.structured.jsonld import read_scripts
from sitelore.extract.text import (
    TextStats,
    detect_language,
    escape_markdown,
    find_invisible,
    fingerprint,
    first_heading,
    normalise_lines,
    remove_characters,
    sanitise_markdown,
    soft_404_score,
    text_stats,
)
from sitelore.model.api_loader import is_loaded
from sitelore.model.audit.facts import AuditFacts
from sitelore.model.document import (
    MAX_STORED_LINKS,
    PROBED_HEADER,
    Anchor,
    Blob,
    Document,
    Heading,
    Landmark,
    Link,
    Reading,
    ReadOptions,
)
from sitelore.model.ids import BlobKey, CleanBytes, CleanText
from sitelore.model.response import RenderDecision, RenderReason, Response, Shell
from sitelore.model.settings import rules_for
from sitelore.model.url import Url

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # msgspec does not encode Url, a subclass of str, by itself
# The level's own hash table is made for larger texts: this one takes a fifth less time and 1.5 % more space.
_COMPRESSOR = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters.from_level(1, hash_log=14))
_MAX_FINGERPRINT_WORDS = 300
_SUSPICIOUS_SCORE = 0.3
_STRATEGIES_WITHOUT_SCRIPTS = frozenset({"text", "api", *FILE_KINDS})
_MAX_ATTRIBUTE_CHARS = 50_000
_CUT_ATTRIBUTES = frozenset({"style", "srcset", "data-srcset", "data-lazy-srcset"})
"""Attributes that are lists, so that their start is valid on its own."""
_PASSWORD_FIELD = "input[type=password]"  # noqa: S105 a selector
_RAW_TEXT = frozenset({"script", "style", "template", "noscript"})
_NO_PAGE_OBJECTS: tuple[Any, ...] = ((), (), (), {})


@dataclass(frozen=True, slots=True)
class _PageSource:
    """The redacted source of a page."""

    source: RedactedSource
    removed: dict[str, int]
    """The number of secrets of each kind that were removed from it."""
    redactor: Redactor
    charset: str = "utf-8"


@dataclass(frozen=True, slots=True)
class _Draft:
    """Everything extracted from a page, before it is redacted a second time."""

    metadata: Metadata
    strategy: str
    markdown: str
    text: str
    links: PageLinks = NO_LINKS
    anchors: tuple[tuple[str, str], ...] = ()
    """(anchor, text) of headings and definition terms in the content."""
    structured: tuple[Entity, ...] = ()
    page_objects: tuple[Any, ...] = _NO_PAGE_OBJECTS
    """Forms, actions, media, brand."""
    facts: AuditFacts | None = None
    """The audit facts of an HTML page."""
    login_form: bool = False
    logged_out: str = ""


@dataclass(frozen=True, slots=True)
class _RedactedDraft:
    """The parts of a draft after their second redaction."""

    texts: list[CleanText]
    """In the order of `_texts`."""
    text_utf8: bytes
    """The plain text in UTF-8."""
    entities: list[Any]
    """Structured data, forms, actions, media, brand and audit facts, as JSON."""
    links: PageLinks
    url: Url
    canonical: Url | None
    removed: dict[str, int] = field(default_factory=dict)
    """The number of secrets of each kind that were removed."""
    has_fewer_links: bool = False
    """Whether a link was changed because parsing brought a secret to light in it."""


class _LinkRow(msgspec.Struct, gc=False):
    """A `Link` for JSON: a struct costs a fifth of a frozen dataclass, and a page has hundreds of links."""

    url: str
    nofollow: bool
    text: CleanText


def read(response: Response, options: ReadOptions) -> Reading:
    """Redact, parse and extract a page. Never raises for what a site sends: failures are described in `problem`."""
    if options.overrides and is_loaded(response.url, options.overrides):
        return _read_api_answer(response, options)
    kind, refusal = content_kind(response, documents=options.documents)
    if kind is None:
        return Reading(problem=f"content_type: {refusal}")
    size = len(response.body)
    try:
        with memory_for_page(size) if size >= LARGE_PAGE else nullcontext():
            return _read_file(kind, response, options) if kind in FILE_KINDS else _read_page(kind, response, options)
    except MemoryError:
        return Reading(problem="parse_error: the page needs more memory than a reading process may take")


def _read_page(kind: ContentKind, response: Response, options: ReadOptions) -> Reading:
    """Read HTML, Markdown or plain text."""
    decoded = decode(response.body, response.header("content-type") or "")
    redactor = redactor_of(options.redaction).for_page(decoded.utf8, response.url.path)
    source, removed = redactor.redact_page(decoded.utf8, decoded.known_text)
    page = _PageSource(source, removed, redactor, decoded.charset)
    del decoded  # a large page would stay in memory twice
    if kind is ContentKind.HTML:
        draft = _read_html(source, response, options)
    else:
        draft = _read_text(source.text, response, is_markdown=kind is ContentKind.MARKDOWN)
    return _build_reading(draft, response, options, page)


def _read_html(source: RedactedSource, response: Response, options: ReadOptions) -> _Draft:
    tree = dom.parse(source.for_parser())
    site = resolver_for(options.dropped_parameters)
    page = collect_elements(tree)
    scripts = read_scripts(page.scripts) if page.scripts else []
    metadata = read_metadata(page, response, site.rules, scripts)
    resolver = site.on_page(metadata.base)
    links = find_links(page.links, response.url, resolver, nofollow=metadata.robots.nofollow)
    login_form = options.login and bool(dom.select(tree, _PASSWORD_FIELD))
    logged_out = _logged_out_sign(tree, response.url, options)
    structured: tuple[Entity, ...] = ()
    page_objects = _NO_PAGE_OBJECTS
    facts: AuditFacts | None = None
    if options.full:
        from sitelore.extract.structured.entities import read_structured  # noqa: PLC0415 not loaded for content alone

        structured = read_structured(tree, metadata.base, page, scripts)
        page_objects = _read_page_objects(tree, page.annotated, response, links, resolver)
    if options.facts:
        from sitelore.extract.audit_facts import read_audit_facts  # noqa: PLC0415 loaded for audits only

        facts = read_audit_facts(tree, page, metadata, response, resolver)
    hiding = read_hiding(tree, page.sheets)
    if len(response.body) >= LARGE_PAGE:
        _shorten_attributes(tree)
    title = find_title(tree, metadata.title, metadata.site_name)
    page_facts = PageFacts(page.metas, bool(page.scripts), response.url.host, response.url.path)
    content = main_content(tree, source, options.overrides, page_facts)
    anchors = read_anchors(content.nodes)
    written = _write_content(tree, content, title, hiding, resolver)
    return _Draft(
        metadata,
        content.strategy,
        written.markdown,
        written.text,
        links=links.without_nodes(),
        anchors=anchors,
        structured=structured,
        page_objects=page_objects,
        facts=facts,
        login_form=login_form,
        logged_out=logged_out,
    )


def _logged_out_sign(tree: dom.Tree, url: Url, options: ReadOptions) -> str:
    """Which declared sign of a visitor who is not logged in the page shows; empty when it shows none."""
    rules = rules_for(options.overrides, url.host) if options.overrides else None
    if rules is None:
        return ""
    signs = rules.logged_out
    if signs.selector and dom.select_safely(tree, signs.selector):
        return f"an element matches {signs.selector!r}"
    if signs.text and signs.text in _text_without_scripts(tree):
        return f"it contains {signs.text!r}"
    return ""


def _text_without_scripts(tree: dom.Tree) -> str:
    pieces = [
        text.data
        for text in dom.text_nodes(tree)
        if (element := dom.as_element(text.parent)) is None or element.tag not in _RAW_TEXT
    ]
    return " ".join(" ".join(pieces).split())


def _read_page_objects(
    tree: dom.Tree, annotated: list[dom.Element], response: Response, links: PageLinks, resolver: PageResolver
) -> tuple[Any, ...]:
    """Forms, actions, media and brand of a page, read before anything is cut from the tree. Only home pages have a brand."""
    from sitelore.extract.dom import Selectors  # noqa: PLC0415 as above
    from sitelore.extract.page_objects.actions import marked_elements, read_actions  # noqa: PLC0415 a crawl may ask for content alone
    from sitelore.extract.page_objects.forms import read_forms  # noqa: PLC0415 as above
    from sitelore.extract.page_objects.media import read_media  # noqa: PLC0415 as above

    selectors, marked = Selectors(tree), marked_elements(annotated)
    forms = read_forms(tree, response.url, resolver, selectors)
    actions = read_actions(tree, marked, links, resolver, selectors)
    media = read_media(tree, marked, links, resolver)
    probed = response.header(PROBED_HEADER)
    if probed is None and not response.url.is_root:
        return forms, actions, media, {}
    from sitelore.extract.page_objects.brand import read_brand, unpack_probe  # noqa: PLC0415 a site has one home page

    return forms, actions, media, read_brand(tree, resolver, probed=unpack_probe(probed) if probed else None)


def _shorten_attributes(tree: dom.Tree) -> None:
    """Cut long lists and drop other long attributes (inlined files, script state): serialising one takes eight times its size.

    No URL of a page or an image is that long, and half of one would be a wrong URL.
    """
    for element, name, value in dom.long_attributes(tree, _MAX_ATTRIBUTE_CHARS):
        if name in _CUT_ATTRIBUTES:
            dom.set_attribute(element, name, value[:_MAX_ATTRIBUTE_CHARS])
        else:
            dom.drop_attribute(element, name)


def _write_content(tree: dom.Tree, content: Content, title: Title, hiding: Hiding, resolver: PageResolver) -> Written:
    """The chosen content as Markdown and as plain text, after its title and without its hidden parts. Changes the tree."""
    nodes = shown(content.nodes)
    drop_hidden(hiding, tree, nodes)
    return write(place_title(title, nodes), resolver)


def _read_text(source: CleanText, response: Response, *, is_markdown: bool) -> _Draft:
    text = normalise_lines(source)
    title = first_heading(text) if is_markdown else ""
    robots = read_robots([], response.header_all("x-robots-tag"))
    metadata = Metadata(title=title, h1=title, base=response.url, robots=robots)
    return _Draft(metadata, "text", sanitise_markdown(text) if is_markdown else escape_markdown(text), text)


def _read_file(kind: ContentKind, response: Response, options: ReadOptions) -> Reading:
    """Read a PDF or office file. The file itself is stored only when no secret is in it."""
    from sitelore.extract.files.reader import Unreadable, all_text, as_html_page, file_metadata, read_file  # noqa: PLC0415 rare

    redactor = redactor_of(options.redaction)
    try:
        kind, content = read_file(kind, response.body)
        source, removed = redactor.redact(as_html_page(content))
        keep = options.keep_snapshot and not removed and not content.has_embedded_files
        keep = keep and not redactor.has_secrets(all_text(kind, response.body, content))
    except Unreadable as error:
        return Reading(problem=f"{'content_type' if error.is_unsupported else 'parse_error'}: {error}")
    tree = dom.parse(source)
    metadata = file_metadata(tree, content.facts, response)
    draft = _read_all_content(tree, dom.first(tree, "main") or tree, metadata, kind.value, response, options)
    page = _PageSource(source_of(source), removed, redactor)
    return replace(_build_reading(draft, response, replace(options, keep_snapshot=keep), page), looks_missing=0.0)


def _read_api_answer(response: Response, options: ReadOptions) -> Reading:
    """Read the answer of a declared API, whose declaration says where its text is."""
    from sitelore.extract.files.api_records import records_as_html  # noqa: PLC0415 few sites declare any
    from sitelore.extract.files.reader import Unreadable, as_html_page, file_metadata  # noqa: PLC0415 few sites declare any

    decoded = decode(response.body, response.header("content-type") or "")
    redactor = redactor_of(options.redaction)
    source, removed = redactor.redact(decoded.text)
    try:
        content = records_as_html(source, response, options.overrides)
    except Unreadable as error:
        return Reading(problem=f"parse_error: {error}")
    tree = dom.parse(as_html_page(content))
    prepare(tree)
    drop_unseen(tree)
    metadata = file_metadata(tree, content.facts, response)
    draft = _read_all_content(tree, dom.body(tree) or tree, metadata, "api", response, options)
    page = _PageSource(source_of(source), removed, redactor, decoded.charset)
    return replace(_build_reading(draft, response, options, page), looks_missing=0.0)


def _read_all_content(
    tree: dom.Tree, content: dom.Node, metadata: Metadata, strategy: str, response: Response, options: ReadOptions
) -> _Draft:
    """The draft of a tree that is all content: nothing has to be chosen."""
    resolver = resolver_for(options.dropped_parameters).on_page(response.url)
    links = find_links(links_of(tree), response.url, resolver, nofollow=metadata.robots.nofollow)
    written = write((content,), resolver)
    return _Draft(metadata, strategy, written.markdown, written.text, links=links.without_nodes())


def _build_reading(draft: _Draft, response: Response, options: ReadOptions, page: _PageSource) -> Reading:
    """Redact a draft and pack it into a document, with the facts that the crawl needs."""
    facts: dict[str, Any] = {}
    if options.facts:
        from sitelore.extract.audit_facts import facts_to_record, file_facts  # noqa: PLC0415 as above

        facts = facts_to_record(draft.facts or file_facts(draft.strategy, draft.metadata, response), draft.text)
    redacted = _redact_draft(draft, facts, response.url, page.redactor)
    document, stats, shell = _build_document(draft, redacted, options, page)
    snapshot = None
    # A secret that only shows after parsing (written with entities) is still in the source, which is then not stored.
    if options.keep_snapshot and not document.noarchive and not redacted.removed and not redacted.has_fewer_links:
        snapshot = _blob(snapshot_bytes(response.body, page.source, page.charset, touched=bool(page.removed)))
    redactions = dict(page.removed)
    add_counts(redactions, redacted.removed)
    urls, refused = redacted.links.urls, redacted.links.nofollow if options.obey_nofollow else frozenset()
    score = soft_404_score(document.title, document.h1, document.text, document.word_count)
    return Reading(
        title=document.title,
        content_hash=document.content_hash,
        novelty=stats.novelty,
        sketch=stats.sketch,
        canonical=redacted.canonical,
        word_count=document.word_count,
        noindex=document.noindex,
        noarchive=document.noarchive,
        links=tuple([url for url in urls if url not in refused] if refused else urls),
        refused_links=tuple([url for url in urls if url in refused]) if refused else (),
        page_links=_encode_links(document),
        looks_missing=score,
        fingerprint=_fingerprint(document, score),
        document=_blob(declare_clean(_ENCODER.encode(document))),
        facts=_blob(declare_clean(_ENCODER.encode(redacted.entities[-1]))) if facts else None,
        snapshot=snapshot,
        redactions=redactions,
        shell=shell,
        login_form=draft.login_form,
        logged_out=draft.logged_out,
    )


def _encode_links(document: Document) -> bytes:
    """The links of a document as they are stored (`Reading.page_links`): each as the fields of a `PageLink`."""
    links = [(link.url, "", link.text, link.nofollow) for link in document.links[:MAX_STORED_LINKS]]
    return msgspec.msgpack.encode(links) if links else b""


def _fingerprint(document: Document, score: float) -> tuple[int, ...]:
    # Only short pages and likely error pages are ever compared.
    if document.word_count >= _MAX_FINGERPRINT_WORDS and score < _SUSPICIOUS_SCORE:
        return ()
    return fingerprint(document.title, document.text, document.url)


def _blob(data: CleanBytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(data).hexdigest()), declare_clean(_COMPRESSOR.compress(data)))


def _build_document(
    draft: _Draft, redacted: _RedactedDraft, options: ReadOptions, page: _PageSource
) -> tuple[Document, TextStats, Shell]:
    """The document, the statistics of its text, and the evidence that scripts make the page."""
    metadata = draft.metadata
    outline = metadata.outline
    title, h1, description, author, site_name, image, markdown, text, *rest = redacted.texts
    headings = [{"level": level, "text": rest[at]} for at, (level, _) in enumerate(outline.headings)]
    landmarks = [{"role": role, "label": rest[at]} for at, (role, _) in enumerate(outline.landmarks, len(headings))]
    del rest[: len(headings) + len(landmarks)]
    anchors = [{"id": rest[at], "text": rest[at + 1]} for at in range(0, 2 * len(draft.anchors), 2)]
    del rest[: 2 * len(anchors)]
    meta: dict[str, str] = dict(zip(metadata.meta, rest, strict=False))
    urls, nofollow = redacted.links.urls, redacted.links.nofollow
    links = list(map(_LinkRow, map(str, urls), map(nofollow.__contains__, urls), rest[len(meta) :]))
    structured, forms, actions, media, brand, _ = redacted.entities
    has_single_spaces = draft.strategy != "text" and text == draft.text
    stats = text_stats(title, text, redacted.text_utf8, has_single_spaces=has_single_spaces)
    lang = metadata.lang or detect_language(text)
    is_static = options.rendering.in_browser or draft.strategy in _STRATEGIES_WITHOUT_SCRIPTS
    shell = NO_SHELL if is_static else _detect_shell(page, stats.words)
    document = Document(
        url=redacted.url,
        title=title,
        h1=h1,
        description=description,
        lang=lang,
        lang_source=("page" if metadata.lang else "detected") if lang else "",
        canonical_url=redacted.canonical or "",
        author=author,
        published=metadata.published,
        modified=metadata.modified,
        site_name=site_name,
        image=image,
        headings=cast("tuple[Heading, ...]", headings),
        landmarks=cast("tuple[Landmark, ...]", landmarks),
        anchors=cast("tuple[Anchor, ...]", anchors),
        markdown=markdown,
        text=text,
        word_count=stats.words,
        content_hash=stats.content_hash,
        strategy=draft.strategy,
        links=cast("tuple[Link, ...]", links),
        noindex=metadata.robots.noindex,
        nofollow=metadata.robots.nofollow,
        noarchive=metadata.robots.noarchive,
        meta=meta,
        structured=structured,
        forms=forms,
        actions=actions,
        media=media,
        brand=brand,
        rendering=_describe_rendering(options.rendering, shell),
    )
    return document, stats, shell


def _detect_shell(page: _PageSource, words: int) -> Shell:
    """The evidence that scripts make a page. It quotes the page, so it is redacted."""
    if words >= ENOUGH_WORDS:
        return NO_SHELL
    shell = detect_app_shell(page.source.text, words)
    return replace(shell, evidence=tuple(map(str, _clean(list(shell.evidence), page.redactor)[0]))) if shell.evidence else shell


def _describe_rendering(decision: RenderDecision, shell: Shell) -> dict[str, object]:
    """How the page was fetched, and why; of one that came over HTTP, also that it looks like an app shell."""
    reason, evidence = decision.reason, decision.evidence
    if not decision.in_browser and not evidence and shell.weight >= 1:
        evidence = shell.evidence
        reason = RenderReason.SHELL if reason is RenderReason.STATIC else reason
    rendering: dict[str, object] = {"mode": "browser" if decision.in_browser else "http", "reason": reason}
    return {**rendering, "evidence": evidence} if evidence else rendering


def _redact_draft(draft: _Draft, facts: dict[str, Any], url: Url, redactor: Redactor) -> _RedactedDraft:
    """Redact everything that goes into the document, and the audit facts.

    All of it is scanned at once; only where the scan finds something, each part is redacted on its own. Entities are scanned as
    the JSON that they become in the document.
    """
    canonical, links = draft.metadata.canonical, draft.links
    kinds = (draft.structured, *draft.page_objects, facts)
    parts = [_ENCODER.encode(kind) if kind else b"" for kind in kinds]
    entities = b"\n".join(map(text_for_redaction, filter(None, parts)))
    texts = _texts(draft, links)
    text_utf8 = _encode(draft.text)
    others = _encode("\n".join([*texts[:_TEXT_AT], *texts[_TEXT_AT + 1 :], url, canonical or "", *links.urls]))
    whole = b"\n".join((text_utf8, others, entities))
    hides_in_entities = b"\\u" in entities
    if hides_in_entities or find_invisible(whole):
        hides_in_entities = hides_in_entities or bool(find_invisible(entities))
        texts = _without_invisible(texts)
        text_utf8 = _encode(texts[_TEXT_AT])
        whole = b"\n".join((_encode("\n".join([*texts, url, canonical or "", *links.urls])), entities))
    if redactor.has_secrets(whole):
        return _redact_parts(draft, url, redactor, kinds, parts)
    removed: dict[str, int] = {}
    if hides_in_entities:
        parts, removed = _clean_entities(kinds, parts, redactor)
    return _RedactedDraft(as_clean(texts), text_utf8, _as_json(parts, kinds), links, url, canonical, removed)


def _redact_parts(draft: _Draft, url: Url, redactor: Redactor, kinds: tuple[Any, ...], parts: list[bytes]) -> _RedactedDraft:
    """Redact each part of a draft on its own. `parts` is the JSON of each kind of entity."""
    canonical, links = draft.metadata.canonical, _redact_links(draft.links, redactor)
    clean, removed = _clean(_texts(draft, links), redactor)
    parts, in_entities = _clean_entities(kinds, parts, redactor)
    removed |= {name: max(count, removed.get(name, 0)) for name, count in in_entities.items()}
    return _RedactedDraft(
        clean,
        _encode(clean[_TEXT_AT]),
        _as_json(parts, kinds),
        links,
        redactor.redact_url(url),
        redactor.redact_url(canonical) if canonical else None,
        removed,
        has_fewer_links=links is not draft.links,
    )


_TEXT_AT = 7
"""Where `_texts` has the plain text."""


def _texts(draft: _Draft, links: PageLinks) -> list[str]:
    """Every text of a document, in a fixed order."""
    metadata, outline = draft.metadata, draft.metadata.outline
    own = [metadata.title, metadata.h1, metadata.description, metadata.author, metadata.site_name, metadata.image]
    labels = [text for pairs in (outline.headings, outline.landmarks) for _, text in pairs]
    anchors = chain.from_iterable(draft.anchors)
    return [*own, draft.markdown, draft.text, *labels, *anchors, *metadata.meta.values(), *links.texts]


def _redact_links(links: PageLinks, redactor: Redactor) -> PageLinks:
    """Links with marks in place of secrets, which entities can hide in URLs too. A URL with a mark is not fetched."""
    if not redactor.has_secrets("\n".join(links.urls)):
        return links
    texts: dict[Url, str] = {}
    for url, text in zip(map(redactor.redact_url, links.urls), links.texts, strict=True):
        texts.setdefault(url, text)
    return PageLinks(list(texts), list(texts.values()), frozenset(map(redactor.redact_url, links.nofollow)))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _without_invisible(texts: list[str]) -> list[str]:
    chars = find_invisible(_encode("\n".join(texts)))
    if not chars:
        return texts
    has_ascii = any(map(str.isascii, chars))
    return [remove_characters(text, chars).strip() if has_ascii or not text.isascii() else text for text in texts]


def _clean(texts: list[str], redactor: Redactor) -> tuple[list[CleanText], dict[str, int]]:
    """Texts without invisible characters, then without secrets: the former can hide the latter."""
    texts = _without_invisible(texts)
    return redactor.redact_all(texts, _encode("\n".join(texts)))


def _clean_entities(kinds: tuple[Any, ...], parts: list[bytes], redactor: Redactor) -> tuple[list[bytes], dict[str, int]]:
    """The JSON of each kind of entity with clean texts, and the number of secrets of each kind that were removed."""
    texts = texts_of(kinds)
    clean, removed = _clean(texts, redactor)
    changed = {text: str(kept) for text, kept in zip(texts, clean, strict=True) if text != kept}
    if changed:
        parts = [_ENCODER.encode(with_texts(kind, changed)) if kind else b"" for kind in kinds]
    return parts, removed


def _as_json(parts: list[bytes], kinds: tuple[Any, ...]) -> list[Any]:
    return [msgspec.Raw(part) if part else kind for part, kind in zip(parts, kinds, strict=True)]

"""One page, start to end: the pure function the rest of the house calls."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
import zstandard

from sitelore.extract import dom
from sitelore.extract.about.links import Found, PageResolver, find_links, resolver_for
from sitelore.extract.about.metadata import Metadata, robots_of
from sitelore.extract.about.survey import links_of
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.decode import decode
from sitelore.extract.draft import Draft
from sitelore.extract.invisible import find_invisible, remove_characters
from sitelore.extract.language import detect_language
from sitelore.extract.markdown import prepare, write
from sitelore.extract.markup import read_html
from sitelore.extract.measuring import Measures, measure
from sitelore.extract.media import DOCUMENTS, Kind, kind_of
from sitelore.extract.memory import room_for
from sitelore.extract.missing import fingerprint, looks_missing
from sitelore.extract.plaintext import defused, escaped, first_heading, normal_lines
from sitelore.extract.redact import Redactor, Source, add_counts, redactor_of, sealed, snapshot_bytes, source_of
from sitelore.extract.shell import ENOUGH_WORDS, NO_SHELL, shell_of
from sitelore.extract.structured.entities import text_for_redaction, texts_of, with_texts
from sitelore.model.api_loader import is_loaded
from sitelore.model.document import Blob, Document, Heading, Landmark, Link, Reading, ReadOptions
from sitelore.model.ids import BlobKey, CleanBytes, CleanText
from sitelore.model.rendering import RenderDecision, RenderReason, Shell
from sitelore.model.response import Response
from sitelore.model.url import Url

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # a Url is a string that msgspec does not take for one
# The level's own table of hashes is made for larger texts: this one takes a fifth less time and 1.5 % more room.
_COMPRESSOR = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters.from_level(1, hash_log=14))
_SKETCHED_WORDS = 300
_SUSPECT = 0.3
_NO_SCRIPTS = frozenset({"text", "api", *DOCUMENTS})


@dataclass(frozen=True, slots=True)
class _Kept:
    """The same, redacted a second time."""

    texts: list[CleanText]
    entities: list[Any]
    """Structured data, forms, actions, media and brand, as the document has them."""
    links: Found
    url: Url
    canonical: Url | None
    hidden: dict[str, int] = field(default_factory=dict)
    """What was taken out of them."""
    is_less: bool = False
    """Whether a link was left out because parsing brought a secret to light in it."""


_Redacted = tuple[Source, dict[str, int], Redactor]
"""A page's source, what was taken out of it, and by what."""


class _Row(msgspec.Struct, gc=False):
    """A `Link` on its way into JSON: a struct costs a fifth of a frozen dataclass, and a page has a hundred of them."""

    url: str
    nofollow: bool
    text: CleanText


class _HeadingRow(msgspec.Struct, gc=False):
    """A `Heading` on its way into JSON, likewise."""

    level: int
    text: CleanText


class _LandmarkRow(msgspec.Struct, gc=False):
    """A `Landmark` on its way into JSON, likewise."""

    role: str
    label: CleanText


def read(response: Response, options: ReadOptions) -> Reading:
    """Redact, parse and extract a page. Never raises for what a site sends: that is data, in `problem`."""
    if options.overrides and is_loaded(response.url, options.overrides):
        return _read_records(response, options)
    kind, refusal = kind_of(response, documents=options.documents)
    if kind is None:
        return Reading(problem=f"content_type: {refusal}")
    try:
        with room_for(len(response.body)):
            return _read_file(kind, response, options) if kind in DOCUMENTS else _read_as(kind, response, options)
    except MemoryError:
        return Reading(problem="parse_error: the page needs more memory than a reading process may take")


def _read_as(kind: Kind, response: Response, options: ReadOptions) -> Reading:
    decoded = decode(response.body, response.header("content-type") or "")
    redactor = redactor_of(options.redaction).for_page(decoded.utf8, response.url.path)
    source, found = redactor.page(decoded.utf8, decoded.known_text)
    charset = decoded.charset
    del decoded  # a large page would stay in memory twice
    if kind is Kind.HTML:
        draft = read_html(source, response, options)
    else:
        draft = _read_text(source.text, response, is_markdown=kind is Kind.MARKDOWN)
    return _reading(draft, response, options, charset, (source, found, redactor))


def _read_file(kind: Kind, response: Response, options: ReadOptions) -> Reading:
    """A PDF or office file, which becomes a page of nothing but content. It is kept itself only when no secret is in it."""
    from sitelore.extract.files.reading import as_page, metadata_of, read_document, unseen_text  # noqa: PLC0415 most sites have none
    from sitelore.extract.files.unreadable import Unreadable  # noqa: PLC0415 as above

    try:
        kind, told = read_document(kind, response.body)
        page = as_page(told)
        redactor = redactor_of(options.redaction)
        source, found = redactor.text(page)
        keep = options.keep_snapshot and not found and not told.holds_files
        keep = keep and not redactor.holds(unseen_text(kind, response.body, told))
    except Unreadable as why:
        return Reading(problem=f"{'content_type' if why.is_closed else 'parse_error'}: {why}")
    tree = dom.parse(source)
    metadata = metadata_of(tree, told.facts, response)
    resolver = resolver_for(options.dropped_parameters).on_page(response.url)
    links = find_links(links_of(tree), response.url, resolver, nofollow=metadata.robots.nofollow)
    content = (dom.first(tree, "main") or tree,)
    draft = _written(metadata, kind.value, content, resolver, links)
    own = replace(options, keep_snapshot=keep)
    reading = _reading(draft, response, own, "utf-8", (source_of(source), found, redactor))
    return replace(reading, looks_missing=0.0)


def _read_records(response: Response, options: ReadOptions) -> Reading:
    """An answer of a declared API: its text is taken from where the declaration says."""
    from sitelore.extract.files.reading import as_page, metadata_of  # noqa: PLC0415 few sites declare any
    from sitelore.extract.files.unreadable import Unreadable  # noqa: PLC0415 as above
    from sitelore.extract.records import records_as_page  # noqa: PLC0415 as above

    decoded = decode(response.body, response.header("content-type") or "")
    redactor = redactor_of(options.redaction)
    source, found = redactor.text(decoded.text)
    try:
        told = records_as_page(source, response, options.overrides)
    except Unreadable as why:
        return Reading(problem=f"parse_error: {why}")
    tree = dom.parse(as_page(told))
    prepare(tree)
    drop_unseen(tree)
    resolver = resolver_for(options.dropped_parameters).on_page(response.url)
    metadata = metadata_of(tree, told.facts, response)
    links = find_links(links_of(tree), response.url, resolver, nofollow=metadata.robots.nofollow)
    content = (dom.body(tree) or tree,)
    draft = _written(metadata, "api", content, resolver, links)
    redacted = (source_of(source), found, redactor)
    return replace(_reading(draft, response, options, decoded.charset, redacted), looks_missing=0.0)


def _written(metadata: Metadata, strategy: str, content: tuple[dom.Node, ...], resolver: PageResolver, links: Found) -> Draft:
    """Write a page that is all content: nothing has to be chosen."""
    written = write(content, resolver)
    return Draft(metadata, strategy, written.markdown, written.text, links=links.untied)


def _without_secrets(links: Found, redactor: Redactor) -> Found:
    """An address can hide a secret in entities too. It is kept with the mark in its place, which nobody fetches."""
    if not redactor.holds("\n".join(links.urls)):
        return links
    texts: dict[Url, str] = {}
    for url, text in zip(map(redactor.url, links.urls), links.texts, strict=True):
        texts.setdefault(url, text)
    return Found(list(texts), list(texts.values()), frozenset(map(redactor.url, links.refused)))


def _read_text(source: CleanText, response: Response, *, is_markdown: bool) -> Draft:
    text = normal_lines(source)
    title = first_heading(text) if is_markdown else ""
    robots = robots_of([], response.header_all("x-robots-tag"))
    metadata = Metadata(title=title, h1=title, base=response.url, robots=robots)
    return Draft(metadata, "text", defused(text) if is_markdown else escaped(text), text)


def _reading(draft: Draft, response: Response, options: ReadOptions, charset: str, redacted: _Redacted) -> Reading:
    source, found, redactor = redacted
    kept = _kept(draft, response.url, redactor)
    document, measures, shell = _document(draft, kept, source, options, redactor)
    snapshot = None
    # A secret that only shows after parsing (written with entities) is still in the source: that is not kept at all.
    if options.keep_snapshot and not document.noarchive and not kept.hidden and not kept.is_less:
        body = snapshot_bytes(response.body, source, charset, touched=bool(found))
        snapshot = _blob(body)
    redactions = dict(found)
    add_counts(redactions, kept.hidden)
    urls, kept_from = kept.links.urls, kept.links.refused if options.obey_nofollow else frozenset()
    missing = looks_missing(document.title, document.h1, document.text, document.word_count)
    return Reading(
        title=document.title,
        content_hash=document.content_hash,
        novelty=measures.novelty,
        sketch=measures.sketch,
        canonical=kept.canonical,
        word_count=document.word_count,
        noindex=document.noindex,
        noarchive=document.noarchive,
        links=tuple([url for url in urls if url not in kept_from] if kept_from else urls),
        refused_links=tuple([url for url in urls if url in kept_from]) if kept_from else (),
        looks_missing=missing,
        fingerprint=_sketch(document, missing),
        document=_blob(sealed(_ENCODER.encode(document))),
        snapshot=snapshot,
        redactions=redactions,
        shell=shell,
    )


def _shell(source: Source, words: int, redactor: Redactor) -> Shell:
    """Evidence quotes the page: it is redacted like the rest of it."""
    if words >= ENOUGH_WORDS:
        return NO_SHELL
    shell = shell_of(source.text, words)
    return replace(shell, evidence=tuple(map(str, _clean(list(shell.evidence), redactor)[0]))) if shell.evidence else shell


def _rendering(how: RenderDecision, shell: Shell) -> dict[str, object]:
    """How the page was got and why so. Of what came over HTTP it is also said that it looks like a shell."""
    reason, evidence = how.reason, how.evidence
    if not how.wanted and not evidence and shell.weight >= 1:
        evidence = shell.evidence
        reason = RenderReason.SHELL if reason is RenderReason.STATIC else reason
    told: dict[str, object] = {"mode": "browser" if how.wanted else "http", "reason": reason}
    return {**told, "evidence": evidence} if evidence else told


def _sketch(document: Document, missing: float) -> tuple[int, ...]:
    """Error pages are short or say so, and only with them is anything ever compared."""
    if document.word_count >= _SKETCHED_WORDS and missing < _SUSPECT:
        return ()
    return fingerprint(document.title, document.text, document.url)


def _document(
    draft: Draft, kept: _Kept, source: Source, options: ReadOptions, redactor: Redactor
) -> tuple[Document, Measures, Shell]:
    """The document; what its text measures; how much it is a shell."""
    metadata = draft.metadata
    outline = metadata.outline
    title, h1, description, author, site_name, image, markdown, text, *rest = kept.texts
    headings = [_HeadingRow(level, rest[at]) for at, (level, _) in enumerate(outline.headings)]
    landmarks = [_LandmarkRow(role, rest[at]) for at, (role, _) in enumerate(outline.landmarks, len(headings))]
    del rest[: len(headings) + len(landmarks)]
    meta: dict[str, str] = dict(zip(metadata.meta, rest, strict=False))
    urls, refused = kept.links.urls, kept.links.refused
    links = list(map(_Row, map(str, urls), map(refused.__contains__, urls), rest[len(meta) :]))
    structured, forms, actions, media, brand = kept.entities
    is_kept = text == draft.text
    measures = measure(title, text, is_even=draft.strategy != "text" and is_kept)
    lang = metadata.lang or detect_language(text)
    shell = NO_SHELL if options.rendering.wanted or draft.strategy in _NO_SCRIPTS else _shell(source, measures.words, redactor)
    document = Document(
        url=kept.url,
        title=title,
        h1=h1,
        description=description,
        lang=lang,
        lang_source=("page" if metadata.lang else "detected") if lang else "",
        canonical_url=kept.canonical or "",
        author=author,
        published=metadata.published,
        modified=metadata.modified,
        site_name=site_name,
        image=image,
        headings=cast("tuple[Heading, ...]", headings),
        landmarks=cast("tuple[Landmark, ...]", landmarks),
        markdown=markdown,
        text=text,
        word_count=measures.words,
        content_hash=measures.content_hash,
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
        rendering=_rendering(options.rendering, shell),
    )
    return document, measures, shell


def _kept(draft: Draft, url: Url, redactor: Redactor) -> _Kept:
    """Everything that goes into the document, redacted once more.

    All of it is looked through at once. Only where something is in it, it is looked at part by part. Each kind of entity comes
    as the JSON it is in the document: it has to be written anyhow, to look through it.
    """
    canonical, links = draft.metadata.canonical, draft.links
    kinds = (draft.structured, *draft.page_objects)
    parts = [_ENCODER.encode(kind) if kind else b"" for kind in kinds]
    entities = b"\n".join(map(text_for_redaction, filter(None, parts)))
    addresses = "\n".join([url, canonical or "", *links.urls]).encode("utf-8", "replace")
    texts, utf8 = _texts(draft, links)
    whole = b"\n".join((utf8, addresses, entities))
    hides = b"\\u" in entities
    if hides or find_invisible(whole):
        hides = hides or bool(find_invisible(entities))
        texts, utf8 = _seen(texts, utf8)
        whole = b"\n".join((utf8, addresses, entities))
    if redactor.source("", whole)[1]:
        return _kept_in_parts(draft, url, redactor, kinds, parts)
    clean, hidden = redactor.many(texts, b"")
    if hides:
        parts, hidden = _clean_entities(kinds, parts, redactor)
    return _Kept(clean, _as_json(parts, kinds), links, url, canonical, hidden)


def _kept_in_parts(draft: Draft, url: Url, redactor: Redactor, kinds: tuple[Any, ...], parts: list[bytes]) -> _Kept:
    """The same where something has to be taken out. `parts` is the JSON of each kind."""
    canonical, links = draft.metadata.canonical, _without_secrets(draft.links, redactor)
    clean, hidden = redactor.many(*_seen(*_texts(draft, links)))
    parts, within = _clean_entities(kinds, parts, redactor)
    hidden |= {name: max(count, hidden.get(name, 0)) for name, count in within.items()}
    canonical = redactor.url(canonical) if canonical else None
    return _Kept(clean, _as_json(parts, kinds), links, redactor.url(url), canonical, hidden, links is not draft.links)


def _texts(draft: Draft, links: Found) -> tuple[list[str], bytes]:
    """Every text of a document, and all of them in UTF-8."""
    metadata, outline = draft.metadata, draft.metadata.outline
    own = [metadata.title, metadata.h1, metadata.description, metadata.author, metadata.site_name, metadata.image]
    told = [text for pairs in (outline.headings, outline.landmarks) for _, text in pairs]
    others = [*told, *metadata.meta.values(), *links.texts]
    texts = [*own, draft.markdown, draft.text, *others]
    return texts, "\n".join(texts).encode("utf-8", "replace")


def _seen(texts: list[str], utf8: bytes) -> tuple[list[str], bytes]:
    """Texts without what cannot be seen. `utf8` is all of them."""
    chars = find_invisible(utf8)
    if not chars:
        return texts, utf8
    plain = any(map(str.isascii, chars))
    texts = [remove_characters(text, chars).strip() if plain or not text.isascii() else text for text in texts]
    return texts, "\n".join(texts).encode("utf-8", "replace")


def _clean(texts: list[str], redactor: Redactor) -> tuple[list[CleanText], dict[str, int]]:
    """Texts without what cannot be seen, then without secrets: the first can hide the second."""
    return redactor.many(*_seen(texts, "\n".join(texts).encode("utf-8", "replace")))


def _clean_entities(kinds: tuple[Any, ...], parts: list[bytes], redactor: Redactor) -> tuple[list[bytes], dict[str, int]]:
    """The same for every text in entities, kind by kind. `parts` is the JSON of each kind."""
    texts = texts_of(kinds)
    clean, hidden = _clean(texts, redactor)
    changed = {text: str(kept) for text, kept in zip(texts, clean, strict=True) if text != kept}
    if changed:
        parts = [_ENCODER.encode(with_texts(kind, changed)) if kind else b"" for kind in kinds]
    return parts, hidden


def _as_json(parts: list[bytes], kinds: tuple[Any, ...]) -> list[Any]:
    return [msgspec.Raw(part) if part else kind for part, kind in zip(parts, kinds, strict=True)]


def _blob(data: CleanBytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(data).hexdigest()), sealed(_COMPRESSOR.compress(data)))

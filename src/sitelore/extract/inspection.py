"""Reports what extraction kept of a page and what it cut, with the reasons. For `sitelore inspect`.

`page.read` decides; this module reads the page a second time to show what was decided.
"""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field, replace

import msgspec
import zstandard

from sitelore.extract import dom
from sitelore.extract.content.documentation import PageFacts
from sitelore.extract.content.main_content import PageSelection, select_units
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.markdown import prepare, write_text
from sitelore.extract.metadata import collect_elements
from sitelore.extract.page import read
from sitelore.extract.redaction.redactor import redact, redact_all
from sitelore.extract.response_body import ContentKind, content_kind, decode
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.ids import CleanText
from sitelore.model.response import Response
from sitelore.model.url import Url

_NEVER_TEXT = ("script", "style", "template", "head", "noscript")
_MAX_BLOCKS = 5000
_FIRST_WORDS = 12
_MAX_NAMES = 3


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page's text, and whether it was kept."""

    text: str
    score: float
    """How much it looks like content, 0 to 1."""
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A structural unit that was cut from the content, as a whole."""

    text: str
    """Its first words."""
    words: int
    """Words of the whole unit."""
    element: str
    """The element in CSS form, such as `div.related`."""
    reason: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """A page's reading, with a report on what was kept and cut."""

    reading: Reading
    strategy: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    """Figures of the whole page, by name."""
    blocks: tuple[Block, ...] = ()
    """In page order."""
    cuts: tuple[Cut, ...] = ()
    """In page order."""


@dataclass(frozen=True, slots=True)
class _InspectedFields:
    """The fields of a document that the report needs."""

    text: str = ""
    strategy: str = ""


def inspect(response: Response, options: ReadOptions) -> Inspection:
    """Read a response and report on each of its blocks. Pure, like `page.read`."""
    reading = read(response, options)
    if reading.document is None:
        return Inspection(reading)
    data = zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
    document = msgspec.json.decode(data, type=_InspectedFields)
    if content_kind(response)[0] is not ContentKind.HTML:
        return Inspection(reading, document.strategy)
    decoded = decode(response.body, response.header("content-type") or "")
    source, _ = redact(decoded.text)
    selected = _selected_units(source, response.url, document.strategy)
    if selected is None:
        blocks = _cleaned(_blocks_by_text(_lines(source), document))
        return Inspection(reading, document.strategy, _word_counts(blocks), blocks)
    blocks = _cleaned(_blocks_by_score(selected))
    return Inspection(reading, document.strategy, {**_word_counts(blocks), **selected.scores}, blocks, _cuts(selected))


def _selected_units(source: CleanText, url: Url, strategy: str) -> PageSelection | None:
    """The units that were selected from a page; None where another strategy chose the content."""
    tree = dom.parse(source)
    page = collect_elements(tree)
    prepare(tree)
    drop_unseen(tree)
    body = dom.body(tree)
    facts = PageFacts(page.metas, bool(page.scripts), url.host, url.path)
    selected = select_units(body, facts) if body is not None else None
    return selected if selected is not None and selected.strategy == strategy else None


def _cuts(selected: PageSelection) -> tuple[Cut, ...]:
    page, words = selected.page, selected.page.blocks.words
    texts = page.texts()
    cuts = []
    for cut in sorted(selected.selection.cuts, key=lambda cut: cut.first):
        text = " ".join(_plain(b" ".join(texts[cut.first : cut.last])).split()[:_FIRST_WORDS])
        element = selected.elements[page.elements.order[cut.element]] if cut.element >= 0 else None
        cuts.append(Cut(text, sum(words[cut.first : cut.last]), _described(element), cut.reason))
    clean = _clean_texts([cut.text for cut in cuts])
    return tuple(replace(cut, text=text) for cut, text in zip(cuts, clean, strict=True))


def _described(element: dom.Element | None) -> str:
    """An element in CSS form; a part of a page that is not one element is a section."""
    if element is None:
        return "section"
    names = "".join(f".{name}" for name in (element.attr("class") or "").split()[:_MAX_NAMES])
    own = element.attr("id")
    return f"{element.tag}{f'#{own}' if own else ''}{names}"


def _plain(text: bytes) -> str:
    return html.unescape(text.decode("utf-8", "replace"))


def _word_counts(blocks: tuple[Block, ...]) -> dict[str, float]:
    words = sum(len(block.text.split()) for block in blocks)
    kept = sum(len(block.text.split()) for block in blocks if block.kept)
    return {"words": float(words), "kept_words": float(kept), "kept_share": round(kept / max(1, words), 3)}


def _cleaned(blocks: list[Block]) -> tuple[Block, ...]:
    clean = _clean_texts([block.text for block in blocks])
    return tuple(replace(block, text=text) for block, text in zip(blocks, clean, strict=True))


def _clean_texts(texts: list[str]) -> list[str]:
    """Redacted texts: character references can hide a secret in the source that shows after parsing."""
    clean, _ = redact_all(texts, "\n".join(texts).encode("utf-8", "replace"))
    return list(map(str, clean))


def _blocks_by_score(selected: PageSelection) -> list[Block]:
    """Blocks with their scores, and whether they were kept."""
    page, selection = selected.page, selected.selection
    reasons = [""] * len(selection.kept)
    for cut in selection.cuts:
        reasons[cut.first : cut.last] = [cut.reason] * (cut.last - cut.first)
    rows = zip(page.texts(), page.scores, selection.kept, reasons, strict=True)
    return [
        Block(" ".join(_plain(text).split()), round(score, 3), kept, _reason(reason, kept=kept))
        for text, score, kept, reason in rows
    ]


def _reason(reason: str, *, kept: bool) -> str:
    if kept:
        return "part of the content"
    return reason or "repeats a kept block, heads nothing that was kept, or is outside the content"


def _lines(source: CleanText) -> list[str]:
    """All text of a page, one line per block."""
    tree = dom.parse(source)
    for element in dom.elements_list(tree, *_NEVER_TEXT):
        dom.drop(element)
    return write_text((dom.body(tree) or tree,), with_menus=True).split("\n")[:_MAX_BLOCKS]


def _blocks_by_text(lines: list[str], document: _InspectedFields) -> list[Block]:
    """A line counts as kept as often as the document has it. The last copies win, because menus come first."""
    left = Counter(filter(None, document.text.split("\n")))
    blocks = []
    for line in reversed(lines):
        kept = left[line] > 0
        left[line] -= kept
        reason = f"part of the content ({document.strategy})" if kept else "outside the content, or hidden"
        blocks.append(Block(line, 1.0 if kept else 0.0, kept, reason))
    blocks.reverse()
    return blocks

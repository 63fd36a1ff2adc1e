"""A page taken apart for a person who wonders why: every block of its text, kept or dropped, and by what reason.

`page.read` decides; this module only shows what it decided. It reads the page a second time, which is nothing a crawl does.
"""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field, replace

import msgspec
import zstandard

from sitelore.extract import dom
from sitelore.extract.content.main import Content, Judged, main_content
from sitelore.extract.decode import decode
from sitelore.extract.markdown import prepare, write_text
from sitelore.extract.media import Kind, kind_of
from sitelore.extract.page import read
from sitelore.extract.redact import redact_all, redact_source, source_of
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.ids import CleanText
from sitelore.model.response import Response

_NEVER_TEXT = ("script", "style", "template", "head", "noscript")
_MAX_BLOCKS = 5000


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page's text and what became of it."""

    text: str
    score: float
    """How much it looks like content, 0 to 1."""
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was made of a page, and how."""

    reading: Reading
    strategy: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    """Figures of the whole page, by name."""
    blocks: tuple[Block, ...] = ()
    """In page order."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The part of a document that is shown beside its blocks."""

    text: str = ""
    strategy: str = ""


def inspect(response: Response, options: ReadOptions) -> Inspection:
    """The reading of a response with a verdict on each of its blocks. As pure as reading it."""
    reading = read(response, options)
    if reading.document is None:
        return Inspection(reading)
    data = zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
    document = msgspec.json.decode(data, type=_Read)
    if kind_of(response)[0] is not Kind.HTML:
        return Inspection(reading, document.strategy)
    decoded = decode(response.body, response.header("content-type") or "")
    source, _ = redact_source(decoded.text, decoded.utf8)
    tree = dom.parse(source)
    prepare(tree)
    content = main_content(tree, source_of(source), response.url.host, options.overrides)
    blocks = _blocks(content, source, document)
    return Inspection(reading, document.strategy, {**_sums(blocks), **content.scores}, blocks)


def _sums(blocks: tuple[Block, ...]) -> dict[str, float]:
    words = sum(len(block.text.split()) for block in blocks)
    kept = sum(len(block.text.split()) for block in blocks if block.kept)
    return {"words": float(words), "kept_words": float(kept), "kept_share": round(kept / max(1, words), 3)}


def _blocks(content: Content, source: CleanText, document: _Read) -> tuple[Block, ...]:
    """What the scorer said of each block, where it decided; else what the document has and has not."""
    if content.judged is not None and content.strategy == "learned":
        blocks = _by_score(content.judged)
    else:
        blocks = _by_text(_lines(source), document)
    texts = [block.text for block in blocks]
    # Parsing can bring a secret to light that entities hid in the source.
    clean, _ = redact_all(texts, "\n".join(texts).encode("utf-8", "replace"))
    return tuple(replace(block, text=str(text)) for block, text in zip(blocks, clean, strict=True))


def _by_score(judged: Judged) -> list[Block]:
    choice = judged.choice
    texts = [html.unescape(text.decode("utf-8", "replace")) for text in judged.texts()]
    return [
        Block(" ".join(text.split()), round(score, 3), kept, _reason(score, choice.threshold, kept=kept))
        for text, score, kept in zip(texts, choice.scores, choice.kept, strict=True)
    ]


def _reason(score: float, threshold: float, *, kept: bool) -> str:
    if score >= threshold:
        return "scored as content" if kept else "says again what a kept block says, or belongs to something that goes"
    return "goes with what is around it" if kept else f"scored below {threshold:.2f}"


def _lines(source: CleanText) -> list[str]:
    """All text of a page, one line a block."""
    tree = dom.parse(source)
    for element in dom.elements_list(tree, *_NEVER_TEXT):
        dom.drop(element)
    return write_text((dom.body(tree) or tree,), with_menus=True).split("\n")[:_MAX_BLOCKS]


def _by_text(lines: list[str], document: _Read) -> list[Block]:
    """A line is kept when the document has it, as often as the document has it; the last copies win, menus come first."""
    left = Counter(filter(None, document.text.split("\n")))
    blocks = []
    for line in reversed(lines):
        kept = left[line] > 0
        left[line] -= kept
        reason = f"part of the content ({document.strategy})" if kept else "outside of the content, or hidden"
        blocks.append(Block(line, 1.0 if kept else 0.0, kept, reason))
    blocks.reverse()
    return blocks

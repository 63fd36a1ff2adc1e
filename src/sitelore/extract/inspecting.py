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
from sitelore.extract.content.main import Content, Judged, main_content
from sitelore.extract.decode import decode
from sitelore.extract.markdown import prepare
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
    """A page's reading, with a report on how it was made."""

    reading: Reading
    strategy: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    """Figures of the whole page, by name."""
    blocks: tuple[Block, ...] = ()
    """In page order."""
    cuts: tuple[Cut, ...] = ()
    """In page order."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The fields of a document that the report needs."""

    text: str = ""
    strategy: str = ""


def inspect(response: Response, options: ReadOptions) -> Inspection:
    """Read a response and report on each of its blocks. Pure, like `page.read`."""
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
    """Blocks with their scores where the scorer decided; otherwise lines, by whether the document has them."""
    if content.judged is not None and content.strategy == "learned":
        blocks = _by_score(content.judged)
    else:
        blocks = _by_text(_lines(source), document)
    texts = [block.text for block in blocks]
    # Character references can hide a secret in the source that shows after parsing.
    clean, _ = redact_all(texts, "\n".join(texts).encode("utf-8", "replace"))
    return tuple(replace(block, text=str(text)) for block, text in zip(blocks, clean, strict=True))


def _by_score(judged: Judged) -> list[Block]:
    cuts = judged.cuts
    texts = [html.unescape(text.decode("utf-8", "replace")) for text in judged.page.texts()]
    return [
        Block(" ".join(text.split()), round(score, 3), kept, _reason(score, cuts.threshold, kept=kept))
        for text, score, kept in zip(texts, judged.page.scores, cuts.kept, strict=True)
    ]


def _reason(score: float, threshold: float, *, kept: bool) -> str:
    if score >= threshold:
        return "scored as content" if kept else "repeats a kept block, or is inside something that was cut"
    return "kept with the blocks around it" if kept else f"scored below {threshold:.2f}"


def _lines(source: CleanText) -> list[str]:
    """All text of a page, one line per block."""
    tree = dom.parse(source)
    for element in dom.elements_list(tree, *_NEVER_TEXT):
        dom.drop(element)
    lines = [" ".join(line.split()) for line in dom.to_text(dom.body(tree) or tree).split("\n")]
    return list(filter(None, lines))[:_MAX_BLOCKS]


def _by_text(lines: list[str], document: _Read) -> list[Block]:
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

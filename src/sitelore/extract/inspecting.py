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
from sitelore.extract.about.survey import surveyed
from sitelore.extract.content.documentation import PageFacts
from sitelore.extract.content.main import Content, Judgement, main_content
from sitelore.extract.decode import decode
from sitelore.extract.media import Kind, kind_of
from sitelore.extract.page import read
from sitelore.extract.redact import redact_all, redact_source, source_of
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.ids import CleanText
from sitelore.model.response import Response

_NEVER_TEXT = ("script", "style", "template", "head", "noscript")
_MAX_BLOCKS = 5000
_SHOWN_BLOCKS, _SHOWN_CHARS = 20, 300


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
    """The element in CSS form, such as `div.related`; of a section, its heading."""
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
    survey = surveyed(tree)
    facts = PageFacts(survey.metas, bool(survey.scripts))
    content = main_content(tree, source_of(source), response.url.host, options.overrides, facts)
    blocks = _blocks(content, source, document)
    cuts = _cuts(content.judgement) if content.judgement is not None else ()
    return Inspection(reading, document.strategy, {**_sums(blocks), **content.scores}, blocks, cuts)


def _sums(blocks: tuple[Block, ...]) -> dict[str, float]:
    words = sum(len(block.text.split()) for block in blocks)
    kept = sum(len(block.text.split()) for block in blocks if block.kept)
    return {"words": float(words), "kept_words": float(kept), "kept_share": round(kept / max(1, words), 3)}


def _blocks(content: Content, source: CleanText, document: _Read) -> tuple[Block, ...]:
    """Blocks with their scores where they decided; otherwise lines, by whether the document has them."""
    if content.judgement is not None:
        blocks = _by_judgement(content.judgement, content.strategy)
    else:
        blocks = _by_text(_lines(source), document)
    return tuple(
        replace(block, text=text) for block, text in zip(blocks, _redacted([block.text for block in blocks]), strict=True)
    )


def _redacted(texts: list[str]) -> list[str]:
    """Texts of a page without secrets: character references can hide one in the source that shows after parsing."""
    clean, _ = redact_all(texts, "\n".join(texts).encode("utf-8", "replace"))
    return list(map(str, clean))


def _texts(judgement: Judgement) -> list[str]:
    return [" ".join(html.unescape(text.decode("utf-8", "replace")).split()) for text in judgement.page.texts()]


def _by_judgement(judgement: Judgement, strategy: str) -> list[Block]:
    selection, scores = judgement.selection, judgement.page.scores
    reasons = [
        _reason(strategy, score, selection.threshold, kept=kept) for score, kept in zip(scores, selection.kept, strict=True)
    ]
    for cut in selection.cuts:
        for block in range(cut.first, cut.last):
            if not selection.kept[block]:
                reasons[block] = cut.reason
    columns = zip(_texts(judgement), scores, selection.kept, reasons, strict=True)
    return [Block(text, round(score, 3), kept, reason) for text, score, kept, reason in columns]


def _reason(strategy: str, score: float, threshold: float, *, kept: bool) -> str:
    """Why a block that is in no unit that was cut was kept or dropped."""
    if strategy != "learned":
        return f"in the content region ({strategy})" if kept else "outside the content region, or a heading of nothing kept"
    if score >= threshold:
        return "scored as content" if kept else "repeats a kept block, or is a heading of nothing kept"
    return "kept with the blocks around it" if kept else f"scored below {threshold:.2f}"


def _cuts(judgement: Judgement) -> tuple[Cut, ...]:
    """The units that were cut, in page order."""
    words, texts = judgement.page.blocks.words, _texts(judgement)
    pairs = zip(judgement.selection.cuts, judgement.cut_elements, strict=True)
    found = sorted(pairs, key=lambda pair: (pair[0].first, -pair[0].last))
    starts = _redacted([" ".join(texts[cut.first : min(cut.last, cut.first + _SHOWN_BLOCKS)]) for cut, _ in found])
    return tuple(
        Cut(start[:_SHOWN_CHARS], sum(words[cut.first : cut.last]), _css_name(element), cut.reason)
        for (cut, element), start in zip(found, starts, strict=True)
    )


def _css_name(element: dom.Element) -> str:
    """An element as CSS names it, such as `div.related` or `ul#menu`."""
    classes = dom.attribute(element, "class").split()[:1]
    identity = dom.attribute(element, "id").split()[:1]
    return element.tag + "".join(f".{name}" for name in classes) + "".join(f"#{name}" for name in identity)


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

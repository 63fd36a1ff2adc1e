"""How well a text matches what people marked as a page's content. Used by the benchmark and by the pinned floors.

Text is what a reader sees: Markdown is rendered (CommonMark with tables, by markdown-it) and its tags are taken out; HTML
loses its tags; plain text stays as it is. Words are lower-cased `\\w+`. Word F1 of a page is that of the two multisets of
words; a corpus's figure is the mean over its pages. The page's `h1` is left out on both sides: every output should begin with
it, and whoever marked the pages often left it out. Alternative texts of images are not counted. A snippet is there when its
words stand in the text in its order, whatever is between them but words; the share of `with` and `without` snippets is taken
over all snippets of the pages.
"""

from __future__ import annotations

import html
import json
import lzma
import os
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
CORPORA = Path(os.environ.get("SITELORE_CORPORA", str(ROOT.parent / "shared" / "corpora")))
CORPUS = CORPORA / "content" / "wcxb_dev.jsonl.xz"
TYPES = ("article", "documentation", "service", "forum", "listing", "collection", "product")

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_NO_TEXT = re.compile(r"<(script|style|template|head)\b.*?</\1\s*>|<!--.*?-->|<![^>]*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"""</?([a-zA-Z][\w:-]*)(?:[^>"']|"[^"]*"|'[^']*')*>""")
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "q", "ruby", "rt", "rp", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr",
})  # fmt: skip
_H1 = re.compile(r"<h1\b[^>]*>(.*?)</h1\s*>", re.DOTALL | re.IGNORECASE)
_TITLE_WITHIN = 60
"""Words from the start among which a title is looked for."""
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the corpus."""

    id: str
    url: str
    type: str
    html: str
    gold: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How one output compares with one page's gold."""

    type: str
    f1: float
    precision: float
    recall: float
    wanted: int
    wanted_found: int
    unwanted: int
    unwanted_found: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The scores of many pages."""

    pages: int
    f1: float
    precision: float
    recall: float
    with_share: float
    without_share: float


def corpus() -> Iterator[Page]:
    """The pages, one at a time: all of them together are 1 GB."""
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Page(
                str(row["id"]),
                row["url"],
                row["type"],
                row["html"],
                row["gold"] or "",
                tuple(row["with"]),
                tuple(row["without"]),
            )


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def text_of(kind: str, output: str) -> str:
    """What a reader sees of an output: `markdown`, `html` or `text`."""
    if kind == "markdown":
        return text_of_html(_renderer().render(_FRONT_MATTER.sub("", output, count=1)))
    return text_of_html(output) if kind == "html" else output


def text_of_html(source: str) -> str:
    """HTML without its tags; where a block ends, a word ends."""

    def instead(tag: re.Match[str]) -> str:
        return "" if tag[1].lower() in _INLINE else "\n"

    return html.unescape(_TAG.sub(instead, _NO_TEXT.sub("", source)))


def score(page: Page, text: str) -> Score:
    """One output against its gold."""
    title = _title_words(page.html)
    found = _without(_WORD.findall(text.lower()), title)
    gold = _without(_WORD.findall(page.gold.lower()), title)
    common = (Counter(found) & Counter(gold)).total()
    precision = common / len(found) if found else float(not gold)
    recall = common / len(gold) if gold else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    stream = f" {' '.join(found)} "
    return Score(
        page.type,
        f1,
        precision,
        recall,
        len(page.wanted),
        sum(_holds(stream, snippet) for snippet in page.wanted),
        len(page.unwanted),
        sum(_holds(stream, snippet) for snippet in page.unwanted),
    )


def _title_words(source: str) -> list[str]:
    """The words of a page's first `h1` that has any."""
    for match in _H1.finditer(source):
        if words := _WORD.findall(text_of_html(match[1]).lower()):
            return words
    return []


def _without(words: list[str], title: list[str]) -> list[str]:
    """Words without the title, where it stands near their start."""
    size = len(title)
    for at in range(min(len(words) - size + 1, _TITLE_WITHIN) if size else 0):
        if words[at : at + size] == title:
            return words[:at] + words[at + size :]
    return words


def _holds(stream: str, snippet: str) -> bool:
    words = " ".join(_WORD.findall(snippet.lower()))
    # Where no spaces part the words, a snippet may begin in the middle of what `\w+` takes for one.
    return (words if _UNSPACED.search(words) else f" {words} ") in stream


def figures(scores: Sequence[Score]) -> Figures:
    """Means of the pages, shares of the snippets."""
    return Figures(
        len(scores),
        statistics.fmean(s.f1 for s in scores),
        statistics.fmean(s.precision for s in scores),
        statistics.fmean(s.recall for s in scores),
        sum(s.wanted_found for s in scores) / max(1, sum(s.wanted for s in scores)),
        sum(s.unwanted_found for s in scores) / max(1, sum(s.unwanted for s in scores)),
    )


def by_type(scores: Iterable[Score]) -> dict[str, Figures]:
    """The figures of each type of page, and of all together under `all`."""
    scores = list(scores)
    groups = {kind: [s for s in scores if s.type == kind] for kind in TYPES}
    return {kind: figures(group) for kind, group in [("all", scores), *groups.items()] if group}

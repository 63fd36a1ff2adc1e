"""Unusual documents for fuzzing: generated from a seed, or real ones truncated, changed, combined and mislabelled.

Not a test. A seed always gives the same document, so that a failure can be named by its number.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sitelore.model.response import Response
from sitelore.model.url import Url

_TAGS = re.findall(
    r"\S+",
    """
    a abbr address area article aside audio b base blockquote body br button canvas caption center cite code
    col colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form
    frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main
    map mark marquee math menu meta mi mn mo ms mtext nav nobr noscript object ol optgroup option p param
    picture plaintext pre q ruby rb rt rtc rp s samp script section select slot small source span strong style
    sub summary sup svg desc foreignObject title table tbody td template textarea tfoot th thead time tr track
    u ul var video wbr xmp x-card annotation annotation-xml semantics
    """,
)
_TAME = re.findall(
    r"\S+",
    """
    div p span a b i ul ol li table tr td th h1 h2 h3 section article main blockquote pre code img br em
    strong dl dt dd figure
    """,
)
_NAMES = (
    "class", "id", "href", "src", "data-src", "srcset", "style", "role", "aria-label", "aria-hidden", "hidden",
    "colspan", "rowspan", "start", "value", "type", "rel", "name", "property", "content", "itemprop", "itemtype",
    "datetime", "lang", "dir", "alt", "title", "reversed", "align", "checked", "open", "http-equiv", "charset",
    "data-lang", "xml:lang", "language", "headers",
)  # fmt: skip
_VALUES = (
    "", "x", "main content", "nav", "footer cookie-banner", "entry-content", "display:none", "DISPLAY : NONE ;",
    "true", "1", "-1", "0", "65534", "99999999999999999999", "1e9", "abc", "#", "#fn1", "/a/b", "//host/x",
    "http://[::1", "javascript:alert(1)", "data:image/png;base64,AAAA", "a.jpg 1x, b.jpg 2x,, c.jpg", "main",
    "navigation", "MAIN", "author", "datePublished", "2024-13-45", "2024-05-06T07:08:09Z", "noindex,nofollow",
    "canonical", "next", "language-python", "highlight-source-rust", "math/tex", "refresh", "utf-16",
    "x-user-defined", "\u202eevil", "\x00", "&amp;&#0;&#x110000;&notanentity;", "'\"`<>",
)  # fmt: skip
_WORDS = (
    "lorem", "ipsum", "naïve", "東京都", "שלום", "🙂👩‍👩‍👧", "e\u0301", "\u200b", "\xa0",
    "\xad", "\ufeff", "*", "_", "`", "```", "#", ">", "- ", "1. ", "|", "---", "===", "~~~", "[x](y)", "![a](b)",
    "<b>", "&lt;", "&", "&#13;", "&nbsp;", "\\", "$", "$$", "http://a.b/c_d_", "\r\n", "\t", "[^1]", "[ ]", ": ",
    "word", "Sentence ends. ", "AKIAIOSFODNN7EXAMPLQ", "\x0b", "\x1f", "\u2028", "]]>", "<!--", "-->",
)  # fmt: skip
_CHARSETS = (
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "latin-1",
    "shift_jis",
    "gb18030",
    "euc-kr",
    "koi8-r",
    "cp1252",
    "utf-7",
)
_TYPES = (
    "text/html", "text/html; charset=utf-8", "text/html; charset=utf-16", "text/html; charset=nonsense",
    'text/html;charset="', "application/xhtml+xml", "text/plain", "text/markdown; charset=utf-8",
    "text/plain; charset=shift_jis", "", "application/xml", "image/png", "TEXT/HTML; CHARSET=ISO-8859-1",
)  # fmt: skip
_MAX_CHARS = 400_000


@dataclass(frozen=True, slots=True)
class GeneratedDocument:
    """A generated document and how it was made."""

    seed: int
    kind: str
    response: Response


def generate(seed: int, real: Sequence[str]) -> GeneratedDocument:
    """The document of a seed. `real` are pages to mutate; equal arguments give equal documents."""
    dice = random.Random(seed)
    kind = dice.choice(_KINDS if real else _KINDS[: -len(_MUTATIONS)])
    source = kind(dice, real)
    if isinstance(source, bytes):
        body, content_type = source, dice.choice(_TYPES)
    else:
        body, content_type = source[:_MAX_CHARS].encode("utf-8", "replace"), "text/html; charset=utf-8"
    headers = [("content-type", content_type)] if content_type else []
    if dice.random() < 0.1:
        headers += [
            ("link", '<x>; rel="canonical"'),
            ("x-robots-tag", "otherbot: noindex, sitelore: none"),
            ("content-language", "de, en"),
        ]
    url = Url.parse(dice.choice(("http://site.example/", "https://site.example/2024/05/06/a?b=c", "http://[::1]:8080/%7Ex/")))
    assert url is not None
    return GeneratedDocument(seed, kind.__name__.strip("_"), Response(url, 200, tuple(headers), body))


def _text(dice: random.Random, max_words: int = 12) -> str:
    return " ".join(dice.choices(_WORDS, k=dice.randint(0, max_words)))


def _attributes(dice: random.Random) -> str:
    parts = []
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        quote = dice.choice(("'", '"', ""))
        parts.append(f" {dice.choice(_NAMES)}={quote}{dice.choice(_VALUES)}{quote}")
    return "".join(parts)


def _tree(dice: random.Random, _: Sequence[str]) -> str:
    """Randomly opened and closed tags, half of them wrong."""
    tags = dice.choice((_TAGS, _TAME, _TAME))
    parts, open_tags = ["<!doctype html>" if dice.random() < 0.5 else ""], ["body"]
    for _step in range(dice.randint(1, 600)):
        what = dice.random()
        if what < 0.45:
            open_tags.append(dice.choice(tags))
            parts.append(f"<{open_tags[-1]}{_attributes(dice)}>")
        elif what < 0.75:
            parts.append(_text(dice))
        elif what < 0.95 and open_tags:
            parts.append(f"</{open_tags.pop()}>")
        else:
            parts.append(f"</{dice.choice(tags)}>")
    return "".join(parts)


def _deep(dice: random.Random, _: Sequence[str]) -> str:
    """Deeply nested elements."""
    tags = dice.sample(_TAGS, dice.randint(1, 4)) if dice.random() < 0.5 else dice.sample(_TAME, dice.randint(1, 4))
    opening = "".join(f"<{tag}{_attributes(dice)}>" for tag in tags)
    depth = min(dice.choice((50, 600, 5_000, 40_000)), _MAX_CHARS // max(1, 2 * len(opening)))
    closing = "".join(f"</{tag}>" for tag in reversed(tags)) if dice.random() < 0.5 else ""
    return opening * depth + _text(dice, 40) + closing * depth


def _misnested(dice: random.Random, _: Sequence[str]) -> str:
    """Formatting elements closed in the wrong order, which a parser must rebuild again and again."""
    tags = dice.sample(("a", "b", "i", "u", "em", "font", "nobr", "code", "small", "strong"), 5)
    nesting = "".join(f"<{tag}{_attributes(dice)}>" for tag in tags) + f"<p>{_text(dice)}" + f"</{tags[0]}></{tags[2]}>"
    return nesting * dice.choice((3, 60, 400))


def _tables(dice: random.Random, _: Sequence[str]) -> str:
    """Tables with impossible spans, nested tables, rows without a table."""
    span = (0, 1, 2, 3, 7, 1000, 65534, -4, 10**12)
    rows = []
    for _row in range(dice.randint(1, 60)):
        cells = "".join(
            f"<{dice.choice(('td', 'th'))} colspan={dice.choice(span)} rowspan={dice.choice(span)}>{_text(dice, 4)}"
            + (f"<table><tr><td>{_text(dice, 3)}</table>" if dice.random() < 0.05 else "")
            for _cell in range(dice.choice((0, 1, 3, 8, 40)))
        )
        rows.append(dice.choice(("<tr>", "<tr hidden>", "<thead><tr>", "")) + cells)
    table = f"<table{_attributes(dice)}><caption>{_text(dice)}</caption>{''.join(rows)}</table>"
    nested = dice.choice((1, 1, 2, 30))
    return "<table><tr><td>" * (nested - 1) + table * dice.choice((1, 1, 5)) + "</table>" * (nested - 1)


def _lists(dice: random.Random, _: Sequence[str]) -> str:
    """Nested lists with any start number, and other elements between the items."""
    parts = []
    for _step in range(dice.choice((5, 80, 800))):
        start = dice.choice(("", " start=-5", " start=999999999999999999999", " reversed", " type=a"))
        parts.append(
            dice.choice((f"<ol{start}>", "<ul>", "<li>", "<li value=x>", "</ul>", "</ol>", "<dl>", "<dt>", "<dd>", "<menu>"))
        )
        parts.append(_text(dice, 3))
        parts.append(dice.choice(("", "", "<input type=checkbox checked>", "<pre>x\n  y</pre>", "<blockquote>q", "<p>p")))
    return "".join(parts)


def _huge_attributes(dice: random.Random, _: Sequence[str]) -> str:
    """One attribute that is longer than most pages, or very many of them."""
    size = dice.choice((1_000, 50_000, 300_000))
    tag, name = dice.choice(("div", "p", "a", "img", "meta", "td", "time", "h1", "link", "html", "code")), dice.choice(_NAMES)
    filler = dice.choice(
        ("a", " ab", "-nav", "x ", ";display:", "a.jpg 1x,", "&amp;", "(", "../", "%2", "\u0301", "9", "2024-")
    )
    value = (filler * (size // len(filler) + 1))[:size]
    if dice.random() < 0.3:
        return f"<{tag} " + " ".join(f"{name}{at}=x" for at in range(size // 20)) + f">{_text(dice)}</{tag}>"
    return f'<p>before</p><{tag} {name}="{value}">{_text(dice)}</{tag}><p>{_text(dice, 30)}</p>'


def _repeated(dice: random.Random, _: Sequence[str]) -> str:
    """One piece of HTML ten thousand times."""
    part = "".join(f"<{tag}{_attributes(dice)}>{_text(dice, 2)}" for tag in dice.sample(_TAGS, dice.randint(1, 3)))
    return part * min(dice.choice((100, 3_000, 20_000)), _MAX_CHARS // len(part))


def _unclosed(dice: random.Random, _: Sequence[str]) -> str:
    """Unclosed elements that contain the rest of the page."""
    opener = dice.choice(
        ("<!--", "<![CDATA[", "<script>", "<style>", "<title>", "<textarea>", "<plaintext>", "<noscript>", "<template>",
         "<math><annotation-xml encoding=text/html>", "<select>", "<a href='", "<p class=", "<!doctype ", "</", "<", "&#x",
         "<frameset>", "<svg><")
    )  # fmt: skip
    return f"<p>{_text(dice, 30)}</p>{opener}{_text(dice, 60)}<p>{_text(dice)}</p>" * dice.choice((1, 1, 40))


def _markdown_like(dice: random.Random, _: Sequence[str]) -> str:
    """Text with Markdown syntax, in code, in links, and in footnotes that refer to themselves."""
    ticks = "`" * dice.randint(1, 9)
    parts = [
        f"<pre><code class=language-{dice.choice(('py', 'c++', '`', 'x y'))}>{ticks}\n{_text(dice, 20)}\n{ticks}</code></pre>",
        f"<p><code>{ticks}{_text(dice, 3)}{ticks}</code> <a href='x y(z)'>[{_text(dice, 3)}]</a><img alt='](x)' src='a b.png'>",
        "<p>x<sup id=r1><a href=#n1>1</a></sup><sup><a href=#r1>2</a></sup>",
        "<ol><li id=n1>note <a href=#n1>self</a><a href=#r1>↩</a></ol>",
        f"<math><semantics><mi>x</mi><annotation encoding=application/x-tex>{ticks}$\\frac{{1}}$</annotation></semantics>",
        f"<script type=math/tex>{_text(dice, 5)}$$</script>",
        f"<p>{_text(dice, 30)}</p><blockquote>{_text(dice)}<blockquote><ul><li>{_text(dice)}</blockquote>",
        "<h2><a href=#x>¶</a></h2><h3> </h3><p> <br><br> </p><hr><details><summary>s</summary>d</details>",
        "<figure><picture><source srcset='a 1x,b'><img data-src=/x></picture><figcaption>c</figcaption></figure>",
        "<iframe src=//y></iframe>",
    ]
    return "".join(dice.choices(parts, k=dice.randint(1, 40)))


def _metadata(dice: random.Random, _: Sequence[str]) -> str:
    """A head with too many or invalid elements."""
    value: object = dice.choice(_VALUES)
    for _level in range(dice.choice((1, 5, 300))):
        value = dice.choice(
            ({"@graph": [value]}, [value, "x"], {"@type": "Article", "author": value}, {"datePublished": value})
        )
    linked = dice.choice(
        (json.dumps(value), "[" * 50_000, '{"a":' * 20_000, "{", "null", '"\\ud800"', "1e999", json.dumps(value)[:-1])
    )
    metas = "".join(f"<meta {_attributes(dice)} content='{dice.choice(_VALUES)}'>" for _ in range(dice.choice((3, 50, 2_000))))
    head = f"<head>{metas}<script type='application/ld+json'>{linked}</script><base href='{dice.choice(_VALUES)}'></head>"
    return f"{head}<h1>{_text(dice)}</h1><p>{_text(dice, 50)}"


def _encoded(dice: random.Random, real: Sequence[str]) -> bytes:
    """Bytes in one charset, labelled as another."""
    source = f"<meta charset={dice.choice((*_CHARSETS, 'nope'))}>{_tree(dice, real)}"
    body = source.encode(dice.choice(_CHARSETS), "replace")
    return dice.choice((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00")) + body


def _noise(dice: random.Random, _: Sequence[str]) -> bytes:
    """Bytes, some of them looking like tags."""
    parts = [
        dice.randbytes(dice.randint(0, 300)) if dice.random() < 0.7 else b"<p>text</p>" for _ in range(dice.randint(1, 60))
    ]
    return b"".join(parts)


def _cut(dice: random.Random, real: Sequence[str]) -> bytes:
    """A real page without its end or its start."""
    body = dice.choice(real).encode("utf-8", "replace")
    at = dice.randint(0, len(body))
    return body[:at] if dice.random() < 0.8 else body[at:]


def _flipped(dice: random.Random, real: Sequence[str]) -> bytes:
    """A real page with some bytes changed."""
    body = bytearray(dice.choice(real).encode("utf-8", "replace"))
    for _ in range(dice.choice((1, 10, 300))):
        if body:
            body[dice.randrange(len(body))] = dice.randrange(256)
    return bytes(body)


def _spliced(dice: random.Random, real: Sequence[str]) -> str:
    """Parts of real pages, joined at any character."""
    parts = []
    for _ in range(dice.randint(2, 6)):
        page = dice.choice(real)
        start = dice.randrange(max(1, len(page)))
        parts.append(page[start : start + dice.choice((100, 3_000, 30_000))])
    return "".join(parts)


def _retagged(dice: random.Random, real: Sequence[str]) -> str:
    """A real page with one kind of tag replaced, removed, or never closed."""
    page = dice.choice(real)
    for _ in range(dice.randint(1, 4)):
        old, new = dice.choice(_TAME), dice.choice(_TAGS)
        how = dice.random()
        if how < 0.5:
            page = page.replace(f"<{old}", f"<{new}").replace(f"</{old}", f"</{new}")
        elif how < 0.8:
            page = page.replace(f"</{old}>", "")
        else:
            page = page.replace(f"<{old}", f"<{old}{_attributes(dice)}")
    return page


Kind = Callable[[random.Random, Sequence[str]], "str | bytes"]
_MUTATIONS: tuple[Kind, ...] = (_cut, _flipped, _spliced, _retagged)
_KINDS: tuple[Kind, ...] = (
    _tree, _tree, _deep, _misnested, _tables, _lists, _huge_attributes, _repeated, _unclosed, _markdown_like,
    _metadata, _encoded, _noise, *_MUTATIONS,
)  # fmt: skip

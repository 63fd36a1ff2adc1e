"""The prefilter finds every hint, and with it the same secrets are found as by searching for all hints."""

from __future__ import annotations

import json
import lzma
import random
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.extract.redaction import prefilter
from sitelore.extract.redaction.prefilter import Prefilter, prefilter_for
from sitelore.extract.redaction.redactor import Redactor, redactor_of
from sitelore.extract.redaction.rules import Examples, read_built_in_rules
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction, SecretRule

HINTS = tuple(dict.fromkeys(each.rule.hint for each in read_built_in_rules()))
OWN = tuple(
    SecretRule(name=f"own-{at}", hint=hint, exact=rf"(?:{hint})[\w-]{{6}}")
    for at, hint in enumerate(
        (r"acme_[0-9a-f]{4}", r"(?i:zed)[\w.]*key", r"[^\s]q[A-C]?\b=", r"\d{2,5}#", r"(?s:x.y)", r"@", r"(?:ab|a){2,}c")
    )
)


def searching(options: Redaction = BUILT_IN_ALONE) -> Redactor:
    redactor = Redactor(options)
    redactor._prefilter = None
    return redactor


def looking(options: Redaction = BUILT_IN_ALONE) -> Redactor:
    redactor = Redactor(options)
    assert redactor._prefilter is not None
    return redactor


def pattern_of(hint: str) -> re2._Regexp:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(hint.encode(), options)


def found_in(data: bytes, hint: str, look: Prefilter) -> tuple[list[int], list[int]]:
    """Where a hint stands, and where the look sees it."""
    pattern = pattern_of(hint)
    places, reached = look(data)
    assert reached == len(data)
    return [at for at in range(len(data)) if pattern.match(data, at) is not None], places


def fragments(rules: tuple[SecretRule, ...], seed: int) -> Iterator[bytes]:
    """Texts of pieces that hints begin and end with, whole examples, and what stands between such things on a page."""
    chance = random.Random(seed)
    examples = [text for each in read_built_in_rules() for text in (*each.found, *each.left)]
    words = re.findall(r"[\w~$/:.-]{2,}", " ".join(re.sub(r"\\.|\[.*?\]|[(?){}]", " ", rule.hint) for rule in rules))
    between = [
        " ",
        "\n",
        '"',
        "'",
        "=",
        ": ",
        "://",
        "@",
        "<b>",
        "-",
        "_",
        "x",
        "7",
        "é",
        "\x00",
        "|",
        "a1B2" * 9,
        "&amp;",
        "%3D",
        "/",
    ]
    for _ in range(300):
        parts = [chance.choice(chance.choice((words, between, examples))) for _ in range(chance.randrange(60))]
        parts = [part[: chance.randrange(1, 30)] if chance.random() < 0.3 else part for part in parts]
        text = "".join(part.upper() if chance.random() < 0.05 else part for part in parts)
        yield text.encode()


@pytest.mark.parametrize("each", read_built_in_rules(), ids=lambda each: each.rule.name)
def test_the_prefilter_finds_every_example_of_every_rule(each: Examples) -> None:
    look, alone = prefilter_for(HINTS), prefilter_for([each.rule.hint])
    assert look is not None
    assert alone is not None
    for text in (*each.found, *each.left):
        for data in (text.encode(), f"before {text} after, long enough for any opening".encode(), b"x" + text.encode()):
            matches, seen = found_in(data, each.rule.hint, alone)
            assert set(matches) <= set(seen)
            assert set(matches) <= set(look(data)[0])


@pytest.mark.parametrize("rules", [(), OWN], ids=["built in", "with an operator's own"])
def test_looking_and_searching_find_the_same(rules: tuple[SecretRule, ...]) -> None:
    options = Redaction(rules=rules)
    one, other = looking(options), searching(options)
    texts = list(fragments((*(each.rule for each in read_built_in_rules()), *rules), seed=6))
    assert [one._spans(text) for text in texts] == [other._spans(text) for text in texts]
    assert sum(len(one._spans(text)) for text in texts) > 400


def test_looking_and_searching_find_the_same_in_cases_of_secrets(corpora: Path) -> None:
    cases = json.loads((corpora / "secrets_cases.json").read_text())
    one, other = looking(), searching()
    for _, text in (*cases["tps"], *cases["fps"]):
        assert one._spans(text.encode()) == other._spans(text.encode())


def test_looking_and_searching_find_the_same_on_pages(corpora: Path) -> None:
    one, other = looking(), searching()
    with lzma.open(corpora / "content" / "wcxb_dev.jsonl.xz") as lines:
        for line in islice(lines, 0, 400, 8):
            page = json.loads(line)["html"].encode("utf-8", "replace")
            assert one._spans(page) == other._spans(page)


@settings(deadline=None)  # the first case makes the tables
@given(
    st.lists(
        st.sampled_from(
            ["se", "cret", "_key", "=", '"', "tok", "en", ":", "//", "@", "a", " ", "-H ", "<", ">", "9Q~", "|", "\xff"]
        )
    )
)
def test_looking_and_searching_find_the_same_in_small_texts(pieces: list[str]) -> None:
    data = "".join(pieces).encode("latin-1")
    assert looking()._spans(data) == searching()._spans(data)


@pytest.mark.parametrize("size", range(24))
def test_a_hint_is_found_at_any_position(size: int) -> None:
    look = prefilter_for(["9Q~", "abcdefgh", r"\bsk-[a-z]{3}"])
    assert look is not None
    for hint in (b"9Q~", b"abcdefgh", b"sk-abc"):
        assert look(b"." * size + hint)[0] == [size]
        assert look(b"." * size + hint + b"." * 9)[0] == [size]
        assert look(b"." * (1020 + size) + hint + b"." * size)[0] == [1020 + size]
        assert look(b"." * size + hint[:-1])[0] == []


def test_a_word_has_to_begin_where_a_hint_says_so() -> None:
    look = prefilter_for([r"\bkey-[0-9]{4}"])
    assert look is not None
    assert look(b"key-1234 turnkey-1234 a.key-1234")[0] == [0, 24]


@pytest.mark.parametrize(
    "hint",
    [
        r"[^\s]q=",
        r"\Sq=",
        r"[\s]q=",
        r"(?i:[^k]q)",
        r"(?i)Kq",
        r"(?i:\xe5)q",
        r".q",
        r"(?s:.)q",
        r"\Wq",
        r"[^\x80-\xff]q",
        r"q{2,3}?q",
        r"(?:q|)z",
        r"\x00q",
        r"^q",
        r"q$",
    ],
)
def test_the_prefilter_matches_hints_as_re2_does(hint: str) -> None:
    look = prefilter_for([hint])
    assert look is not None
    pattern = pattern_of(hint)
    for byte in range(256):
        for text in (bytes([byte]) + b"q=zqqqz", b"q" + bytes([byte]), b"aq=" + bytes([byte]) * 3 + b"q"):
            matches = {at for at in range(len(text)) if pattern.match(text, at) is not None}
            assert matches <= set(look(text)[0])


@pytest.mark.parametrize(
    "hint",
    [
        "[[:alpha:]]{4}_key",
        "x{,3}y",
        "(?=x)y",
        "(?:x)?",
        "(?:" * 2000 + "x" + ")" * 2000,
        "(?:(?:(?:ab){60}){60}){60}",
        "a(",
        "",
    ],
)
def test_unsupported_hints_have_no_prefilter(hint: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert prefilter_for([*HINTS, hint]) is None


def test_rules_without_a_prefilter_are_searched() -> None:
    rule = SecretRule(name="own", hint="[[:digit:]]{3}~[[:digit:]]", exact=r"\d{3}~(\d{9})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        redactor = Redactor(Redaction(rules=(rule,)))
    assert redactor._prefilter is None
    assert redactor.redact("123~987654321 and ghp_" + "a1B2" * 9)[1] == {"own": 1, "github-token": 1}


def test_hints_with_too_many_states_are_still_found() -> None:
    hint = r"x[ab]*a[ab]{18}z"
    look = prefilter_for([hint])
    assert look is not None
    data = b"..x" + b"ab" * 30 + b"a" + b"b" * 18 + b"z.." + b"xaz" + b"." * 20
    matches, seen = found_in(data, hint, look)
    assert matches == [2]
    assert 2 in seen


@pytest.mark.parametrize(
    "text",
    [
        "://aaaa",
        "://a:",
        "heroku_",
        "xoxxoxxox",
        "xoxb-",
        "eyJ",
        "-u=",
        "_mmkx",
        "<a.",
        '"token":"',
        "secret",
        "A",
        "\n",
        "-----BEGIN ",
        "kind: Secrets ",
    ],
)
def test_hostile_repeats_end_soon_and_give_the_same(text: str) -> None:
    data = (text * (200_000 // len(text))).encode()
    look = prefilter_for(HINTS)
    assert look is not None
    places, reached = look(data)
    assert len(places) <= prefilter._MAX_OFFSETS
    assert places == sorted(set(places))
    assert all(place < reached <= len(data) for place in places)
    short = data[:20_000]
    assert looking()._spans(short) == searching()._spans(short)


def test_text_beyond_the_limit_of_the_prefilter_is_searched() -> None:
    secret = "ghp_" + "a1B2" * 9
    for filling in ("-H ", "heroku_", "_mmkx"):
        data = (filling * 30_000 + " " + secret).encode()
        spans = redactor_of(BUILT_IN_ALONE)._spans(data)
        assert spans == [(len(data) - len(secret), len(data), "github-token")]

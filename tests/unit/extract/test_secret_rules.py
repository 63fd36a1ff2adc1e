"""The rule file matches its examples, and an error in rules of the user gives a one-line message."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from sitelore.extract.redaction.redactor import (
    BUILT_IN,
    CHECKS,
    Examples,
    Redactor,
    checked_rules,
    failed_example,
    load_built_in_rules,
    read_built_in_rules,
    read_rules,
    redact,
)
from sitelore.model.errors import BadConfig
from sitelore.model.settings import Redaction

SOURCE = files("sitelore.extract.redaction").joinpath(BUILT_IN).read_text(encoding="utf-8")
OWN = """
[[rule]]
name = "acme-token"
description = "Token of Acme."
hint = 'acme_[0-9a-f]{4}'
exact = 'acme_[0-9a-f]{24}'
entropy = 2.0
found = ["acme_0123456789abcdef01234567"]
left = ["acme_000000000000000000000000"]
"""


def test_every_rule_is_valid_and_has_positive_and_negative_examples() -> None:
    rules = read_rules(SOURCE, BUILT_IN)
    assert [each.rule for each in rules] == [each.rule for each in read_built_in_rules()]
    assert [each.rule.name for each in rules if not (each.found and each.left and each.rule.description)] == []


@pytest.mark.parametrize("each", read_built_in_rules(), ids=lambda each: each.rule.name)
def test_a_rule_finds_its_examples_and_leaves_the_others(each: Examples) -> None:
    assert failed_example(each) is None
    for text in each.found:
        clean, counts = redact(f"before {text} after")
        assert counts, text
        assert clean.startswith("before ")


def test_the_file_itself_holds_nothing_that_a_scanner_would_take_for_a_leak() -> None:
    by_place = {"url-password", "connection-password", "curl-user", "basic-auth", "xml-secret"}
    assert set(redact(SOURCE)[1]) <= by_place


def test_every_check_is_used_by_a_rule() -> None:
    assert set(CHECKS) == {name for each in read_built_in_rules() for name in each.rule.checks}


def test_the_table_in_the_docs_is_the_rule_file() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "redaction.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \|$", page.partition("## Rules")[2].partition("\n## ")[0], re.MULTILINE)
    documented: dict[str, list[str]] = {}
    for each in read_built_in_rules():
        documented.setdefault(each.rule.name, []).append(each.rule.description)
    assert dict(rows) == {name: " ".join(texts) for name, texts in sorted(documented.items())}


def test_rules_of_the_user_are_added_to_the_built_in_ones() -> None:
    redactor = Redactor(Redaction(rules=checked_rules(OWN, "own.toml")))
    clean, counts = redactor.redact("acme_0123456789abcdef01234567 and ghp_" + "a1B2" * 9)
    assert clean == "[REDACTED:acme-token] and [REDACTED:github-token]"
    assert counts == {"acme-token": 1, "github-token": 1}
    assert redact("acme_0123456789abcdef01234567")[1] == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("name =", "nmae ="), "'nmae' is not known; did you mean 'name'"),
        (('"acme-token"', '"Acme Token"'), "small letters"),
        (("hint = 'acme_[0-9a-f]{4}'", ""), "'hint' is missing"),
        (("'acme_[0-9a-f]{4}'", "'acme_(?=x)'"), "no regular expression that RE2 knows"),
        (("'acme_[0-9a-f]{4}'", "'(?:acme)?'"), "nor match an empty text"),
        (("'acme_[0-9a-f]{24}'", "'acme_[0-9a-f'"), "'exact' is no regular expression"),
        (("'acme_[0-9a-f]{24}'", "'(acme)_([0-9a-f]{24})'"), "2 groups"),
        (("entropy = 2.0", "entropy = 20"), "from 0 to 8"),
        (("entropy = 2.0", "reach = 99999"), "'reach' is a number of bytes"),
        (("entropy = 2.0", 'every = "yes"'), "true or false"),
        (("entropy = 2.0", 'checks = ["mixd"]'), "no check 'mixd'"),
        (("entropy = 2.0", 'near = "acme"'), "'near' is a list of texts"),
        (("found = [", 'found = ["nothing", '), "`found` example 1 is not found by it"),
        (("left = [", 'left = ["acme_0123456789abcdef01234567", '), "`left` example 1 is found by it"),
        (("found =", "near ="), "give an example"),
        (("[[rule]]", "[rule]"), "under its own [[rule]]"),
        (("[[rule]]", "[[rules]]"), "'rules' is not known here"),
        (("[[rule]]", "[[rule"), "is not TOML"),
    ],
)
def test_an_invalid_rule_gives_a_one_line_error(change: tuple[str, str], sentence: str) -> None:
    assert change[0] in OWN
    with pytest.raises(BadConfig, match=re.escape(sentence)) as refused:
        checked_rules(OWN.replace(*change), "own.toml")
    assert str(refused.value).startswith("own.toml")
    assert "\n" not in str(refused.value)
    assert "0123456789abcdef" not in str(refused.value)


def test_equal_secrets_have_equal_marks_only_under_one_key() -> None:
    one, other = ("ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9)
    marks = [Redactor(Redaction(key=key)).redact(f"{one} {one} {other}")[0].split() for key in (b"k" * 16, b"l" * 16)]
    for first, again, third in marks:
        assert re.fullmatch(r"\[REDACTED:github-token:[0-9a-f]{6}\]", first)
        assert first == again != third
    assert marks[0][0] != marks[1][0]
    assert redact(one)[0] == "[REDACTED:github-token]"


def test_redaction_is_idempotent() -> None:
    for options in (Redaction(), Redaction(key=b"k" * 16, personal=True)):
        redactor = Redactor(options)
        for each in read_built_in_rules():
            for text in each.found:
                once = redactor.redact(text)[0]
                assert redactor.redact(once) == (once, {})


@pytest.mark.parametrize("before", ["next=%2Fx%3Ft%3D", "line\\n", "a\\u003d", "x-", "x_", "key:"])
def test_a_secret_is_found_after_any_character(before: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    assert redact(f"{before}{secret}-x")[0] == f"{before}[REDACTED:github-token]-x"
    assert redact(f"a{secret}")[1] == {}


def test_a_hint_without_a_match_does_not_hide_a_secret_inside_it() -> None:
    assert redact("https://user:${PASS}ghp_" + "a1B2" * 9 + "@example.com/")[1]
    assert redact('secret_key = "9f8a7B6c5D4e3F2a1b0c"')[1] == {"assigned-secret": 1}


@pytest.mark.parametrize(
    "text", ["://a:" * 40_000, "heroku_" * 40_000 + "key", "eyJ" * 60_000, "-u=" * 60_000 + ":", "A" * 200_000]
)
def test_text_made_to_be_slow_is_not(text: str) -> None:
    assert redact(text)[0] == text


def test_the_rules_that_processes_load_equal_the_rule_file() -> None:
    assert load_built_in_rules() == tuple(each.rule for each in read_built_in_rules())


@pytest.mark.parametrize(
    "text",
    [
        'pwd = "/usr/share/tomcat7/webapps"',
        "$pwd = '/Data4/Build7xQ';",
        'PWD="~/src/Project2024a"',
        '"password": "~/.config/app/Login2.txt"',
        "SSL_KEY=/etc/ssl/private/Server4Key.pem",
    ],
)
def test_a_path_is_not_a_secret(text: str) -> None:
    assert redact(text) == (text, {})


@pytest.mark.parametrize(
    "text",
    [
        'db_pwd = "/x9K2mQ7vL4tR8"',
        'pwd = "x9K/2mQ7vL4tR8w"',
        'password = "/x9K2mQ7vL4tR8"',
        'secret = "/Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9=/"',
    ],
)
def test_a_secret_with_a_slash_is_still_one(text: str) -> None:
    assert redact(text)[1] == {"assigned-secret": 1}

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.extract.redaction import redactor as redacting
from sitelore.extract.redaction.redactor import redact, redact_all
from sitelore.model.settings import BUILT_IN_ALONE

from .conftest import ReadPage

PAGE_SECRETS = (
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_" + "a1B2" * 9,
    "sk-" + "x7Y9" * 12,
)


def test_secrets_are_found_and_similar_texts_are_mostly_kept() -> None:
    cases = json.loads(corpus("secrets_cases.json").read_text())
    missed = [text for _, text in cases["tps"] if not redact(text)[1]]
    false = [text for _, text in cases["fps"] if redact(text)[1]]
    print(f"secrets: {len(cases['tps']) - len(missed)} of {len(cases['tps'])}, false {len(false)} of {len(cases['fps'])}")
    assert len(missed) <= 1
    assert len(false) <= 10


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("github_pat_11ABCDEFG0" + "aB3dE6gH9j" * 6, "github-token"),
        ("glpat-x1Y2z3W4v5U6t7S8r9Q0", "gitlab-token"),
        ("sk-proj-" + "Ab1-Cd2_Ef3" * 6, "openai-key"),
        ("sk-ant-api03-" + "Ab1-Cd2_Ef3" * 8 + "hIjklAA", "anthropic-key"),
        ("xoxb-" + "263594206564-2343594206564-Fg3hIj4kLm5nOp6qRs7t", "slack-token"),
        ("sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc", "stripe-key"),
        ("AIza" + "SyDxKv9m3QpR7tLw2ZbN5cHf8JgE1uYoXaT", "google-key"),
        ("npm_" + "a1B2c3D4e5F6" * 3, "npm-token"),
        ("SK" + "0123456789abcdef" * 2, "twilio-key"),
        ("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", "sendgrid-key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "jwt"),
        ('api_key = "9f8a7B6c5D4e3F2a1b0c"', "assigned-secret"),
        ("DATABASE_PASSWORD=Tr0ub4dor3xKcd9f2Qz7", "assigned-secret"),
        ("postgres://app:s3cretPw9@db.internal/x", "url-password"),
    ],
)
def test_the_common_key_formats_vanish(text: str, kind: str) -> None:
    clean, counts = redact(f"before {text} after")
    assert kind in counts
    assert f"[REDACTED:{kind}]" in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        'Set api_key = "YOUR_API_KEY_GOES_HERE" in the file',
        "the token is xxxxxxxxxxxxxxxxxxxxxxxx",
        "task-management and risk-assessment and disk-usage",
        "https://user:password@example.com/",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Bearer tokens are sent as Authorization: Bearer <token>",
    ],
)  # fmt: skip
def test_prose_and_placeholders_stay(text: str) -> None:
    assert redact(text) == (text, {})


def test_a_private_key_loses_its_body_even_without_an_end() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8\n" * 3
    clean, _ = redact(f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nrest")
    assert "MIIE" not in clean
    assert clean.endswith("-----END RSA PRIVATE KEY-----\nrest")
    cut, counts = redact(f"-----BEGIN PRIVATE KEY-----\n{body}")
    assert "MIIE" not in cut
    assert counts == {"private-key": 1}


def test_secrets_on_a_page_reach_neither_document_nor_snapshot(read_page: ReadPage) -> None:
    page = read_page(f"<title>Secrets</title><main><p>key {' token '.join(PAGE_SECRETS)} mail jane@example.com</p></main>")
    for secret in PAGE_SECRETS:
        assert secret not in json.dumps(page.document)
        assert secret.encode() not in page.snapshot
    assert "[REDACTED:aws-access-key]" in page.text
    assert "jane@example.com" in page.text
    assert sum(page.reading.redactions.values()) == 4


def test_a_secret_that_only_parsing_shows_is_redacted_and_its_source_not_kept(read_page: ReadPage) -> None:
    for spelled in ("&#65;KIAIOSFODNN7EXAMPLE", "AKIA\u200bIOSFODNN7EXAMPLE", "AKIA&shy;IOSFODNN7EXAMPLE"):
        page = read_page(f"<title>{spelled}</title><p>key {spelled} end</p><a href=/x>{spelled}</a>")
        assert "IOSFODNN7EXAMPLE" not in json.dumps(page.document)
        assert page.reading.snapshot is None
        assert page.reading.redactions == {"aws-access-key": 2}


def test_a_redacted_snapshot_keeps_the_charset_of_the_page(read_page: ReadPage) -> None:
    body = f'<meta charset="windows-1251"><p>Привет {PAGE_SECRETS[0]}</p>'.encode("cp1251")
    page = read_page(body, "text/html")
    assert page.snapshot == '<meta charset="windows-1251"><p>Привет [REDACTED:aws-access-key]</p>'.encode("cp1251")


def test_an_untouched_snapshot_is_the_body_byte_for_byte(read_page: ReadPage) -> None:
    body = "<p>naïve \ufeff text</p>".encode("latin-1", "replace") + b"\xff\x00\x01"
    assert read_page(body, "text/html").snapshot == body


@given(st.text(max_size=200))
def test_text_without_secrets_is_returned_as_it_came(text: str) -> None:
    clean, counts = redact(text)
    assert counts or clean == text.encode("utf-8", "replace").decode() or clean == text


@given(st.lists(st.text(alphabet="AKI7sk-_ghp \n:=\"'eyJ.@/xY9", max_size=120), max_size=4))
def test_many_texts_at_once_are_redacted_like_each_alone(texts: list[str]) -> None:
    together, _ = redact_all(texts, "\n".join(texts).encode())
    assert together == [redact(text)[0] for text in texts]


_LINES = "".join(f"<p>Line {n} of a page about mills,\r\nwritten 🏆 on two lines\rand a third.</p>" for n in range(40))


@pytest.mark.parametrize("secret", ["", PAGE_SECRETS[0]], ids=["clean", "touched"])
@pytest.mark.parametrize(
    "body",
    [f"<body><h1>Mills</h1>{_LINES}", f"<body>{_LINES.replace(chr(13), '')}", "<body><script>mill()</script>\r\n"],
    ids=["returns", "plain", "next to nothing"],
)
@pytest.mark.parametrize("charset", ["utf-8", "gb18030"])
def test_a_large_page_is_read_like_any_other(
    read_page: ReadPage, monkeypatch: pytest.MonkeyPatch, body: str, secret: str, charset: str
) -> None:
    page = f"{body}<p>{secret}</p></body>".encode(charset)
    usual = read_page(page, f"text/html; charset={charset}")
    monkeypatch.setattr(redacting, "_LARGE_PAGE", 0)
    large = read_page(page, f"text/html; charset={charset}")
    assert large.reading == usual.reading
    assert bool(large.reading.redactions) == bool(secret)


@pytest.mark.parametrize("text", ["one\r\ntwo" * 50, "one 🏆\r\ntwo" * 50], ids=["narrow", "wide"])
def test_the_text_of_a_large_page_is_never_four_bytes_a_character(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    source, _ = redacting.redactor_of(BUILT_IN_ALONE).redact_page(text.encode())
    assert source.for_parser() == source.text == text
    monkeypatch.setattr(redacting, "_LARGE_PAGE", 0)
    assert source.for_parser() == (text if "🏆" not in text else text.encode())
    assert source.text == text

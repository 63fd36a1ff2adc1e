from __future__ import annotations

import json
import logging
import sys

import pytest

from sitelore.app.logs import JsonLines, PlainLines, RepeatedMessageFilter, redact_log_text
from sitelore.model.settings import Redaction


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("see https://x.example/a?q=secret#frag now", "see https://x.example/a now"),
        ("http://user:pw@x.example/a", "http://x.example/a"),
        ("'https://x.example/?a=1', \"http://y.example#b\"", "'https://x.example/', \"http://y.example\""),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_addresses_in_messages_lose_private_parts(message: str, kept: str) -> None:
    assert redact_log_text(message) == kept


def test_secrets_and_broken_text_do_not_get_through() -> None:
    assert "AKIA" not in redact_log_text("key AKIAQ3EGRZ7XK2L5MNP4 of ours")
    assert json.loads(json.dumps(redact_log_text("half a pair \ud800")))
    assert len(redact_log_text("x" * 100_000)) <= 8000


def test_a_log_record_is_one_line_of_json_with_its_fields() -> None:
    extra = {"run": "r1", "url": "https://x.example/a?b=c", "worker": "w1", "status": 200, "ok": True, "nothing": None}
    try:
        int("https://x.example/?token=secret")
    except ValueError:
        record = logging.getLogger("test").makeRecord(
            "sitelore.x", logging.WARNING, __file__, 1, "line\nbreak %s", ("here",), sys.exc_info(), extra=extra
        )
    text = JsonLines().format(record)
    assert "\n" not in text
    assert "secret" not in text
    line = json.loads(text)
    assert {name: line[name] for name in extra} == {**extra, "url": "https://x.example/a"}
    assert (line["level"], line["logger"], line["message"]) == ("warning", "sitelore.x", "line\nbreak here")
    assert line["time"].endswith("Z")
    assert "ValueError" in line["traceback"]


def test_personal_data_is_masked_unless_the_crawl_disables_it() -> None:
    record = logging.makeLogRecord({"msg": "mail %s to jane@example.com", "args": ("ghp_" + "a1B2" * 9,), "name": "sitelore.x"})
    assert "mail [REDACTED:github-token] to [REDACTED:email]" in PlainLines().format(record)
    assert "jane@example.com" in PlainLines(Redaction()).format(record)
    assert json.loads(JsonLines().format(record))["message"] == "mail [REDACTED:github-token] to [REDACTED:email]"


def test_a_traceback_in_plain_logs_is_redacted_too() -> None:
    try:
        int("ghp_" + "a1B2" * 9)
    except ValueError:
        record = logging.getLogger("test").makeRecord("sitelore.x", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    formatted = PlainLines().format(record)
    assert "Traceback" in formatted
    assert "[REDACTED:github-token]" in formatted
    assert "a1B2" * 9 not in formatted.replace('"a1B2" * 9', "")


def test_a_warning_that_repeats_is_logged_a_few_times_and_then_counted() -> None:
    limit = RepeatedMessageFilter()

    def logged(at: float, message: str, level: int = logging.WARNING) -> logging.LogRecord | None:
        record = logging.makeLogRecord({"name": "sitelore.x", "levelno": level, "msg": message, "created": at})
        return record if limit.filter(record) else None

    first = [logged(100.0 + n / 1000, f"no file left\nsocket: {n}") for n in range(1000)]
    assert [record is not None for record in first] == [True] * 5 + [False] * 995
    assert logged(101.0, "something else") is not None
    assert all(logged(101.0, "no file left", logging.INFO) for _ in range(100)), "only warnings are limited"
    following = logged(111.0, "no file left")
    assert following is not None
    assert json.loads(JsonLines().format(following))["suppressed"] == 995
    again = logged(122.0, "no file left")
    assert again is not None
    assert "suppressed" not in json.loads(JsonLines().format(again))

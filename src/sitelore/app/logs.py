"""Redacted logging on stderr: JSON lines for servers and workers, plain lines for a person.

Log messages can contain text from websites. Query strings, credentials in URLs, secrets and, unless the crawl's settings allow
it, personal data are removed, in tracebacks too. A server logs at most a few warnings of a kind in an interval: a fault that
repeats a thousand times a second must not fill the disk.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from dataclasses import replace
from typing import Any

import msgspec

from sitelore.app.settings import operator_redaction
from sitelore.extract.redaction.redactor import Redactor, redactor_of
from sitelore.model.settings import PersonalPolicy, Redaction

_URL = re.compile(r"(https?://)(?:[^\s/?#@'\"<>]*@)?([^\s?#'\"<>]*)(?:[?#][^\s'\"<>]*)?")
_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_MAX_CHARS = 8000
_DEFAULT = Redaction(personal=True)
_REPEATS = 5
_INTERVAL_S = 10.0
_MAX_KINDS = 1000


class RepeatedMessageFilter(logging.Filter):
    """Rate limit of log messages: drops warnings and errors beyond the first few of a kind in an interval.

    A kind is the first line of a message before its arguments are filled in. The first record of a later interval has the
    number of dropped records in `suppressed`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this record is logged."""
        if record.levelno < logging.WARNING:
            return True
        if len(self._kinds) > _MAX_KINDS:
            self._kinds.clear()
        kind = (record.name, str(record.msg).partition("\n")[0])
        began, count = self._kinds.get(kind, (record.created, 0))
        if record.created - began >= _INTERVAL_S:
            if count > _REPEATS:
                vars(record)["suppressed"] = count - _REPEATS
            began, count = record.created, 0
        self._kinds[kind] = (began, count + 1)
        return count < _REPEATS


class JsonLines(logging.Formatter):
    """Formats a record as JSON: time, level, logger, message, and the fields of `extra` (run, url, worker …)."""

    def __init__(self, redaction: Redaction = _DEFAULT) -> None:
        super().__init__()
        self._redactor = redactor_of(redaction)

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact_log_text(record.getMessage(), self._redactor),
        }
        line |= {
            name: _redact_value(value, self._redactor) for name, value in vars(record).items() if name not in _STANDARD_FIELDS
        }
        if record.exc_info:
            line["traceback"] = redact_log_text(self.formatException(record.exc_info), self._redactor)
        return msgspec.json.encode(line).decode()


class PlainLines(logging.Formatter):
    """Formats a record as text for a person."""

    def __init__(self, redaction: Redaction = _DEFAULT) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self._redactor = redactor_of(redaction)

    def format(self, record: logging.LogRecord) -> str:
        """One line, followed by the lines of a traceback."""
        plain = logging.makeLogRecord(vars(record))
        plain.msg, plain.args = redact_log_text(record.getMessage(), self._redactor), None
        if record.exc_info:
            plain.exc_text, plain.exc_info = redact_log_text(self.formatException(record.exc_info), self._redactor), None
        return super().format(plain)


def redact_log_text(text: str, redactor: Redactor | None = None) -> str:
    """Redact text for a log: URLs without credentials, query and fragment, no secrets, no personal data."""
    plain = text.encode("utf-8", "replace").decode()[:_MAX_CHARS]
    return str((redactor or redactor_of(_DEFAULT)).redact(_URL.sub(r"\1\2", plain))[0])


def _redact_value(value: object, redactor: Redactor) -> object:
    return value if value is None or isinstance(value, bool | int | float) else redact_log_text(str(value), redactor)


def log_as_json(level: int = logging.INFO) -> None:
    """Log as JSON lines, for the whole process."""
    _configure_root_logger(JsonLines(replace(operator_redaction(), personal=True)), logging.WARNING, level).addFilter(
        RepeatedMessageFilter()
    )


def log_as_text(level: int = logging.DEBUG, personal: PersonalPolicy = PersonalPolicy.CHUNKS) -> None:
    """Log as text, for the whole process, with the crawl's policy on personal data."""
    _configure_root_logger(
        PlainLines(replace(operator_redaction(), personal=personal is not PersonalPolicy.OFF)), logging.INFO, level
    )


def _configure_root_logger(formatter: logging.Formatter, library_level: int, own_level: int) -> logging.Handler:
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(formatter)
    logging.basicConfig(level=library_level, handlers=[stderr], force=True)
    logging.getLogger("sitelore").setLevel(own_level)
    return stderr

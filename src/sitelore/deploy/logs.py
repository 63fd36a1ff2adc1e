"""Log lines without what may not be kept: as JSON on stderr for processes that nobody watches, as plain lines for a person.

What is logged may have been written by a site: no query string, no credentials of an address, no secret and, unless a crawl
was told otherwise, no data of persons gets through, not even inside a traceback.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from dataclasses import replace
from typing import Any

import msgspec

from sitelore.deploy.settings import operator_redaction
from sitelore.extract.redaction.redactor import Redactor, redactor_of
from sitelore.model.redaction import Redaction
from sitelore.model.settings import PersonalPolicy

_ADDRESS = re.compile(r"(https?://)(?:[^\s/?#@'\"<>]*@)?([^\s?#'\"<>]*)(?:[?#][^\s'\"<>]*)?")
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_CHARS = 8000
_USUAL = Redaction(personal=True)


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, logger, message, and whatever `extra` named (run, url, worker …)."""

    def __init__(self, redaction: Redaction = _USUAL) -> None:
        super().__init__()
        self._redactor = redactor_of(redaction)

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": safe(record.getMessage(), self._redactor),
        }
        line |= {name: _value(value, self._redactor) for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["traceback"] = safe(self.formatException(record.exc_info), self._redactor)
        return msgspec.json.encode(line).decode()


class PlainLines(logging.Formatter):
    """A record for a person to read."""

    def __init__(self, redaction: Redaction = _USUAL) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self._redactor = redactor_of(redaction)

    def format(self, record: logging.LogRecord) -> str:
        """A line, and the lines of a traceback below it."""
        plain = logging.makeLogRecord(vars(record))
        plain.msg, plain.args = safe(record.getMessage(), self._redactor), None
        if record.exc_info:
            plain.exc_text, plain.exc_info = safe(self.formatException(record.exc_info), self._redactor), None
        return super().format(plain)


def safe(text: str, redactor: Redactor | None = None) -> str:
    """Text for a log: addresses without credentials, query and fragment, and nothing that may not be kept."""
    plain = text.encode("utf-8", "replace").decode()[:_CHARS]
    return str((redactor or redactor_of(_USUAL)).redact(_ADDRESS.sub(r"\1\2", plain))[0])


def _value(value: object, redactor: Redactor) -> object:
    return value if value is None or isinstance(value, bool | int | float) else safe(str(value), redactor)


def log_as_json(level: int = logging.INFO) -> None:
    """From now on, for the whole process."""
    _log(JsonLines(replace(operator_redaction(), personal=True)), logging.WARNING, level)


def log_as_text(level: int = logging.DEBUG, personal: PersonalPolicy = PersonalPolicy.CHUNKS) -> None:
    """The same for a person who watches one crawl, with the crawl's own policy on data of persons."""
    _log(PlainLines(replace(operator_redaction(), personal=personal is not PersonalPolicy.OFF)), logging.INFO, level)


def _log(lines: logging.Formatter, others: int, own: int) -> None:
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(lines)
    logging.basicConfig(level=others, handlers=[stderr], force=True)
    logging.getLogger("sitelore").setLevel(own)

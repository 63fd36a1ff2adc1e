"""Log lines as JSON, one object a line on stderr, for processes that nobody watches.

What is logged may have been written by a site: no query string, no credentials of an address and no secret gets through,
not even inside a traceback.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from typing import Any

import msgspec

from sitelore.extract.redact import redact

_ADDRESS = re.compile(r"(https?://)(?:[^\s/?#@'\"<>]*@)?([^\s?#'\"<>]*)(?:[?#][^\s'\"<>]*)?")
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_CHARS = 8000


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, logger, message, and whatever `extra` named (run, url, worker …)."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": safe(record.getMessage()),
        }
        line |= {name: _value(value) for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["traceback"] = safe(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


def safe(text: str) -> str:
    """Text for a log: addresses without credentials, query and fragment, and no secret that a page would not keep either."""
    plain = text.encode("utf-8", "replace").decode()[:_CHARS]
    return str(redact(_ADDRESS.sub(r"\1\2", plain))[0])


def _value(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float) else safe(str(value))


def log_as_json(level: int = logging.INFO) -> None:
    """From now on, for the whole process."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[lines], force=True)
    logging.getLogger("sitelore").setLevel(level)

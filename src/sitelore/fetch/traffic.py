"""The requests of one page, as the browser tells of them: what is under way, what was kept back, what weighs too much."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sitelore.fetch.forward_proxy import TROUBLE_HEADER, Trouble
from sitelore.model.response import Failure
from sitelore.model.url import Url

_WAITED_FOR = frozenset({"Document", "Script", "Stylesheet", "XHR", "Fetch"})
_LONG_S = 4.0
"""What takes longer is a conversation, not a part of the page."""
_WHOLE_PAGE = 4
"""All of a page's parts together may weigh this many times what one document may."""


@dataclass(slots=True)
class _Going:
    kind: str
    url: str
    loader: str
    since: float
    bytes: int = 0


class Traffic:
    """Fed with events of the DevTools Network domain. `stirred` is set whenever something begins or ends."""

    HEARD: ClassVar[dict[str, str]] = {
        "Network.requestWillBeSent": "began",
        "Network.responseReceived": "answered",
        "Network.dataReceived": "received",
        "Network.loadingFinished": "finished",
        "Network.loadingFailed": "failed",
        "Network.webSocketCreated": "opened_socket",
        "Network.webSocketClosed": "closed_socket",
    }

    def __init__(self, frame: str, body_bytes: int, mark: str, trouble: Callable[[str, int], Trouble | None]) -> None:
        self._frame = frame
        self._body_bytes = body_bytes
        self._mark = mark
        self._trouble = trouble
        self._going: dict[str, _Going] = {}
        self._sockets: dict[str, str] = {}
        self._main = ""
        self._bytes = 0
        self._quiet_since = time.monotonic()
        self.stirred = asyncio.Event()
        self.requests = 0
        self.blocked = 0
        self.refused = 0
        self.wire_bytes = 0
        self.is_too_heavy = False
        """The main document has passed what a body may weigh, or all parts together have."""
        self.document_error = ""
        """How the main document ended, when it ended badly."""

    def hear(self, name: str, event: dict[str, Any]) -> None:
        """An event of the protocol, one of `HEARD`."""
        getattr(self, self.HEARD[name])(event)

    def began(self, event: dict[str, Any]) -> None:
        """`Network.requestWillBeSent`: a request, or the next hop of one."""
        number = event["requestId"]
        kind = event.get("type", "")
        url = event["request"]["url"]
        if not url.startswith(("http:", "https:")):
            return
        if number not in self._going or "redirectResponse" in event:
            self.requests += 1
        self._going[number] = _Going(kind, url, event.get("loaderId", ""), time.monotonic())
        if kind == "Document" and event.get("frameId") == self._frame:
            self._main = number
            self.document_error = ""
        self.stirred.set()

    def answered(self, event: dict[str, Any]) -> None:
        """`Network.responseReceived`."""
        response = event["response"]
        if response.get("status") == 502 and self._is_ours(response.get("headers", {})):
            self._count_refusal(response.get("url", ""))

    def received(self, event: dict[str, Any]) -> None:
        """`Network.dataReceived`: counted decoded, because that is what a page is made of."""
        size = int(event.get("dataLength", 0))
        going = self._going.get(event["requestId"])
        self._bytes += size
        if going is not None:
            going.bytes += size
        is_main = event["requestId"] == self._main and going is not None and going.bytes > self._body_bytes
        if is_main or self._bytes > _WHOLE_PAGE * self._body_bytes:
            self.is_too_heavy = True
            self.stirred.set()

    def finished(self, event: dict[str, Any]) -> None:
        """`Network.loadingFinished`."""
        if event["requestId"] == self._main:
            self.wire_bytes = int(event.get("encodedDataLength", 0))
        self._end(event["requestId"])

    def failed(self, event: dict[str, Any]) -> None:
        """`Network.loadingFailed`."""
        error = event.get("errorText", "")
        going = self._going.get(event["requestId"])
        if event.get("blockedReason") == "inspector" or "BLOCKED_BY_CLIENT" in error:
            self.blocked += 1
        elif going is not None and event["requestId"] != self._main:  # where the main frame goes is counted by who judges it
            self._count_refusal(going.url)
        if event["requestId"] == self._main:
            self.document_error = error
        self._end(event["requestId"])

    def opened_socket(self, event: dict[str, Any]) -> None:
        """`Network.webSocketCreated`. Nobody waits for a conversation."""
        self.requests += 1
        self._sockets[event["requestId"]] = event.get("url", "")

    def closed_socket(self, event: dict[str, Any]) -> None:
        """`Network.webSocketClosed`."""
        self._count_refusal(self._sockets.pop(event["requestId"], ""))

    def committed(self, loader: str) -> None:
        """A new document stands in the main frame: what the one before it was waiting for no longer matters."""
        for number in [number for number, going in self._going.items() if going.loader not in {"", loader}]:
            self._end(number)

    def is_document_coming(self) -> bool:
        """Whether the main document is still on its way."""
        return self._main in self._going

    def quiet_s(self) -> float:
        """For how long nothing that is worth waiting for has been under way; 0.0 while something is."""
        now = time.monotonic()
        for going in self._going.values():
            if going.kind in _WAITED_FOR and now - going.since < _LONG_S:
                return 0.0
        return max(now - self._quiet_since, 1e-6)

    def patience_s(self) -> float:
        """When, without any event, it is worth looking again."""
        now = time.monotonic()
        waits = [going.since + _LONG_S - now for going in self._going.values() if going.kind in _WAITED_FOR]
        return max(0.01, min((wait for wait in waits if wait > 0), default=_LONG_S))

    def _end(self, number: str) -> None:
        going = self._going.pop(number, None)
        if going is not None and going.kind in _WAITED_FOR:
            self._quiet_since = time.monotonic()
        self.stirred.set()

    def _is_ours(self, headers: dict[str, str]) -> bool:
        return any(name.lower() == TROUBLE_HEADER and value == self._mark for name, value in headers.items())

    def _count_refusal(self, text: str) -> None:
        url = Url.parse(text.replace("wss:", "https:", 1).replace("ws:", "http:", 1))
        trouble = self._trouble(url.host, url.port) if url else None
        if trouble is not None and trouble.failure is Failure.ADDRESS:
            self.refused += 1

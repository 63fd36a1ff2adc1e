"""The address and key of a model endpoint, and requests with retries: `POST {base}/embeddings` or `/rerank`.

Errors are one sentence, without the texts, the key or the response.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sitelore.json_client import RequestFailed, ResponseTooLarge, ServiceResponse, UntrustedCertificate, send_request
from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.url import Url

_MAX_TEXT_CHARS = 24_000
_REFUSED_STATUSES = frozenset({400, 413, 422})
_RETRY_STATUSES = frozenset({408, 425, 429})
_FIRST_DELAY_S, _MAX_DELAY_S = 0.5, 30.0

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model endpoint: its address, model, key and limits."""

    base: Url
    model: str
    key: str = field(default="", repr=False)
    dimensions: int | None = None
    """Sent to models that can shorten their vectors; None for the full length."""
    tries: int = 5
    query_tries: int = 2
    timeout_s: float = 60.0
    query_timeout_s: float = 10.0
    patience_s: float = 60.0
    """The longest `Retry-After` that is obeyed; a longer one fails the request."""
    task: str = "embeddings"
    """The last part of the address."""
    key_setting: str = "SITELORE_EMBEDDINGS_KEY"

    @property
    def address(self) -> str:
        """The URL of the call."""
        query = f"?{self.base.query}" if self.base.query else ""
        return f"{self.base.origin}{self.base.path.rstrip('/')}/{self.task}{query}"

    @property
    def headers(self) -> dict[str, str]:
        """The request headers, with the key where there is one."""
        named = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "Sitelore"}
        return {**named, "Authorization": f"Bearer {self.key}"} if self.key else named


class TemporaryFailure(Exception):
    """A failure that a retry may fix."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class EndpointClient:
    """Sends requests to one endpoint, and retries temporary failures. `sleep` waits between them."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep

    async def request(
        self, body: Mapping[str, Any], decode: Callable[[bytes], Result], *, is_query: bool, max_bytes: int
    ) -> Result:
        """The decoded response. A user waits for a query, which therefore gives up sooner."""
        endpoint = self.endpoint
        tries, timeout_s = (
            (endpoint.query_tries, endpoint.query_timeout_s) if is_query else (endpoint.tries, endpoint.timeout_s)
        )
        delay_s, reason = _FIRST_DELAY_S, ""
        for left in range(tries - 1, -1, -1):
            try:
                return decode(await self._post(body, timeout_s, max_bytes))
            except TemporaryFailure as failure:
                reason, retry_after_s = failure.reason, failure.retry_after_s or 0.0
            if retry_after_s > endpoint.patience_s:
                raise self.failed(f"{reason} and asks to wait {retry_after_s:.0f} s")
            if left:
                await self._sleep(max(delay_s, retry_after_s))
                delay_s = min(delay_s * 2, _MAX_DELAY_S)
        raise self.failed(f"{reason}, {tries} times")

    def failed(self, what: str) -> EmbeddingFailed:
        """The error that the endpoint did this."""
        return EmbeddingFailed(f"the {self._name} {self.endpoint.base.authority} {what}")

    @property
    def _name(self) -> str:
        return "embedding endpoint" if self.endpoint.task == "embeddings" else f"{self.endpoint.task} endpoint"

    async def _post(self, body: Mapping[str, Any], timeout_s: float, max_bytes: int) -> bytes:
        endpoint, data = self.endpoint, json.dumps(body).encode()
        try:
            response = await send_request(
                "POST", endpoint.address, endpoint.headers, data, timeout_s=timeout_s, max_bytes=max_bytes
            )
        except ResponseTooLarge:
            raise self.failed("answered more than vectors can be") from None
        except UntrustedCertificate as failure:
            raise self.failed(str(failure)) from None
        except RequestFailed as failure:
            raise TemporaryFailure(str(failure)) from None
        self._check_status(response)
        return response.body

    def _check_status(self, response: ServiceResponse) -> None:
        status, endpoint = response.status, self.endpoint
        if status == 200:
            return
        if status in _RETRY_STATUSES or status >= 500:
            raise TemporaryFailure(f"answered {status}", _seconds(response.headers.get("retry-after", "")))
        if status in _REFUSED_STATUSES:
            where = endpoint.base.authority
            raise TextsRefused(f"the {self._name} {where} answered {status}: it does not accept these texts or this model")
        if status in {401, 403}:
            raise self.failed(f"answered {status}: {endpoint.key_setting} is missing or wrong")
        if status == 404:
            raise self.failed(f"answered 404: no model {endpoint.model}, or no {endpoint.task} at this address")
        raise self.failed(f"answered {status}" + (", a redirect, which is not followed" if 300 <= status < 400 else ""))


def sendable(text: str) -> str:
    """The text truncated and as valid UTF-8. Endpoints refuse empty texts, so one space is sent instead."""
    return text[:_MAX_TEXT_CHARS].encode("utf-8", "replace").decode() or " "


def _seconds(retry_after: str) -> float | None:
    """`Retry-After` in seconds; None for a date, which servers use for long waits: the usual delay applies."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None

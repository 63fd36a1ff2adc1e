"""One page of the browser, used again and again: go there, wait until it is quiet, read it, leave no trace."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sitelore.fetch.arrival import Arrival, Ending, Over, Rules, explained, frames_below
from sitelore.fetch.blocking import blocked_kinds, blocked_patterns
from sitelore.fetch.page_scripts import HEIGHT, KEEP_FRAME, TO_THE_END, prelude, reading, settling
from sitelore.fetch.render_failures import explain_net_error, is_broken_body
from sitelore.fetch.traffic import Traffic
from sitelore.model.rendering import Rendered, RenderFailure, RenderMetrics, RenderRequest
from sitelore.model.response import Failure, Response

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_T = TypeVar("_T")

WIDTH, HEIGHT_PX = 1280, 800
_QUIET_S = 0.1
_GRACE_S = 5.0
"""For reading what is there when the time is up."""
_AFTERWARDS_S = 1.0
_BLANK_S = 3.0
_TALLEST_PX = 16_000
_ROOM_TO_SCROLL_PX = 64
_ROUNDS = 8
_FRAMES = 40
_TRIES = 3
_SWEPT = 6
_STAY = "stay"
_NOTHING_SHOWN = frozenset({"", "net::ERR_ABORTED", "net::ERR_HTTP_RESPONSE_CODE_FAILURE"})
_UNTRUE_HEADERS = frozenset({"content-type", "content-encoding", "content-length", "transfer-encoding"})


class Crashed(Exception):
    """The page is gone: its process ended, or the whole browser did. Never leaves this room."""


class _Moved(Exception):
    """The document was replaced, or the page closed, while it was looked at."""


@dataclass(frozen=True, slots=True)
class _Sight:
    """What was seen of a page."""

    settled_at: float
    body: bytes
    nodes: int
    picture: bytes
    probed: Any


class Tab:
    """A page with its DevTools session. Renders one URL at a time."""

    def __init__(self, page: Page, session: CDPSession, rules: Rules) -> None:
        self._page = page
        self._session = session
        self._rules = rules
        self._settings = rules.settings
        self._secret = f"_{secrets.token_hex(8)}"
        self._frame = ""
        self._with_looks: bool | None = None
        self._height = HEIGHT_PX
        self._pages = 0
        self._gone = asyncio.get_running_loop().create_future()
        self._ready = asyncio.Event()
        self._is_blank = asyncio.Event()
        self._traffic: Traffic | None = None
        self._arrival: Arrival | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self.is_fit = True
        """False once it should not be used again."""

    @classmethod
    async def open(cls, page: Page, rules: Rules) -> Tab:
        """Prepare a fresh page."""
        session = await page.context.new_cdp_session(page)
        tab = cls(page, session, rules)
        await tab._prepare()
        return tab

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Go there and read it. Raises `Crashed` when the page or the browser died on the way."""
        return await self._or_gone(self._render(request))

    async def leave(self) -> None:
        """End everything that the last page has going; afterwards the tab is as good as new, or not fit."""
        self._arrival = self._traffic = None
        if not self.is_fit:
            return
        try:
            async with asyncio.timeout(_BLANK_S):
                await self._or_gone(self._blank_out())
                await self._or_gone(self._resize(HEIGHT_PX))
        except (TimeoutError, Crashed, _Moved):
            self.is_fit = False

    async def close(self) -> None:
        """Close the page, whatever it is busy with."""
        self.is_fit = False
        for task in self._beside:
            task.cancel()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_BLANK_S):
                await self._page.close()

    async def _blank_out(self) -> None:
        self._is_blank.clear()
        left = await self._send("Page.navigate", url="about:blank")
        self.is_fit &= not left.get("errorText")
        # The answer may come before the document does, and a page asked for in between would be lost.
        await self._is_blank.wait()
        self._pages += 1
        if self._pages % _SWEPT == 0:  # left to itself, a tab collects 100 MB of pages it no longer shows
            await self._send("HeapProfiler.collectGarbage")

    async def _prepare(self) -> None:
        page, session = self._page, self._session
        page.on("crash", lambda _: self._is_gone())
        page.on("close", lambda _: self._is_gone())
        for name in Traffic.HEARD:
            session.on(name, partial(self._hear, name))
        session.on("Page.domContentEventFired", lambda _: self._parsed())
        session.on("Page.frameNavigated", self._navigated)
        session.on("Page.frameStoppedLoading", self._stopped)
        session.on("Fetch.requestPaused", self._paused)
        session.on("Inspector.targetCrashed", lambda _: self._is_gone())
        tree, *_ = await asyncio.gather(
            self._send("Page.getFrameTree"),
            self._send("Page.enable"),
            self._send("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0),
            self._send("Page.addScriptToEvaluateOnNewDocument", source=prelude(self._secret)),
            self._block(with_looks=False),
        )
        self._frame = tree["frameTree"]["frame"]["id"]
        with contextlib.suppress(_Moved):  # not every version has it
            await self._send("Page.setPrerenderingAllowed", isAllowed=False)

    async def _block(self, *, with_looks: bool) -> None:
        if self._with_looks == with_looks:
            return
        self._with_looks = with_looks
        documents = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
        kinds = [{"resourceType": kind, "requestStage": "Request"} for kind in blocked_kinds(with_looks=with_looks)]
        patterns = blocked_patterns(self._settings.rendering.blocked, with_looks=with_looks)
        await asyncio.gather(
            self._send("Network.setBlockedURLs", urls=patterns), self._send("Fetch.enable", patterns=documents + kinds)
        )

    async def _render(self, request: RenderRequest) -> Rendered | RenderFailure:
        started = time.perf_counter()
        rules = self._rules
        limits = self._settings.limits
        self._arrival = arrival = Arrival(rules, request.url)
        self._traffic = traffic = Traffic(self._frame, limits.body_bytes, rules.proxy.mark, rules.proxy.trouble)
        self._ready.clear()
        try:
            return await self._visit(request, arrival, traffic, started)
        except Over as over:
            ending = over.ending
        except _Moved:
            ending = Ending(failure=Failure.PROTOCOL, detail="The page could not be opened.")
        elapsed_s = time.perf_counter() - started
        if ending.response is not None:
            metrics = RenderMetrics(
                elapsed_s=elapsed_s,
                requests=traffic.requests,
                blocked=traffic.blocked,
                refused=traffic.refused + arrival.refused,
            )
            return Rendered(ending.response, arrival.chain, metrics)
        return RenderFailure(request.url, ending.failure or Failure.PROTOCOL, ending.detail, elapsed_s)

    async def _visit(self, request: RenderRequest, arrival: Arrival, traffic: Traffic, started: float) -> Rendered:
        deadline = started + self._settings.rendering.timeout_s
        await self._block(with_looks=request.screenshot)
        await self._go(request.url, arrival, deadline)
        await self._until_ready(traffic, deadline)
        dom_ready_s = time.perf_counter() - started
        for _ in range(_TRIES):
            try:
                sight = await self._look(request, arrival, traffic, deadline)
                break
            except _Moved:  # on to another document: that one is the page
                await self._next_document(deadline)
        else:
            raise Over(Ending(failure=Failure.TIMEOUT, detail="The page did not hold still to be read."))
        head = arrival.shown
        assert head is not None  # what is read has been committed
        metrics = RenderMetrics(
            dom_ready_s=dom_ready_s,
            settled_s=sight.settled_at - started,
            elapsed_s=time.perf_counter() - started,
            nodes=sight.nodes,
            html_bytes=len(sight.body),
            requests=traffic.requests,
            blocked=traffic.blocked,
            refused=traffic.refused + arrival.refused,
        )
        kept = tuple(header for header in head.headers if header[0] not in _UNTRUE_HEADERS)
        response = Response(
            head.url,
            head.status,
            (("content-type", "text/html; charset=utf-8"), *kept),
            sight.body,
            wire_bytes=traffic.wire_bytes,
            elapsed_s=metrics.elapsed_s,
        )
        return Rendered(response, arrival.chain, metrics, sight.picture, sight.probed)

    async def _look(self, request: RenderRequest, arrival: Arrival, traffic: Traffic, deadline: float) -> _Sight:
        """Wait, then take everything, in this order: what changes the page comes after what must see it unchanged."""
        waits_for_view = await self._settle(traffic, deadline)
        settled_at = time.perf_counter()
        world = await self._in_time(self._world(self._frame))
        probed = await self._in_time(self._evaluate(request.probe, world)) if request.probe else None
        if waits_for_view:
            await self._unroll(traffic, world, deadline)
        if request.expand_frames:
            await self._gather_frames(world, shadow=request.expand_shadow_roots)
        found = await self._read(request, world, arrival, traffic)
        picture = await self._picture(world) if request.screenshot else b""
        return _Sight(settled_at, found["html"].encode("utf-8", "replace"), int(found["nodes"]), picture, probed)

    async def _go(self, url: str, arrival: Arrival, deadline: float) -> None:
        """Until the browser has a document to show."""
        try:
            async with asyncio.timeout(max(0.05, deadline - time.perf_counter())):
                said = await self._send("Page.navigate", url=url)
        except TimeoutError:
            await self._stop()
            raise Over(Ending(failure=Failure.TIMEOUT, detail="No page came in time.")) from None
        if arrival.ending is not None:
            raise Over(arrival.ending)
        error = said.get("errorText", "")
        if not error and not said.get("isDownload"):
            return
        ending = arrival.aborted() if error in _NOTHING_SHOWN else None
        raise Over(ending or explained(error, arrival))

    async def _until_ready(self, traffic: Traffic, deadline: float) -> None:
        """Until the document is parsed, or too heavy, or the time is up."""
        while not self._ready.is_set() and time.perf_counter() < deadline:
            self._weigh(traffic)
            traffic.stirred.clear()
            waits = [asyncio.ensure_future(event.wait()) for event in (self._ready, traffic.stirred)]
            try:
                await asyncio.wait(waits, timeout=max(0.0, deadline - time.perf_counter()), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        self._weigh(traffic)
        if self._ready.is_set():
            return
        # A script that never ends: without it, what has come is parsed, and that is what is read.
        await self._stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_AFTERWARDS_S):
                await self._ready.wait()
        if traffic.is_document_coming():
            raise Over(Ending(failure=Failure.TIMEOUT, detail="The page did not come in time."))

    async def _settle(self, traffic: Traffic, deadline: float, quiet_s: float = _QUIET_S) -> bool:
        """Until neither the network nor the document moves, or the time is up. Whether more waits to come into view."""
        while (left := deadline - time.perf_counter()) > 0:
            self._weigh(traffic)
            traffic.stirred.clear()
            already = traffic.quiet_s()
            if not already:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, traffic.patience_s())):
                        await traffic.stirred.wait()
                continue
            before = traffic.requests
            script = settling(self._secret, quiet_s * 1e3, already * 1e3, min(left, 2.0) * 1e3)
            try:
                async with asyncio.timeout(left):
                    said = await self._evaluate(script, None, wait=True)
            except TimeoutError:
                break
            except _Moved:
                await self._next_document(deadline)
                continue
            if said != "busy" and traffic.requests == before and traffic.quiet_s():
                return bool(said == "waiting")
        await self._stop()
        return False

    async def _next_document(self, deadline: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(_GRACE_S, deadline - time.perf_counter()))):
                await self._ready.wait()

    async def _unroll(self, traffic: Traffic, world: int, deadline: float) -> None:
        """Let everything come into view that waits for it: a tall window, scrolled to its end for as long as it grows."""
        height = await self._in_time(self._evaluate(HEIGHT, world)) or 0
        if height <= HEIGHT_PX * 1.2:
            return
        tall = 0
        for _ in range(_ROUNDS):
            if time.perf_counter() >= deadline or tall >= _TALLEST_PX:
                break
            tall = min(int(height) - _ROOM_TO_SCROLL_PX, _TALLEST_PX)
            before = traffic.requests
            await self._in_time(self._resize(tall))
            grown = await self._in_time(self._evaluate(TO_THE_END, world, wait=True)) or 0
            await self._settle(traffic, deadline, _QUIET_S / 2)
            grown = max(grown, await self._in_time(self._evaluate(HEIGHT, world)) or 0)
            if grown <= height and traffic.requests == before:
                break
            height = grown

    async def _gather_frames(self, world: int, *, shadow: bool) -> None:
        """Hand the main document what its frames hold, so that it can write it in their places. The innermost come first."""
        tree = await self._in_time(self._send("Page.getFrameTree"))
        left = self._settings.limits.body_bytes // 2
        frames = list(frames_below(tree["frameTree"]))[:_FRAMES]
        for number, parent in reversed(frames):
            with contextlib.suppress(_Moved):  # a frame may go away, and the page remains
                inner = await self._in_time(self._world(number))
                script = reading(most_chars=left, shadow=shadow, body_only=True)
                found = await self._in_time(self._evaluate(script, inner))
                html = found["html"] if isinstance(found, dict) else ""
                left -= len(html)
                outer = world if parent == self._frame else await self._in_time(self._world(parent))
                await self._in_time(self._keep_frame(number, outer, html))

    async def _keep_frame(self, frame: str, world: int, html: str) -> None:
        owner = await self._send("DOM.getFrameOwner", frameId=frame)
        node = await self._send("DOM.resolveNode", backendNodeId=owner["backendNodeId"], executionContextId=world)
        await self._send(
            "Runtime.callFunctionOn",
            objectId=node["object"]["objectId"],
            functionDeclaration=KEEP_FRAME,
            arguments=[{"value": html}],
        )

    async def _read(self, request: RenderRequest, world: int, arrival: Arrival, traffic: Traffic) -> dict[str, Any]:
        most = self._settings.limits.body_bytes
        found = await self._in_time(self._evaluate(reading(most_chars=most, shadow=request.expand_shadow_roots), world))
        self._weigh(traffic)
        if not isinstance(found, dict):
            raise _Moved
        if not str(found["href"]).startswith(("http:", "https:")):
            if traffic.document_error:
                raise Over(explained(traffic.document_error, arrival))
            raise Over(Ending(failure=Failure.PROTOCOL, detail="The page went out of the web."))
        if found["length"] > most:
            raise Over(Ending(failure=Failure.TOO_LARGE, detail=f"The page is larger than {most} bytes."))
        return found

    async def _picture(self, world: int) -> bytes:
        """The whole page from its top, as tall as the settings allow, seen through an ordinary window."""
        await self._in_time(self._resize(HEIGHT_PX))
        await self._in_time(self._evaluate("self.scrollTo(0, 0)", world))
        height = await self._in_time(self._evaluate(HEIGHT, world)) or HEIGHT_PX
        tall = max(1, min(int(max(height, HEIGHT_PX)), self._settings.rendering.screenshot_height))
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": tall, "scale": 1}
        shot = self._send("Page.captureScreenshot", format="jpeg", quality=80, captureBeyondViewport=True, clip=clip)
        return base64.b64decode((await self._in_time(shot))["data"])

    async def _resize(self, height: int) -> None:
        if height == self._height:
            return
        self._height = height
        await self._send("Emulation.setDeviceMetricsOverride", width=WIDTH, height=height, deviceScaleFactor=1, mobile=False)

    def _weigh(self, traffic: Traffic) -> None:
        """Is what has come whole, and not too much?"""
        if is_broken_body(traffic.document_error):
            failure, detail = explain_net_error(traffic.document_error)
            raise Over(Ending(failure=failure, detail=detail))
        if traffic.is_too_heavy:
            self.is_fit = False
            most = self._settings.limits.body_bytes
            raise Over(Ending(failure=Failure.TOO_LARGE, detail=f"The page is made of more than {most} bytes."))

    async def _stop(self) -> None:
        """End the script that runs. A page that had to be stopped is not used again."""
        self.is_fit = False
        with contextlib.suppress(TimeoutError, _Moved):
            async with asyncio.timeout(_AFTERWARDS_S):
                await self._send("Runtime.terminateExecution")

    async def _world(self, frame: str) -> int:
        """A place of our own beside the page's scripts: the same document, none of their changes to the language."""
        made = await self._send("Page.createIsolatedWorld", frameId=frame, worldName=self._secret)
        return int(made["executionContextId"])

    async def _evaluate(self, script: str, world: int | None, *, wait: bool = False) -> Any:
        """What a script says; None when it failed."""
        where = {} if world is None else {"contextId": world}
        said = await self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=wait, **where)
        return None if "exceptionDetails" in said else said["result"].get("value")

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        """A step that is quick on any page that still answers."""
        try:
            async with asyncio.timeout(_GRACE_S):
                return await work
        except TimeoutError:
            self.is_fit = False
            raise Over(Ending(failure=Failure.TIMEOUT, detail="The page did not answer.")) from None

    async def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        from playwright.async_api import Error  # noqa: PLC0415 only where there is a browser

        try:
            answer: dict[str, Any] = await self._session.send(method, parameters)
        except Error as error:
            if "Protocol error" in str(error):
                raise _Moved from None
            raise Crashed from None
        return answer

    async def _or_gone(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, self._gone), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Crashed
            return task.result()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Crashed, _Moved):
                await task

    def _is_gone(self) -> None:
        self.is_fit = False
        if not self._gone.done():
            self._gone.set_result(None)

    def _hear(self, name: str, event: dict[str, Any]) -> None:
        if self._traffic is not None:
            self._traffic.hear(name, event)

    def _stopped(self, event: dict[str, Any]) -> None:
        # A page that was kept from going elsewhere while it was being parsed is never called parsed.
        if event.get("frameId") == self._frame:
            self._parsed()

    def _parsed(self) -> None:
        # What is told before a document was committed is told of the blank page before it.
        if self._arrival is not None and self._arrival.shown is not None:
            self._ready.set()

    def _navigated(self, event: dict[str, Any]) -> None:
        frame = event["frame"]
        if frame["id"] == self._frame and frame["url"] == "about:blank":
            self._is_blank.set()
        if frame["id"] != self._frame or self._traffic is None or self._arrival is None:
            return
        self._traffic.committed(frame.get("loaderId", ""))
        if frame["url"].startswith(("http:", "https:")):  # and not the browser's own page of errors
            self._arrival.committed()

    def _paused(self, event: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._pass_on(event))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _pass_on(self, event: dict[str, Any]) -> None:
        """Let a paused request or answer go on, or not. The page may have gone away meanwhile, and then nobody asks."""
        number = event["requestId"]
        is_answer = "responseStatusCode" in event or "responseErrorReason" in event
        arrival = self._arrival
        reason = ""
        if event.get("resourceType") != "Document":
            reason = "BlockedByClient"
        elif arrival is None:
            reason = "Aborted"
        elif event.get("frameId") == self._frame and "responseErrorReason" not in event:
            may = arrival.answer(event) if is_answer else await arrival.request(event)
            if may and not is_answer:
                self._ready.clear()
            reason = "" if may else _STAY
        with contextlib.suppress(Crashed, _Moved):
            if reason == _STAY:
                # An aborted request would also end the parsing of the page that asked; no content leaves it as it is.
                await self._send("Fetch.fulfillRequest", requestId=number, responseCode=204)
            elif reason:
                await self._send("Fetch.failRequest", requestId=number, errorReason=reason)
            else:
                await self._send("Fetch.continueResponse" if is_answer else "Fetch.continueRequest", requestId=number)

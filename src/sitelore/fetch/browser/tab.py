"""One browser tab, reused for many pages: navigate, wait until the page is idle, serialise it, reset."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.actions import ACTIONS_S, ActionRunner
from sitelore.fetch.browser.navigation import Navigation, NavigationEnded, NavigationResult, NavigationRules
from sitelore.fetch.browser.network_monitor import NetworkMonitor, blocked_patterns, blocked_types
from sitelore.fetch.browser.page_scripts import (
    MEASURE_HEIGHT,
    SCROLL_TO_END,
    STORE_FRAME,
    init_script,
    serialize_script,
    wait_idle_script,
)
from sitelore.fetch.failures import FailureInfo, explain_net_error, is_broken_body
from sitelore.model.response import Failure, Rendered, RenderFailure, RenderMetrics, RenderRequest, Response
from sitelore.model.settings import PageAction
from sitelore.model.url import Url

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_T = TypeVar("_T")

VIEWPORT_WIDTH, VIEWPORT_HEIGHT = 1280, 800
_IDLE_S = 0.1
_STEP_TIMEOUT_S = 5.0
"""The timeout of one step of reading a page. It also applies when the page's own time limit has passed."""
_TERMINATE_TIMEOUT_S = 1.0
_RESET_TIMEOUT_S = 3.0
_MAX_HEIGHT = 16_000
_SCROLL_MARGIN = 64
"""Pixels by which a page stays taller than the window, so that it can still be scrolled."""
_MAX_SCROLLS = 8
_MAX_FRAMES = 40
_MAX_READS = 3
_GC_EVERY_PAGES = 6
_NO_CONTENT = "no_content"
_NOTHING_SHOWN = frozenset({"", "net::ERR_ABORTED", "net::ERR_HTTP_RESPONSE_CODE_FAILURE"})
_STALE_HEADERS = frozenset({"content-type", "content-encoding", "content-length", "transfer-encoding"})
"""Headers that do not describe the serialised DOM."""


class TabCrashed(Exception):
    """The page's process or the whole browser is gone. Caught inside `fetch`."""


class _DocumentReplaced(Exception):
    """The document was replaced, or the page closed, during a step."""


@dataclass(frozen=True, slots=True)
class _Capture:
    """What was read from an idle page."""

    idle_at: float
    body: bytes
    nodes: int
    screenshot: bytes
    probed: Any
    action_problems: tuple[str, ...] = ()


class Tab:
    """A page with its DevTools session. Renders one URL at a time."""

    def __init__(self, page: Page, session: CDPSession, rules: NavigationRules) -> None:
        self._page = page
        self._session = session
        self._rules = rules
        self._settings = rules.settings
        self._secret_name = f"_{secrets.token_hex(8)}"
        self._main_frame = ""
        self._allow_visuals: bool | None = None
        self._height = VIEWPORT_HEIGHT
        self._pages = 0
        self._crashed = asyncio.get_running_loop().create_future()
        self._is_parsed = asyncio.Event()
        self._is_blank = asyncio.Event()
        self._monitor: NetworkMonitor | None = None
        self._navigation: Navigation | None = None
        self._pause_tasks: set[asyncio.Task[None]] = set()
        self.is_reusable = True

    @classmethod
    async def open(cls, page: Page, rules: NavigationRules) -> Tab:
        """Prepare a new page."""
        session = await page.context.new_cdp_session(page)
        tab = cls(page, session, rules)
        await tab._prepare()
        return tab

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """Load and serialise a page. Raises `TabCrashed`."""
        return await self._unless_crashed(self._render(request))

    async def reset(self) -> None:
        """Leave the page and stop everything it was doing; clears `is_reusable` when that fails."""
        self._navigation = self._monitor = None
        if not self.is_reusable:
            return
        try:
            async with asyncio.timeout(_RESET_TIMEOUT_S):
                await self._unless_crashed(self._load_blank())
                await self._unless_crashed(self._resize(VIEWPORT_HEIGHT))
        except (TimeoutError, TabCrashed, _DocumentReplaced):
            self.is_reusable = False

    async def close(self) -> None:
        """Close the page, even while it is busy."""
        self.is_reusable = False
        for task in self._pause_tasks:
            task.cancel()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_RESET_TIMEOUT_S):
                await self._page.close()

    async def _load_blank(self) -> None:
        self._is_blank.clear()
        reply = await self._send("Page.navigate", url="about:blank")
        self.is_reusable &= not reply.get("errorText")
        # The reply may precede the document, and a navigation started in between would be lost.
        await self._is_blank.wait()
        self._pages += 1
        if self._pages % _GC_EVERY_PAGES == 0:  # without it a tab accumulates 100 MB of pages it no longer shows
            await self._send("HeapProfiler.collectGarbage")

    async def _prepare(self) -> None:
        page, session = self._page, self._session
        page.on("crash", lambda _: self._on_crash())
        page.on("close", lambda _: self._on_crash())
        for name in NetworkMonitor.HANDLERS:
            session.on(name, partial(self._on_network_event, name))
        session.on("Page.domContentEventFired", lambda _: self._on_parsed())
        session.on("Page.frameNavigated", self._on_frame_navigated)
        session.on("Page.frameStoppedLoading", self._on_frame_stopped)
        session.on("Fetch.requestPaused", lambda event: self._start_task(self._resume(event)))
        session.on("Fetch.authRequired", lambda event: self._start_task(self._authenticate(event)))
        session.on("Inspector.targetCrashed", lambda _: self._on_crash())
        tree, *_ = await asyncio.gather(
            self._send("Page.getFrameTree"),
            self._send("Page.enable"),
            self._send("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0),
            self._send("Page.addScriptToEvaluateOnNewDocument", source=init_script(self._secret_name)),
            self._set_blocking(allow_visuals=False),
        )
        self._main_frame = tree["frameTree"]["frame"]["id"]
        with contextlib.suppress(_DocumentReplaced):  # not every version of Chromium has it
            await self._send("Page.setPrerenderingAllowed", isAllowed=False)

    async def _set_blocking(self, *, allow_visuals: bool) -> None:
        if self._allow_visuals == allow_visuals:
            return
        self._allow_visuals = allow_visuals
        documents = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
        blocked = [{"resourceType": name, "requestStage": "Request"} for name in blocked_types(allow_visuals=allow_visuals)]
        with_headers = [
            {"urlPattern": f"{origin}/*", "requestStage": "Request"} for origin in self._rules.access.origins_with_headers
        ]
        patterns = blocked_patterns(self._settings.rendering.blocked, allow_visuals=allow_visuals)
        await asyncio.gather(
            self._send("Network.setBlockedURLs", urls=patterns),
            self._send("Fetch.enable", patterns=documents + blocked + with_headers, handleAuthRequests=True),
        )

    async def _render(self, request: RenderRequest) -> Rendered | RenderFailure:
        started = time.perf_counter()
        proxy = self._rules.proxy
        self._navigation = navigation = Navigation(self._rules, request.url)
        self._monitor = monitor = NetworkMonitor(self._main_frame, self._settings.limits.body_bytes, proxy.token, proxy.failure)
        self._is_parsed.clear()
        try:
            return await self._load_and_capture(request, navigation, monitor, started)
        except NavigationEnded as ended:
            result = ended.result
        except _DocumentReplaced:
            result = NavigationResult(failure=FailureInfo(Failure.PROTOCOL, "The page could not be opened."))
        elapsed_s = time.perf_counter() - started
        if result.response is not None:
            metrics = RenderMetrics(
                elapsed_s=elapsed_s,
                requests=monitor.requests,
                blocked=monitor.blocked,
                refused=monitor.refused + navigation.refused,
            )
            return Rendered(result.response, navigation.chain, metrics)
        failure, detail = result.failure or FailureInfo(Failure.PROTOCOL, "")
        return RenderFailure(request.url, failure, detail, elapsed_s)

    async def _load_and_capture(
        self, request: RenderRequest, navigation: Navigation, monitor: NetworkMonitor, started: float
    ) -> Rendered:
        deadline = started + self._settings.rendering.timeout_s
        await self._set_blocking(allow_visuals=request.screenshot)
        await self._navigate(request.url, navigation, deadline)
        await self._wait_parsed(monitor, deadline)
        dom_ready_s = time.perf_counter() - started
        for _ in range(_MAX_READS):
            try:
                capture = await self._capture(request, navigation, monitor, deadline)
                break
            except _DocumentReplaced:  # the page navigated: the new document is the page
                await self._wait_next_document(deadline)
        else:
            raise NavigationEnded.failed(Failure.TIMEOUT, "The page kept navigating and could not be read.")
        head = navigation.shown
        assert head is not None  # a document that was read has been committed
        metrics = RenderMetrics(
            dom_ready_s=dom_ready_s,
            settled_s=capture.idle_at - started,
            elapsed_s=time.perf_counter() - started,
            nodes=capture.nodes,
            html_bytes=len(capture.body),
            requests=monitor.requests,
            blocked=monitor.blocked,
            refused=monitor.refused + navigation.refused,
        )
        headers = tuple(header for header in head.headers if header[0] not in _STALE_HEADERS)
        response = Response(
            head.url,
            head.status,
            (("content-type", "text/html; charset=utf-8"), *headers),
            capture.body,
            wire_bytes=monitor.wire_bytes,
            elapsed_s=metrics.elapsed_s,
        )
        return Rendered(
            response, navigation.chain, metrics, capture.screenshot, capture.probed, action_problems=capture.action_problems
        )

    async def _capture(
        self, request: RenderRequest, navigation: Navigation, monitor: NetworkMonitor, deadline: float
    ) -> _Capture:
        """Wait for idle, then read. Steps that change the page come after those that need it unchanged."""
        has_lazy_content = await self._wait_idle(monitor, deadline)
        idle_at = time.perf_counter()
        world = await self._step(self._create_world(self._main_frame))
        probed = await self._step(self._evaluate(request.probe, world)) if request.probe else None
        action_problems: tuple[str, ...] = ()
        if request.actions:
            deadline += ACTIONS_S
            action_problems = await self._act(request.actions, navigation, monitor, world, deadline)
            has_lazy_content = await self._wait_idle(monitor, deadline)
        if has_lazy_content:
            await self._scroll_through(monitor, world, deadline)
        if request.expand_frames:
            await self._collect_frames(world, shadow=request.expand_shadow_roots)
        document = await self._serialize(request, world, navigation, monitor)
        screenshot = await self._take_screenshot(world) if request.screenshot else b""
        body = document["html"].encode("utf-8", "replace")
        return _Capture(idle_at, body, int(document["nodes"]), screenshot, probed, action_problems)

    async def _act(
        self, actions: Sequence[PageAction], navigation: Navigation, monitor: NetworkMonitor, world: int, deadline: float
    ) -> tuple[str, ...]:
        """Execute the actions of the page's domain. Returns what did not work."""
        runner = ActionRunner(
            lambda script: self._step(self._evaluate(script, world, wait=True)),
            partial(self._wait_idle, monitor),
            partial(self._scroll_through, monitor, world),
            navigation,
        )
        return await runner.run(actions, deadline)

    async def _navigate(self, url: str, navigation: Navigation, deadline: float) -> None:
        """Start the navigation and wait until the browser has a document to show."""
        try:
            async with asyncio.timeout(max(0.05, deadline - time.perf_counter())):
                reply = await self._send("Page.navigate", url=url)
        except TimeoutError:
            await self._terminate_scripts()
            raise NavigationEnded.failed(Failure.TIMEOUT, "No response within the time limit.") from None
        if navigation.result is not None:
            raise NavigationEnded(navigation.result)
        error = reply.get("errorText", "")
        if not error and not reply.get("isDownload"):
            return
        result = navigation.aborted() if error in _NOTHING_SHOWN else None
        raise NavigationEnded(result or navigation.explain(error))

    async def _wait_parsed(self, monitor: NetworkMonitor, deadline: float) -> None:
        """Wait until the document is parsed, is too large, or the time is up."""
        while not self._is_parsed.is_set() and time.perf_counter() < deadline:
            self._check_document(monitor)
            monitor.activity.clear()
            waits = [asyncio.ensure_future(event.wait()) for event in (self._is_parsed, monitor.activity)]
            try:
                await asyncio.wait(waits, timeout=max(0.0, deadline - time.perf_counter()), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        self._check_document(monitor)
        if self._is_parsed.is_set():
            return
        # An endless script: once it is terminated, the rest of the document is parsed and can be read.
        await self._terminate_scripts()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TERMINATE_TIMEOUT_S):
                await self._is_parsed.wait()
        if monitor.is_document_loading():
            raise NavigationEnded.failed(Failure.TIMEOUT, "The page was not complete within the time limit.")

    async def _wait_idle(self, monitor: NetworkMonitor, deadline: float, idle_s: float = _IDLE_S) -> bool:
        """Wait until network and DOM are idle or the time is up. Returns whether more loads when it is scrolled into view."""
        while (left := deadline - time.perf_counter()) > 0:
            self._check_document(monitor)
            monitor.activity.clear()
            network_idle_s = monitor.idle_s()
            if not network_idle_s:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, monitor.next_check_s())):
                        await monitor.activity.wait()
                continue
            requests = monitor.requests
            script = wait_idle_script(self._secret_name, idle_s * 1e3, network_idle_s * 1e3, min(left, 2.0) * 1e3)
            try:
                async with asyncio.timeout(left):
                    state = await self._evaluate(script, None, wait=True)
            except TimeoutError:
                break
            except _DocumentReplaced:
                await self._wait_next_document(deadline)
                continue
            if state != "busy" and monitor.requests == requests and monitor.idle_s():
                return bool(state == "lazy")
        await self._terminate_scripts()
        return False

    async def _wait_next_document(self, deadline: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(_STEP_TIMEOUT_S, deadline - time.perf_counter()))):
                await self._is_parsed.wait()

    async def _scroll_through(self, monitor: NetworkMonitor, world: int, deadline: float) -> None:
        """Load lazy content: make the window tall and scroll to the end for as long as the page grows."""
        height = await self._step(self._evaluate(MEASURE_HEIGHT, world)) or 0
        if height <= VIEWPORT_HEIGHT * 1.2:
            return
        window = 0
        for _ in range(_MAX_SCROLLS):
            if time.perf_counter() >= deadline or window >= _MAX_HEIGHT:
                break
            window = min(int(height) - _SCROLL_MARGIN, _MAX_HEIGHT)
            requests = monitor.requests
            await self._step(self._resize(window))
            new_height = await self._step(self._evaluate(SCROLL_TO_END, world, wait=True)) or 0
            await self._wait_idle(monitor, deadline, _IDLE_S / 2)
            new_height = max(new_height, await self._step(self._evaluate(MEASURE_HEIGHT, world)) or 0)
            if new_height <= height and monitor.requests == requests:
                break
            height = new_height

    async def _collect_frames(self, world: int, *, shadow: bool) -> None:
        """Serialise every frame, innermost first, and store it in its parent document, which then writes it in place."""
        tree = await self._step(self._send("Page.getFrameTree"))
        left = self._settings.limits.body_bytes // 2
        frames = _child_frames(tree["frameTree"])[:_MAX_FRAMES]
        for frame, parent in reversed(frames):
            with contextlib.suppress(_DocumentReplaced):  # the frame may be gone; the page remains
                inner = await self._step(self._create_world(frame))
                script = serialize_script(max_chars=left, shadow=shadow, body_only=True)
                document = await self._step(self._evaluate(script, inner))
                html = document["html"] if isinstance(document, dict) else ""
                left -= len(html)
                outer = world if parent == self._main_frame else await self._step(self._create_world(parent))
                await self._step(self._store_frame(frame, outer, html))

    async def _store_frame(self, frame: str, world: int, html: str) -> None:
        owner = await self._send("DOM.getFrameOwner", frameId=frame)
        node = await self._send("DOM.resolveNode", backendNodeId=owner["backendNodeId"], executionContextId=world)
        await self._send(
            "Runtime.callFunctionOn",
            objectId=node["object"]["objectId"],
            functionDeclaration=STORE_FRAME,
            arguments=[{"value": html}],
        )

    async def _serialize(
        self, request: RenderRequest, world: int, navigation: Navigation, monitor: NetworkMonitor
    ) -> dict[str, Any]:
        limit = self._settings.limits.body_bytes
        script = serialize_script(max_chars=limit, shadow=request.expand_shadow_roots)
        document = await self._step(self._evaluate(script, world))
        self._check_document(monitor)
        if not isinstance(document, dict):
            raise _DocumentReplaced
        if not str(document["href"]).startswith(("http:", "https:")):
            if monitor.document_error:
                raise NavigationEnded(navigation.explain(monitor.document_error))
            raise NavigationEnded.failed(Failure.PROTOCOL, "The page navigated to something that is not an http(s) URL.")
        if document["length"] > limit:
            raise NavigationEnded.failed(Failure.TOO_LARGE, f"The page is larger than {limit} bytes.")
        return document

    async def _take_screenshot(self, world: int) -> bytes:
        """A JPEG of the whole page from its top, up to the height in the settings."""
        await self._step(self._resize(VIEWPORT_HEIGHT))
        await self._step(self._evaluate("self.scrollTo(0, 0)", world))
        height = await self._step(self._evaluate(MEASURE_HEIGHT, world)) or VIEWPORT_HEIGHT
        height = max(1, min(int(max(height, VIEWPORT_HEIGHT)), self._settings.rendering.screenshot_height))
        clip = {"x": 0, "y": 0, "width": VIEWPORT_WIDTH, "height": height, "scale": 1}
        capture = self._send("Page.captureScreenshot", format="jpeg", quality=80, captureBeyondViewport=True, clip=clip)
        return base64.b64decode((await self._step(capture))["data"])

    async def _resize(self, height: int) -> None:
        if height == self._height:
            return
        self._height = height
        await self._send(
            "Emulation.setDeviceMetricsOverride", width=VIEWPORT_WIDTH, height=height, deviceScaleFactor=1, mobile=False
        )

    def _check_document(self, monitor: NetworkMonitor) -> None:
        """Raise `NavigationEnded` when the document was cut off or the page is too large."""
        if is_broken_body(monitor.document_error):
            raise NavigationEnded(NavigationResult(failure=explain_net_error(monitor.document_error)))
        if monitor.is_too_large:
            self.is_reusable = False
            limit = self._settings.limits.body_bytes
            raise NavigationEnded.failed(Failure.TOO_LARGE, f"The page loads more than {limit} bytes.")

    async def _terminate_scripts(self) -> None:
        """Terminate the running script. The tab is not reused afterwards."""
        self.is_reusable = False
        with contextlib.suppress(TimeoutError, _DocumentReplaced):
            async with asyncio.timeout(_TERMINATE_TIMEOUT_S):
                await self._send("Runtime.terminateExecution")

    async def _create_world(self, frame: str) -> int:
        """An isolated world: the same document, without the page's changes to JavaScript built-ins."""
        reply = await self._send("Page.createIsolatedWorld", frameId=frame, worldName=self._secret_name)
        return int(reply["executionContextId"])

    async def _evaluate(self, script: str, world: int | None, *, wait: bool = False) -> Any:
        """The value of a script; None when it threw."""
        context = {} if world is None else {"contextId": world}
        reply = await self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=wait, **context)
        return None if "exceptionDetails" in reply else reply["result"].get("value")

    async def _step(self, work: Awaitable[_T]) -> _T:
        """One step of reading, within its timeout: a page that still responds is quick."""
        try:
            async with asyncio.timeout(_STEP_TIMEOUT_S):
                return await work
        except TimeoutError:
            self.is_reusable = False
            raise NavigationEnded.failed(Failure.TIMEOUT, "The page did not respond.") from None

    async def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        from playwright.async_api import Error  # noqa: PLC0415 loaded only when a browser is used

        try:
            reply: dict[str, Any] = await self._session.send(method, parameters)
        except Error as error:
            if "Protocol error" in str(error):
                raise _DocumentReplaced from None
            raise TabCrashed from None
        return reply

    async def _unless_crashed(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, self._crashed), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise TabCrashed
            return task.result()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, TabCrashed, _DocumentReplaced):
                await task

    def _on_crash(self) -> None:
        self.is_reusable = False
        if not self._crashed.done():
            self._crashed.set_result(None)

    def _on_network_event(self, name: str, event: dict[str, Any]) -> None:
        if self._monitor is not None:
            self._monitor.handle(name, event)

    def _on_frame_stopped(self, event: dict[str, Any]) -> None:
        # A document whose next navigation was refused during parsing fires no DOMContentLoaded.
        if event.get("frameId") == self._main_frame:
            self._on_parsed()

    def _on_parsed(self) -> None:
        # Events before the first commit belong to the blank page.
        if self._navigation is not None and self._navigation.shown is not None:
            self._is_parsed.set()

    def _on_frame_navigated(self, event: dict[str, Any]) -> None:
        frame = event["frame"]
        if frame["id"] == self._main_frame and frame["url"] == "about:blank":
            self._is_blank.set()
        if frame["id"] != self._main_frame or self._monitor is None or self._navigation is None:
            return
        self._monitor.on_commit(frame.get("loaderId", ""))
        if frame["url"].startswith(("http:", "https:")):  # not the browser's own error page
            self._navigation.on_commit()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._pause_tasks.add(task)
        task.add_done_callback(self._pause_tasks.discard)

    async def _authenticate(self, event: dict[str, Any]) -> None:
        """Give the credentials of the proxy to the proxy only. Playwright's own option would give them to servers as well.

        Chromium asks for the first document and then sends them with every request of the browser context.
        """
        answer = self._rules.proxy.answer(event["authChallenge"])
        with contextlib.suppress(TabCrashed, _DocumentReplaced):
            await self._send("Fetch.continueWithAuth", requestId=event["requestId"], authChallengeResponse=answer)

    async def _resume(self, event: dict[str, Any]) -> None:
        """Continue or refuse a paused request or response. The page may be gone by now, which is ignored."""
        request_id = event["requestId"]
        is_response = "responseStatusCode" in event or "responseErrorReason" in event
        navigation = self._navigation
        refusal = ""
        if event.get("resourceType") != "Document":
            is_blocked = event.get("resourceType") in blocked_types(allow_visuals=bool(self._allow_visuals))
            refusal = "BlockedByClient" if is_blocked else ""
        elif navigation is None:
            refusal = "Aborted"
        elif event.get("frameId") == self._main_frame and "responseErrorReason" not in event:
            is_allowed = navigation.on_response(event) if is_response else await navigation.on_request(event)
            if is_allowed and not is_response:
                self._is_parsed.clear()
            refusal = "" if is_allowed else _NO_CONTENT
        with contextlib.suppress(TabCrashed, _DocumentReplaced):
            if refusal == _NO_CONTENT:
                # Aborting the request would also stop the parser of the current page; a 204 leaves that page as it is.
                await self._send("Fetch.fulfillRequest", requestId=request_id, responseCode=204)
            elif refusal:
                await self._send("Fetch.failRequest", requestId=request_id, errorReason=refusal)
            elif is_response:
                await self._send("Fetch.continueResponse", requestId=request_id)
            else:
                changes = changed_headers(self._rules.access, event["request"])
                await self._send("Fetch.continueRequest", requestId=request_id, **changes)


def changed_headers(access: RunAccess, request: dict[str, Any]) -> dict[str, Any]:
    """The headers and cookies that this request's origin gets, as parameters of `Fetch.continueRequest`.

    They do not follow a redirect: each hop is paused anew.
    """
    url = Url.parse(request["url"])
    headers = request["headers"]
    with_access = access.apply(url, headers) if url is not None else headers
    if with_access is headers:
        return {}
    return {"headers": [{"name": name, "value": value} for name, value in with_access.items()]}


def _child_frames(tree: dict[str, Any]) -> list[tuple[str, str]]:
    """Every frame below the main one with its parent, outer frames first."""
    frames = []
    queue = [tree]
    while queue:
        node = queue.pop(0)
        for child in node.get("childFrames", ()):
            frames.append((child["frame"]["id"], node["frame"]["id"]))
            queue.append(child)
    return frames

import asyncio

import pytest

from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response
from sitelore.model.url import Url

SKETCH = tuple(range(32))
PAGE = Url("http://site.test/shop/gone")
SUSPECT = Reading(looks_missing=0.6, fingerprint=SKETCH)


class Site:
    """Answers every probe alike and remembers which were made."""

    def __init__(self, status: int = 200, fingerprint: tuple[int, ...] = SKETCH, *, crashes: bool = False) -> None:
        self.status, self.fingerprint, self.crashes = status, fingerprint, crashes
        self.requested: list[Url] = []
        self.probes = Soft404Detector(self.fetch, self.read, "salt")

    async def fetch(self, request: Request) -> Fetched:
        self.requested.append(request.url)
        if not self.status:
            return FetchFailure(request.url, Failure.TIMEOUT)
        return Response(request.url, self.status, (), b"x")

    async def read(self, response: Response) -> Reading:
        if self.crashes:
            raise ReaderCrashed("ended")
        return Reading(fingerprint=self.fingerprint)


async def test_a_page_like_the_answer_to_an_impossible_path_is_missing() -> None:
    site = Site()
    assert await site.probes.soft_404(PAGE, SUSPECT)
    assert await site.probes.soft_404(Url("http://site.test/shop/other"), SUSPECT)
    assert len(site.requested) == 1, "one probe per directory"
    assert site.requested[0].startswith("http://site.test/shop/")


@pytest.mark.parametrize("site", [Site(0), Site(503), Site(fingerprint=tuple(range(100, 132))), Site(crashes=True)])
async def test_without_such_an_answer_only_a_sure_text_decides(site: Site) -> None:
    assert await site.probes.soft_404(PAGE, SUSPECT) is None
    assert await site.probes.soft_404(PAGE, Reading(looks_missing=0.95, fingerprint=SKETCH))


@pytest.mark.parametrize("status", [404, 410])
async def test_a_site_that_answers_true_404s_keeps_every_page(status: int) -> None:
    site = Site(status)
    assert await site.probes.soft_404(PAGE, Reading(looks_missing=0.95, fingerprint=SKETCH)) is None
    assert len(site.requested) == 1


async def test_ordinary_pages_and_the_root_page_are_never_probed() -> None:
    site = Site()
    assert await site.probes.soft_404(PAGE, Reading(looks_missing=0.2, fingerprint=SKETCH)) is None
    assert await site.probes.soft_404(Url("http://site.test/"), SUSPECT) is None
    assert site.requested == []


async def test_a_visit_that_is_cancelled_leaves_the_probe_to_the_others() -> None:
    site, started, may_answer = Site(), asyncio.Event(), asyncio.Event()

    async def fetch_when_allowed(request: Request) -> Fetched:
        started.set()
        await may_answer.wait()
        return await site.fetch(request)

    detector = Soft404Detector(fetch_when_allowed, site.read, "salt")
    cancelled, other = [asyncio.create_task(detector.soft_404(PAGE, SUSPECT)) for _ in range(2)]
    await started.wait()
    cancelled.cancel()
    await asyncio.wait({cancelled})
    may_answer.set()
    assert await other
    assert len(site.requested) == 1

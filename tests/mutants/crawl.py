"""Mutants of `crawl`. Each is a fault that an engineer could make."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_WORKER = ("tests/unit/crawl/test_worker.py",)
_SETTLER = ("tests/unit/crawl/test_settle.py",)
_MAINTENANCE = ("tests/unit/crawl/test_maintenance.py",)
_SCHEDULER = ("tests/unit/crawl/test_run_scheduler.py",)
_VISIT = ("tests/unit/crawl/test_page_fetch.py", "tests/unit/crawl/test_soft_404.py")
_EXTRACTION = ("tests/unit/crawl/test_extraction_pool.py",)

MUTANTS = (
    Mutant(
        "row-before-blobs",
        "crawl/settle.py",
        "        if blobs:\n            await self._blobs.put(list(blobs.values()))\n"
        "        accepted = await self._ledger.settle(batch)\n",
        "        accepted = await self._ledger.settle(batch)\n"
        "        if blobs:\n            await self._blobs.put(list(blobs.values()))\n",
        "A crash between the two writes leaves a row that points to a blob which does not exist.",
        _SETTLER,
    ),
    Mutant(
        "batch-under-way-not-pending",
        "crawl/settle.py",
        "        self._writing = len(batch)\n",
        "",
        "Settlements that are being written do not count as pending, so a drain does not wait for them.",
        _SETTLER,
    ),
    Mutant(
        "rejected-settlement-counts",
        "crawl/settle.py",
        "self._on_settled(settlement, is_accepted)",
        "self._on_settled(settlement, True)",
        "A settlement that its fencing token rejected is accounted for like a written one.",
        _SETTLER,
    ),
    Mutant(
        "redirect-target-unredacted",
        "crawl/settle.py",
        "alias_of=redactor.redact_url(effects.alias_of) if effects.alias_of else None,",
        "alias_of=effects.alias_of,",
        "A secret in the target of a redirect is stored.",
        _SETTLER,
    ),
    Mutant(
        "newer-lease-dropped",
        "crawl/worker.py",
        "        if self._leases.get(lease.url) == lease:\n            del self._leases[lease.url]",
        "        self._leases.pop(lease.url, None)",
        "A late settlement of an expired lease makes the worker forget its newer lease of that row.",
        _WORKER,
    ),
    Mutant(
        "lease-renewed-until-now",
        "crawl/worker.py",
        "until = self._context.clock() + self._config.lease_s",
        "until = self._context.clock()",
        "A renewed lease has expired already, and another worker takes the row.",
        _WORKER,
    ),
    Mutant(
        "stop-keeps-leases",
        "crawl/worker.py",
        "await self._ledger.release(self._run.id, self._context.clock(), self._id)",
        "await self._ledger.release(self._run.id, self._context.clock())",
        "A worker that stops leaves its rows leased until they expire.",
        _WORKER,
    ),
    Mutant(
        "stop-loses-settlements",
        "crawl/worker.py",
        "await self._write_pending(background[0])",
        "pass",
        "Visits that ended before a stop are not written and fetched again by the resumed run.",
        _WORKER,
    ),
    Mutant(
        "stop-waits-for-ever",
        "crawl/worker.py",
        "                visit_task.cancel()\n",
        "                visit_task.done()\n",
        "A visit that does not end keeps a stopped worker from ending: the cancellation is lost.",
        _WORKER,
    ),
    Mutant(
        "settlements-without-a-limit",
        "crawl/worker.py",
        "if self._draining or self._settler.is_full or self._worker_context.limiter.is_full:",
        "if self._draining or self._worker_context.limiter.is_full:",
        "Visits start although the queue of unwritten settlements is full.",
        _WORKER,
    ),
    Mutant(
        "visits-without-a-limit",
        "crawl/worker.py",
        "if self._draining or self._settler.is_full or self._worker_context.limiter.is_full:",
        "if self._draining or self._settler.is_full:",
        "Several runs together exceed the concurrency limit of the process.",
        _WORKER,
    ),
    Mutant(
        "failed-visit-keeps-its-slot",
        "crawl/worker.py",
        "            try:\n                await self._visit(lease)\n            finally:\n"
        "                self._worker_context.limiter.release()\n",
        "            await self._visit(lease)\n            self._worker_context.limiter.release()\n",
        "A visit that is cancelled or fails takes a slot of the process for ever.",
        _WORKER,
    ),
    Mutant(
        "closed-host-blocks-others",
        "crawl/worker.py",
        "if lease.url.authority not in self._closed_hosts:",
        "if lease.url.authority:",
        "Rows of a host in backoff occupy all visits, and other hosts wait with it.",
        _WORKER,
    ),
    Mutant(
        "failing-writer-ignored",
        "crawl/worker.py",
        "for task in (*self._visits, *background):",
        "for task in self._visits:",
        "A crawl whose settlements cannot be written goes on fetching.",
        _WORKER,
    ),
    Mutant(
        "wave-of-another-worker-unseen",
        "crawl/worker.py",
        "await self._reload_run()  # another process opened this wave",
        "pass",
        "A worker judges links by the scope of an earlier wave than its rows.",
        _WORKER,
    ),
    Mutant(
        "rejected-offers-remembered",
        "crawl/worker.py",
        "        if not is_accepted:\n            _LOG.info(",
        "        self._context.offer_builder.remember(lease, settlement.effects.offers)\n"
        "        if not is_accepted:\n            _LOG.info(",
        "Links of a rejected settlement are taken for stored and never offered.",
        _WORKER,
    ),
    Mutant(
        "run-completes-when-quiet-once",
        "crawl/maintenance.py",
        "_QUIET_CYCLES = 2",
        "_QUIET_CYCLES = 1",
        "A shared run ends because it looked finished once.",
        _MAINTENANCE,
    ),
    Mutant(
        "quiet-cycles-of-another-leader",
        "crawl/maintenance.py",
        "                self._quiet_cycles.clear()\n                return 0",
        "                return 0",
        "Quiet cycles from before another process was leader are counted.",
        _MAINTENANCE,
    ),
    Mutant(
        "expired-lease-not-recovered",
        "crawl/maintenance.py",
        "if recovered := await context.ledger.release(run.id, now):",
        "if recovered := await context.ledger.release(run.id, 0.0):",
        "Rows of a dead worker are never visited.",
        _MAINTENANCE,
    ),
    Mutant(
        "two-runs-of-a-site-at-once",
        "crawl/runs.py",
        "if len(busy) < self._sites_at_once and run.site not in busy:",
        "if len(busy) < self._sites_at_once:",
        "A process starts two runs of one site.",
        _SCHEDULER,
    ),
    Mutant(
        "cancelled-run-goes-on",
        "crawl/runs.py",
        "if current is None or current.state not in ACTIVE:\n                job.stop.set()",
        "if current is None:\n                job.stop.set()",
        "A cancelled run keeps fetching: the cancellation is lost.",
        _SCHEDULER,
    ),
    Mutant(
        "browser-navigation-ignores-robots",
        "crawl/page_fetch.py",
        'return None if verdict.allowed else f"robots.txt: {verdict.rule or verdict.state}"',
        "return None",
        "A redirect in the browser leads to a URL that robots.txt forbids.",
        _VISIT,
    ),
    Mutant(
        "refused-redirect-joins-its-host",
        "crawl/settle.py",
        "joins = context.offer_builder.is_seed_redirect(lease) and offer.refusal is None",
        "joins = context.offer_builder.is_seed_redirect(lease)",
        "A seed that redirects to a refused address takes that address into scope.",
        _SETTLER,
    ),
    Mutant(
        "cancelled-visit-cancels-the-probe",
        "crawl/soft_404.py",
        "return await asyncio.shield(task)",
        "return await task",
        "A cancelled visit cancels the soft-404 probe that other visits wait for.",
        _VISIT,
    ),
    Mutant(
        "second-document-without-a-time-limit",
        "crawl/extraction_pool.py",
        "            if self._on_answer(memoryview(unread)[at + SIZE_BYTES : end]):\n                self._start_deadline()\n",
        "            self._on_answer(memoryview(unread)[at + SIZE_BYTES : end])\n",
        "A document that was sent while another one was extracted is never timed out.",
        _EXTRACTION,
    ),
)

from __future__ import annotations

import pytest
from tests.unit.export.stored_run import FETCHED_AT, StoredRun

from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState


@pytest.fixture
def stored() -> StoredRun:
    return StoredRun()


@pytest.fixture
def run() -> Run:
    return Run(
        RunId("r1"),
        DEFAULT_TENANT,
        SiteId(1),
        "example.com",
        RunState.COMPLETED,
        CrawlSettings(),
        created_at=FETCHED_AT,
        started_at=FETCHED_AT,
    )

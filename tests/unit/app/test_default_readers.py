"""How many extraction processes a machine gets by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sitelore.app.settings import default_readers, operator_settings


@pytest.mark.parametrize(
    ("cpus", "quota", "readers"),
    [
        (1, "max 100000", 1),
        (2, "max 100000", 2),
        (3, "max 100000", 3),
        (4, "", 4),
        (64, "max 100000", 4),
        (64, "300000 100000", 3),
        (64, "50000 100000", 1),
        (2, "800000 100000", 2),
        (4, "not a quota", 4),
    ],
)
def test_the_default_is_one_process_for_each_cpu_that_may_be_used(
    cpus: int, quota: str, readers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)), raising=False)
    file = tmp_path / "cpu.max"
    if quota:
        file.write_text(quota + "\n")
    assert default_readers(file) == readers


def test_the_variable_overrides_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SITELORE_READERS", raising=False)
    assert operator_settings().readers == default_readers()
    monkeypatch.setenv("SITELORE_READERS", "7")
    assert operator_settings().readers == 7

from __future__ import annotations

import re

from sitelore import metrics


def test_everything_has_its_help_and_its_type() -> None:
    text = metrics.exposition().decode()
    names = re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)
    assert "crawl_fetch_duration_seconds" in names
    assert names == re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE)
    assert "_created" not in text


def test_a_counter_with_a_label_counts_each_value_apart() -> None:
    before = metrics.RUNS_ENDED.labels(state="FAILED")._value.get()
    metrics.RUNS_ENDED.labels(state="FAILED").inc()
    metrics.RUNS_ENDED.labels(state="COMPLETED").inc(0)
    assert f'crawl_runs_ended_total{{state="FAILED"}} {before + 1}' in metrics.exposition().decode()

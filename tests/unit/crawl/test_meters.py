from __future__ import annotations

from sitelore.crawl.meters import METERS, Counter, Gauge, Histogram, exposition


def test_buckets_are_cumulative_and_end_in_infinity() -> None:
    times = Histogram("t", "Times.", (0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 3.0):
        times.take(seconds)
    assert list(times.lines()) == [
        't_bucket{le="0.1"} 2',
        't_bucket{le="1"} 3',
        't_bucket{le="+Inf"} 4',
        "t_sum 3.65",
        "t_count 4",
    ]


def test_counters_with_a_label_count_apart_and_escape_it() -> None:
    plain, by_state = Counter("a", "A."), Counter("b", "B.", "state")
    plain.add()
    plain.add(2)
    by_state.add(of='x"y\\z\n')
    assert list(plain.lines()) == ["a 3"]
    assert list(by_state.lines()) == ['b{state="x\\"y\\\\z\\n"} 1']


def test_everything_has_its_help_and_its_type() -> None:
    text = exposition(Gauge("g", "Now.", lambda: 2.5)).decode()
    for meter in METERS:
        assert f"# TYPE {meter.name} {meter.kind}\n" in text
        assert f"# HELP {meter.name} {meter.text}\n" in text
    assert text.endswith("# HELP g Now.\n# TYPE g gauge\ng 2.5\n")

"""Cron lines: what is refused, daylight saving changes, delays and missed occurrences."""

from __future__ import annotations

import random
import string
from datetime import UTC, datetime
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from sitelore.model.errors import UsageError
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.platform.channels import Channel, ChannelSettings, Frequency, Planned, ScheduleRule, TenantCrawlSettings
from sitelore.platform.channels.cron import check_cron, check_time_zone, due_occurrence, occurrences, plan, rule_of, upcoming


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def local(times: list[float], zone: str) -> list[str]:
    return [datetime.fromtimestamp(time, ZoneInfo(zone)).isoformat(timespec="minutes") for time in times]


def channel(name: str = "c", **settings: str) -> Channel:
    return Channel(name, TenantId(1), SiteId(1), "a.test", "A", "https://a.test/", ChannelSettings(**settings), 0.0, 0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "cron", ["0 0 * * 0", "0 0 1 * *", "30 3 * * 1", "15 */2 * * *", "0 * * * *", "0 0 L * *", "5 4 29 2 *"]
)
def test_lines_that_fire_at_most_once_an_hour_are_accepted(cron: str) -> None:
    check_cron(cron)
    times = list(islice(occurrences(ScheduleRule(cron, "UTC"), at("2026-01-01")), 50))
    assert all(after - before >= 3600 for before, after in pairwise(times))


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("* * * * *", "more often than once an hour"),
        ("*/30 * * * *", "more often"),
        ("0,59 3 * * *", "more often"),
        ("0-1 0 1 1 *", "more often"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 31 2,4 *", "Bad day-of-month"),
        ("60 0 * * *", "Bad minute"),
        ("0 0 * * 8", "Bad day-of-week"),
        ("0 0 0 * * *", "five fields"),
        ("@weekly", "five fields"),
        ("", "five fields"),
        ("0 0 * * ٣", "five fields"),
        ("0" * 200 + " 0 * * 0", "five fields"),
    ],
)
def test_other_lines_are_refused(cron: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_cron(cron)


def test_no_text_makes_the_check_fail_otherwise() -> None:
    chance = random.Random(7)
    signs = "0123456789*/-,#L? " + string.ascii_uppercase[:4]
    for _ in range(20_000):
        fields = ("".join(chance.choices(signs, k=chance.randint(0, 4))) for _ in range(5))
        cron = " ".join(fields)
        try:
            check_cron(cron)
        except UsageError:
            continue
        next(occurrences(ScheduleRule(cron, "Europe/Prague"), at("2026-01-01")))


def test_time_zones_are_iana_names() -> None:
    check_time_zone("America/Argentina/Buenos_Aires")
    for wrong in ("", "Mars/Phobos", "../etc/passwd", "europe/prague", "CEST", "\0"):
        with pytest.raises(UsageError, match="unknown time zone"):
            check_time_zone(wrong)


def test_a_job_in_the_gap_of_spring_runs_right_after_it_and_once_in_autumn() -> None:
    prague = ScheduleRule("30 2 * * *", "Europe/Prague")
    spring = list(islice(occurrences(prague, at("2027-03-27 12:00", "Europe/Prague")), 2))
    assert local(spring, "Europe/Prague") == ["2027-03-28T03:00+02:00", "2027-03-29T02:30+02:00"]
    autumn = list(islice(occurrences(prague, at("2027-10-30 12:00", "Europe/Prague")), 2))
    assert local(autumn, "Europe/Prague") == ["2027-10-31T02:30+02:00", "2027-11-01T02:30+01:00"]
    second_half_past_one = autumn[0] + 3000  # 02:20 for the second time
    assert next(occurrences(prague, second_half_past_one)) == autumn[1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"])
@pytest.mark.parametrize("cron", ["0 0 * * 0", "0 0 1 * *", "30 2 * * *", "0 1,2,3 * * *", "15 * * * *", "0 0 1 * 1"])
def test_asking_again_at_any_time_gives_the_occurrences_of_one_long_iteration(cron: str, zone: str) -> None:
    start, end = at("2026-01-15", zone), at("2028-01-15" if cron != "15 * * * *" else "2027-01-15", zone)
    rule, chance = ScheduleRule(cron, zone), random.Random(cron + zone)
    reference = CronSim(cron, datetime.fromtimestamp(start, ZoneInfo(zone)))
    expected = list(takewhile(lambda time: time < end, (time.timestamp() for time in reference)))
    times, now = [], start
    while (time := plan(rule, now).next_at) < end:
        times.append(time)
        now = time + chance.choice((0, 1, 600, 1799))
    assert times == expected
    assert len(set(times)) == len(times)


def test_a_week_starts_on_sunday_and_no_month_is_lost() -> None:
    weekly = upcoming(plan(ScheduleRule("0 0 * * 0", "Europe/Prague"), at("2026-11-18")), 104)
    assert {datetime.fromtimestamp(time, ZoneInfo("Europe/Prague")).strftime("%a %H") for time in weekly} == {"Sun 00"}
    monthly = upcoming(plan(ScheduleRule("0 0 1 * *", "Europe/Prague"), at("2026-11-18")), 24)
    assert [datetime.fromtimestamp(time, ZoneInfo("Europe/Prague")).strftime("%Y-%m-%d") for time in monthly] == [
        f"{2026 + month // 12}-{month % 12 + 1:02}-01" for month in range(11, 35)
    ]


def test_the_frequency_of_the_tenant_counts_where_a_channel_has_no_line_of_its_own() -> None:
    weekly = TenantCrawlSettings(frequency=Frequency.WEEKLY, time_zone="Asia/Tokyo")
    rule = rule_of(channel(), weekly)
    assert rule is not None
    assert (rule.cron, rule.time_zone) == ("0 0 * * 0", "Asia/Tokyo")
    assert rule_of(channel(time_zone="Europe/Prague"), weekly) == ScheduleRule("0 0 * * 0", "Europe/Prague", rule.jitter_s)
    manual = TenantCrawlSettings(frequency=Frequency.MANUAL)
    assert rule_of(channel(), manual) is None
    assert rule_of(channel(cron="5 5 * * 5"), manual) == ScheduleRule("5 5 * * 5", "UTC")


def test_channels_start_spread_over_fifteen_minutes_each_after_its_own_delay() -> None:
    rules = [rule_of(channel(f"channel-{number}"), TenantCrawlSettings()) for number in range(1000)]
    delays = [rule.jitter_s for rule in rules if rule is not None]
    assert len(delays) == 1000
    assert (min(delays) >= 0, max(delays) < 900) == (True, True)
    per_minute = [sum(delay // 60 == minute for delay in delays) for minute in range(15)]
    assert max(per_minute) < 110, per_minute
    assert rules == [rule_of(channel(f"channel-{number}"), TenantCrawlSettings()) for number in range(1000)]
    planned = Planned(ScheduleRule("0 0 * * 0", "UTC", 300), at("2026-11-22"))
    assert upcoming(planned, 2) == [at("2026-11-22 00:05"), at("2026-11-29 00:05")]


def test_one_crawl_makes_up_for_all_missed_occurrences() -> None:
    planned = Planned(ScheduleRule("0 0 * * 0", "UTC", 60), at("2026-11-22"))
    on_time = due_occurrence(planned, at("2026-11-22 00:01:01"))
    assert (on_time.scheduled_for, on_time.missed, on_time.next.next_at) == (at("2026-11-22"), 0, at("2026-11-29"))
    late = due_occurrence(planned, at("2026-12-09 10:00"))
    assert (late.scheduled_for, late.missed, late.next.next_at) == (at("2026-12-06"), 3, at("2026-12-13"))
    just_in_time = due_occurrence(planned, at("2026-12-06 00:02"))
    assert (just_in_time.scheduled_for, just_in_time.missed) == (at("2026-12-06"), 2)
    within_the_delay = due_occurrence(planned, at("2026-12-06 00:00:30"))
    assert (within_the_delay.scheduled_for, within_the_delay.missed) == (at("2026-11-29"), 2)


def test_times_are_in_utc_whatever_the_zone_of_this_machine() -> None:
    assert datetime.fromtimestamp(plan(ScheduleRule("0 0 1 * *", "UTC"), at("2026-11-18")).next_at, UTC).hour == 0

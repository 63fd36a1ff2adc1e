"""Cron lines: when a schedule is due, in local time and with the rules of Debian's cron at daylight saving changes.

A job at a fixed time runs once on every day that has it: right after a gap in spring, at the first of the two in autumn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from sitelore.model.errors import UsageError
from sitelore.model.platform.channels import Channel, Frequency, Occurrence, Planned, ScheduleRule, TenantCrawlSettings

CRON_LINES = {Frequency.WEEKLY: "0 0 * * 0", Frequency.MONTHLY: "0 0 1 * *"}

_FIELDS = 5
_MAX_CRON_CHARS = 100
_MAX_JITTER_S = 15 * 60
_ON_TIME_S = 10 * 60
"""An occurrence whose crawl starts later than this counts as missed."""


def check_cron(cron: str) -> None:
    """Raise `UsageError` unless this is a cron line that fires, and at most once an hour."""
    fields = cron.split()
    if len(cron) > _MAX_CRON_CHARS or not cron.isascii() or len(fields) != _FIELDS:
        raise UsageError(f"invalid cron line {cron[:_MAX_CRON_CHARS]!r} (use five fields, such as '30 3 * * 1')")
    try:
        times = CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC))
        if len(times.minutes) > 1:
            raise UsageError(f"the cron line {cron!r} fires more often than once an hour; name one minute")
        next(times)
    except CronSimError as problem:
        raise UsageError(f"invalid cron line {cron!r}: {problem}") from None
    except StopIteration:
        raise UsageError(f"the cron line {cron!r} never fires") from None


def describe_cron(cron: str) -> str:
    """A valid cron line in words: `At 03:30 on Monday`."""
    return CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC)).explain()


def check_time_zone(name: str) -> None:
    """Raise `UsageError` unless this is the name of a time zone."""
    if name not in _time_zones():
        raise UsageError(f"unknown time zone {name[:100]!r} (use an IANA name, such as Europe/Prague)")


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def rule_of(channel: Channel, tenant: TenantCrawlSettings) -> ScheduleRule | None:
    """The rule for a channel's crawls: its own cron line, or the frequency of the tenant; None: it is only crawled manually.

    Channels of one frequency start within 15 minutes after midnight, each always after the same delay.
    """
    zone = channel.settings.time_zone or tenant.time_zone
    if channel.settings.cron is not None:
        return ScheduleRule(channel.settings.cron, zone)
    if tenant.frequency is Frequency.MANUAL:
        return None
    digest = hashlib.sha256(channel.id.encode()).digest()
    return ScheduleRule(CRON_LINES[tenant.frequency], zone, int.from_bytes(digest[:4], "big") % _MAX_JITTER_S)


def occurrences(rule: ScheduleRule, after: float) -> Iterator[float]:
    """The occurrences after this time, without the jitter."""
    start = datetime.fromtimestamp(after, ZoneInfo(rule.time_zone))
    for time in CronSim(rule.cron, start):
        # Between two equal local times of a night in autumn, the first one has passed.
        if (seconds := time.timestamp()) > after:
            yield seconds


def plan(rule: ScheduleRule, after: float) -> Planned:
    """The rule with its first occurrence after this time."""
    return Planned(rule, next(occurrences(rule, after)))


def upcoming(planned: Planned, count: int) -> list[float]:
    """When the next crawls start, the jitter included."""
    times = [planned.next_at, *islice(occurrences(planned.rule, planned.next_at), count - 1)]
    return [time + planned.rule.jitter_s for time in times]


def due_occurrence(planned: Planned, now: float) -> Occurrence:
    """The newest occurrence that is due, and how many passed without a crawl. The caller has checked that one is due.

    However many were missed, one crawl makes up for all of them.
    """
    rule = planned.rule
    passed = [planned.next_at]
    for time in occurrences(rule, planned.next_at):
        if time + rule.jitter_s > now:
            return Occurrence(passed[-1], _missed(passed, rule, now), Planned(rule, time))
        passed.append(time)
    raise AssertionError(f"the cron line {rule.cron!r} has no next occurrence")


def _missed(passed: list[float], rule: ScheduleRule, now: float) -> int:
    return sum(now - (time + rule.jitter_s) > _ON_TIME_S for time in passed)

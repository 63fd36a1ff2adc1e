from __future__ import annotations

import pytest

from sitelore.frontier.presence import check_presence
from sitelore.model.ids import RunId
from sitelore.model.search import PageInRun, Presence, PresenceChanges, RunOutcome
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url


def url(name: object) -> Url:
    parsed = Url.parse(f"https://example.org/{name}")
    assert parsed is not None
    return parsed


def page(name: object, state: UrlState | None, status: int | None = 200, **more: object) -> PageInRun:
    known = {"presence": Presence.PRESENT, **more}
    return PageInRun(url(name), state=state, status_code=status, **known)  # type: ignore[arg-type]


def after(*pages: PageInRun, complete: bool = True) -> PresenceChanges:
    return check_presence(RunOutcome(RunId("r"), complete, pages))


def there(count: int) -> list[PageInRun]:
    return [page(f"there-{number}", UrlState.VISITED) for number in range(count)]


def presence_of(changes: PresenceChanges) -> dict[str, Presence]:
    return {one.url.path[1:]: one.presence for one in changes.changed}


def test_pages_that_are_there_change_nothing() -> None:
    unchanged = page("kept", UrlState.SKIPPED, None, skip_reason=SkipReason.TTL)
    assert after(*there(3), page("same", UrlState.NOT_MODIFIED, 304), unchanged) == PresenceChanges()


@pytest.mark.parametrize("status", [404, 410])
def test_a_404_or_410_page_is_gone(status: int) -> None:
    changes = after(*there(9), page("old", UrlState.NOT_FOUND, status))
    assert presence_of(changes) == {"old": Presence.GONE}
    assert changes.gone == 1
    assert str(status) in changes.changed[0].evidence


def test_a_soft_404_counts_after_two_visits() -> None:
    once = after(*there(9), page("odd", UrlState.SOFT_404))
    assert presence_of(once) == {"odd": Presence.UNKNOWN}
    assert once.changed[0].soft_misses == 1
    twice = after(*there(9), page("odd", UrlState.SOFT_404, presence=Presence.UNKNOWN, soft_misses=1))
    assert presence_of(twice) == {"odd": Presence.GONE}
    back = after(*there(9), page("odd", UrlState.VISITED, presence=Presence.UNKNOWN, soft_misses=1))
    assert [(one.presence, one.soft_misses) for one in back.changed] == [(Presence.PRESENT, 0)]


@pytest.mark.parametrize("state", [UrlState.FAILED, UrlState.HTTP_TERMINAL, UrlState.FORBIDDEN])
def test_a_page_that_could_not_be_looked_at_is_unknown_and_stays(state: UrlState) -> None:
    changes = after(*there(2), *(page(number, state, 503) for number in range(8)), complete=False)
    assert set(presence_of(changes).values()) == {Presence.UNKNOWN}
    assert changes.gone == changes.held == 0


def test_a_page_that_robots_now_forbid_is_unknown() -> None:
    changes = after(*there(9), page("shut", UrlState.SKIPPED, None, skip_reason=SkipReason.ROBOTS))
    assert presence_of(changes) == {"shut": Presence.UNKNOWN}
    assert "robots" in changes.changed[0].evidence


def test_absence_counts_in_a_complete_crawl_alone() -> None:
    pages = (*there(9), page("unlinked", None, None))
    assert presence_of(after(*pages)) == {"unlinked": Presence.GONE}
    assert presence_of(after(*pages, complete=False)) == {"unlinked": Presence.UNKNOWN}


def test_a_gone_page_stays_gone_until_it_is_seen_again() -> None:
    gone = page("old", UrlState.FAILED, 503, presence=Presence.GONE)
    assert after(*there(9), gone) == PresenceChanges()
    back = page("old", UrlState.VISITED, presence=Presence.GONE)
    assert presence_of(after(*there(9), back)) == {"old": Presence.PRESENT}


def test_a_whole_site_that_is_suddenly_missing_is_held() -> None:
    changes = after(*(page(number, UrlState.NOT_FOUND, 404) for number in range(50)))
    assert (changes.held, changes.gone) == (50, 0)
    assert all(one.held and one.presence is Presence.UNKNOWN for one in changes.changed)
    tiny = after(page("a", UrlState.NOT_FOUND, 404), page("b", UrlState.NOT_FOUND, 410))
    assert (tiny.held, tiny.gone) == (2, 0)


def test_three_pages_of_a_small_site_may_go() -> None:
    changes = after(*there(4), *(page(number, UrlState.NOT_FOUND, 410) for number in range(3)))
    assert (changes.held, changes.gone) == (0, 3)


def test_pages_that_became_aliases_are_not_lost() -> None:
    moved = [page(number, UrlState.ALIAS, 301, alias_of=url("new")) for number in range(8)]
    changes = after(*there(2), *moved)
    assert (changes.held, changes.gone) == (0, 8)
    assert "https://example.org/new" in changes.changed[0].evidence

"""Webhooks without network and database: what follows an attempt, signatures, encrypted secrets."""

from __future__ import annotations

import pytest

from sitelore.model.platform.webhooks import Attempt, NextStep
from sitelore.platform.secret_box import SecretBox, SecretUnreadable
from sitelore.platform.webhooks.delivery import DISABLE_AFTER_S, TOLERANCE_S, decide, is_signed, new_secret, sign

START = 1_800_000_000.0
DAY_S = 86_400.0
BODY = b'{"url": "https://site.test/"}'


@pytest.mark.parametrize(
    ("status", "attempts", "step"),
    [(200, 1, "DONE"), (299, 1, "DONE"), (301, 1, "RETRY"), (404, 1, "RETRY"), (500, 9, "RETRY"), (500, 10, "GIVE_UP"),
     (410, 1, "DISABLE"), (None, 1, "RETRY")],
)  # fmt: skip
def test_what_follows_an_answer(status: int | None, attempts: int, step: str) -> None:
    assert decide(Attempt(START, 5, status), attempts, None, 0.5).step is NextStep[step]


def test_jitter_and_an_absurd_retry_after_stay_within_bounds() -> None:
    assert decide(Attempt(START, 5, 500), 2, None, 1.0).due_at == pytest.approx(START + 330.0)
    patient = decide(Attempt(START, 5, 503, retry_after_s=10**9), 1, None, 0.0)
    assert patient.due_at == patient.paused_until == START + DAY_S


def test_an_endpoint_that_fails_for_five_days_is_disabled_and_not_a_moment_before() -> None:
    failing = [decide(Attempt(START, 5, 500), 1, START - DISABLE_AFTER_S + early_s, 0.0).step for early_s in (0.0, 1.0)]
    assert failing == [NextStep.DISABLE, NextStep.RETRY]


def test_a_notice_is_accepted_with_any_of_its_signatures_within_the_tolerance() -> None:
    old, new = new_secret(), new_secret()
    both = sign([old, new], "msg_1", int(START), BODY)
    stamp = str(int(START))
    for secret in (old, new):
        assert is_signed(secret, "msg_1", stamp, both, BODY, START + TOLERANCE_S)
        assert not is_signed(secret, "msg_1", stamp, both, BODY, START + TOLERANCE_S + 1)
        assert not is_signed(secret, "msg_1", stamp, both, BODY, START - TOLERANCE_S - 1)
        assert not is_signed(secret, "msg_2", stamp, both, BODY, START)
        assert not is_signed(secret, "msg_1", stamp, both, BODY + b" ", START)
    assert not is_signed(new_secret(), "msg_1", stamp, both, BODY, START)


def test_a_stored_secret_is_bound_to_its_row_and_any_of_the_keys_decrypts_it() -> None:
    old, new = "o" * 32, "n" * 32
    stored = SecretBox((old,)).seal("hidden", "row 1")
    assert "hidden" not in stored
    assert SecretBox((new, old)).open(stored, "row 1") == "hidden"
    for keys, row in (((old,), "row 2"), ((new,), "row 1"), ((), "row 1")):
        with pytest.raises(SecretUnreadable):
            SecretBox(keys).open(stored, row)

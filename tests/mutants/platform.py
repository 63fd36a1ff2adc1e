"""Faults in hosting for many tenants: tokens, rate limits, schedules, webhooks, stored secrets."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TOKENS = ("tests/unit/platform/test_tokens.py",)
_LIMITS = ("tests/unit/platform/test_rate_limits.py",)
_CRON = ("tests/unit/platform/test_cron.py",)
_WEBHOOKS = ("tests/unit/platform/test_webhook_decisions.py",)

MUTANTS = (
    Mutant(
        "checksum-of-tokens-ignored",
        "platform/accounts/authentication.py",
        "if match is None or _checksum(text[:-_CHECKSUM_CHARS]) != match[4]:",
        "if match is None:",
        "A mistyped token causes a query, and scanners for leaked tokens report random text.",
        _TOKENS,
    ),
    Mutant(
        "refused-request-uses-up-the-other-bucket",
        "platform/accounts/rate_limits.py",
        "left = level - 1.0 if is_accepted else level",
        "left = level - 1.0",
        "A refused request takes from the buckets that are not empty.",
        _LIMITS,
    ),
    Mutant(
        "bucket-fills-without-limit",
        "platform/accounts/rate_limits.py",
        "return min(float(limit.requests), level + (now - at) * limit.per_second)",
        "return level + (now - at) * limit.per_second",
        "A client that waited a day may send a day of requests at once.",
        _LIMITS,
    ),
    Mutant(
        "exports-count-as-other-requests",
        "platform/accounts/rate_limits.py",
        "return RequestClass.EXPORT if _EXPORTS.fullmatch(path) else RequestClass.OTHER",
        "return RequestClass.OTHER",
        "Exports have the limit of cheap requests.",
        _LIMITS,
    ),
    Mutant(
        "cron-may-fire-every-minute",
        "platform/channels/cron.py",
        "if len(times.minutes) > 1:",
        "if len(times.minutes) > 60:",
        "A channel can be crawled every minute.",
        _CRON,
    ),
    Mutant(
        "equal-local-time-fires-twice",
        "platform/channels/cron.py",
        "if (seconds := time.timestamp()) > after:",
        "if (seconds := time.timestamp()) >= 0:",
        "In the night that clocks go back, a schedule fires twice.",
        _CRON,
    ),
    Mutant(
        "missed-occurrences-are-made-up-one-by-one",
        "platform/channels/cron.py",
        "return Occurrence(passed[-1], _missed(passed, rule, now), Planned(rule, time))",
        "return Occurrence(passed[0], _missed(passed, rule, now), Planned(rule, time))",
        "After a day without servers, an old occurrence is the one that is recorded.",
        _CRON,
    ),
    Mutant(
        "jitter-changes-at-each-start",
        "platform/channels/cron.py",
        "hashlib.sha256(channel.id.encode()).digest()",
        "hashlib.sha256(zone.encode()).digest()",
        "All channels of a time zone start in the same second.",
        _CRON,
    ),
    Mutant(
        "old-messages-accepted",
        "platform/webhooks/delivery.py",
        " or abs(now - int(timestamp)) > TOLERANCE_S:",
        ":",
        "A recorded message can be sent again days later.",
        _WEBHOOKS,
    ),
    Mutant(
        "only-the-last-signature-counts",
        "platform/webhooks/delivery.py",
        "return any(matches)",
        "return matches[-1]",
        "Notices are refused while a secret is rotated.",
        _WEBHOOKS,
    ),
    Mutant(
        "gone-receiver-is-tried-again",
        "platform/webhooks/delivery.py",
        "if attempt.status == 410:",
        "if attempt.status == 411:",
        "A receiver that answered 410 gets messages for days.",
        _WEBHOOKS,
    ),
    Mutant(
        "retry-after-of-receivers-ignored",
        "platform/webhooks/delivery.py",
        "* (1 + _JITTER * jitter), retry_after_s)",
        "* (1 + _JITTER * jitter), 0.0)",
        "A receiver that named a time is tried before it.",
        _WEBHOOKS,
    ),
    Mutant(
        "one-delay-too-few",
        "platform/webhooks/delivery.py",
        "if attempts > len(RETRY_DELAYS_S):",
        "if attempts >= len(RETRY_DELAYS_S):",
        "A delivery becomes a dead letter a day early.",
        _WEBHOOKS,
    ),
    Mutant(
        "secret-is-not-bound-to-its-row",
        "platform/secret_box.py",
        "encrypt(nonce, secret.encode(), row.encode())",
        'encrypt(nonce, secret.encode(), b"")',
        "A secret that was encrypted for one row cannot be read, or could be copied to another.",
        _WEBHOOKS,
    ),
    Mutant(
        "only-the-newest-key-decrypts",
        "platform/secret_box.py",
        "for key in self._keys:",
        "for key in self._keys[:1]:",
        "After a new key, all stored secrets are lost.",
        _WEBHOOKS,
    ),
)

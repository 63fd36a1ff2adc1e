"""Signatures by Standard Webhooks 1.0.0 (HMAC-SHA256 over id, time and body), of messages to send and of change notices."""

from __future__ import annotations

import base64
import hmac
import os
import re
from collections.abc import Sequence

SECRET_PREFIX = "whsec_"  # noqa: S105 the prefix of every secret, not a secret
TOLERANCE_S = 300
_SECRET_BYTES = 32
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"[0-9]{1,12}")


def new_secret() -> str:
    """A new random secret."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode()


def sign(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: one signature for each secret, so that a receiver may know either during a rotation."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    digests = (hmac.digest(base64.b64decode(secret.removeprefix(SECRET_PREFIX)), signed, "sha256") for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def is_signed(secret: str, message_id: str, timestamp: str, signatures: str, body: bytes, now: float) -> bool:
    """Whether one of the signatures (a list, for rotated secrets) is right, and the message not older than the tolerance."""
    if not _ID.fullmatch(message_id) or not _TIME.fullmatch(timestamp) or abs(now - int(timestamp)) > TOLERANCE_S:
        return False
    expected = sign([secret], message_id, int(timestamp), body).encode()
    matches = [hmac.compare_digest(expected, each.encode("utf-8", "replace")) for each in signatures.split(" ")]
    return any(matches)

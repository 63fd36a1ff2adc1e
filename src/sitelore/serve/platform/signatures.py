"""Verifies signed requests by the scheme of Standard Webhooks: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re

from sitelore.platform.channels import SECRET_PREFIX

TOLERANCE_S = 300
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"[0-9]{1,12}")
_VERSION = "v1,"


def signature(secret: str, message: str, timestamp: str, body: bytes) -> str:
    """The signature of a request with this id, time in Unix seconds, and body."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message}.{timestamp}.".encode() + body
    return _VERSION + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def is_signed(secret: str, message: str, timestamp: str, signatures: str, body: bytes, now: float) -> bool:
    """Whether one of the signatures (a list, for rotated secrets) is right, and the request not older than the tolerance."""
    if not _ID.fullmatch(message) or not _TIME.fullmatch(timestamp) or abs(now - int(timestamp)) > TOLERANCE_S:
        return False
    try:
        expected = signature(secret, message, timestamp, body).encode()
    except binascii.Error:
        return False
    matches = [hmac.compare_digest(expected, item.encode()) for item in signatures.split(" ")]
    return any(matches)

"""Checks URLs of tenants to which the server itself sends requests: webhook receivers and hosts of repositories."""

from __future__ import annotations

from sitelore.fetch.guard import AddressGuard
from sitelore.model.url import Url


def refusal(url: str, guard: AddressGuard) -> str | None:
    """Why requests must not be sent to this URL; None when they may. The address is checked again at every connection."""
    target = Url.parse(url)
    if target is None:
        return "not an http(s) URL"
    if refused := guard.judge_url(target):
        return refused
    # The guard has allowed it: an address that it refuses otherwise is one that the operator named.
    is_opened = guard.is_exempt(target.host, target.port) or guard.refuses(target.host) is not None
    if target.scheme != "https" and not is_opened:
        return "not an https URL; http is for addresses that SITELORE_ALLOW_PRIVATE names"
    return None

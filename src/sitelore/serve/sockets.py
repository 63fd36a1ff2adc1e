"""Where a server listens: on loopback alone, unless callers have to show a token."""

from __future__ import annotations

import ipaddress
import socket

from sitelore.model.errors import UsageError

_BACKLOG = 1024


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listening_socket(host: str, port: int, *, with_tokens: bool) -> socket.socket:
    """A socket that takes connections, or one sentence that says why not."""
    if not with_tokens and not is_loopback(host):
        raise UsageError(f"without SITELORE_TOKENS the server listens on loopback alone, not on {host}; set a token first")
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        listening = socket.create_server((plain, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        raise UsageError(f"cannot listen on {host}:{port}: {problem.strerror or problem}") from problem
    # Head and body are two writes: without this, which connections inherit, each answer would wait 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening

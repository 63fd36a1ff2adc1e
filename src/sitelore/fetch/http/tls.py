"""TLS contexts: the system's certificates, those of a CA file, client certificates by origin, or no verification at all."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import cache

from sitelore.model.access import ClientCert
from sitelore.model.errors import UsageError


class TlsContexts:
    """The TLS contexts of a run, created on first use: loading the system's certificates takes longer than fetching a page."""

    def __init__(
        self, ca_file: str = "", certificates: Mapping[str, ClientCert] | None = None, *, insecure: bool = False
    ) -> None:
        self._ca_file = ca_file
        self._certificates = dict(certificates or {})
        self._insecure = insecure
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def is_custom(self) -> bool:
        """Whether servers are verified otherwise than by the system's certificates, or get a client certificate."""
        return bool(self._ca_file or self._certificates)

    def for_origin(self, origin: str) -> ssl.SSLContext:
        """The context for connections to an origin. Raises `UsageError` when a file cannot be used."""
        certificate = self._certificates.get(origin)
        if certificate is None and not self._ca_file and not self._insecure:
            return _default_context()
        key = origin if certificate is not None else ""
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = make_context(self._ca_file, certificate, insecure=self._insecure)
        return context


@cache
def _default_context() -> ssl.SSLContext:
    return make_context()


def make_context(ca_file: str = "", certificate: ClientCert | None = None, *, insecure: bool = False) -> ssl.SSLContext:
    """A client's TLS context. Raises `UsageError` when a file cannot be used."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"ca_file: cannot use {ca_file}: {_reason(error)} (use a file of PEM certificates)") from None
    if certificate is not None:
        _load_certificate(context, certificate)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_certificate(context: ssl.SSLContext, certificate: ClientCert) -> None:
    try:
        # An empty password: OpenSSL would ask for one on the terminal.
        context.load_cert_chain(certificate.cert_file, certificate.key_file or None, password="")
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"client_cert: cannot use {certificate.cert_file}: {_reason(error)} (use a PEM certificate and its unencrypted key)"
        ) from None


def _reason(error: OSError) -> str:
    """The system's message; OpenSSL's own ones say no more than that the file has another format."""
    if isinstance(error, ssl.SSLError):
        return "the key belongs to another certificate" if error.reason == "KEY_VALUES_MISMATCH" else "it has another format"
    return (error.strerror or "unknown error").rstrip(".")

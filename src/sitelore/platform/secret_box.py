"""Encryption of stored secrets with a key of the operator: AES-256-GCM, bound to the row that a secret belongs to.

Without a key, secrets are stored as they are: the database and its backups must be protected then.
"""

from __future__ import annotations

import base64
import hashlib
import os

from sitelore.extras import require_extra

_ENCRYPTED, _PLAIN = "aes256gcm:", "plain:"
_NONCE_BYTES = 12


class SecretUnreadable(Exception):
    """A stored secret cannot be decrypted with any of the keys."""


class SecretBox:
    """Encrypts secrets with the first key and decrypts with all of them, so that the operator can replace a key."""

    def __init__(self, keys: tuple[str, ...] = (), feature: str = "SITELORE_SECRETS_KEY") -> None:
        """`feature`: what needs encryption, for the error when its library is missing."""
        if keys:
            require_extra("secrets", feature)
        self._keys = [hashlib.sha256(key.encode()).digest() for key in keys]

    def seal(self, secret: str, row: str) -> str:
        """The secret in the form in which it is stored."""
        if not self._keys:
            return _PLAIN + secret
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 an optional library

        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + AESGCM(self._keys[0]).encrypt(nonce, secret.encode(), row.encode())
        return _ENCRYPTED + base64.b64encode(sealed).decode()

    def open(self, stored: str, row: str) -> str:
        """The secret of a stored text. Raises `SecretUnreadable`."""
        if stored.startswith(_PLAIN):
            return stored.removeprefix(_PLAIN)
        if not self._keys:
            raise SecretUnreadable("the secret is encrypted; set SITELORE_SECRETS_KEY")
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 an optional library
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 an optional library

        sealed = base64.b64decode(stored.removeprefix(_ENCRYPTED))
        for key in self._keys:
            try:
                return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], row.encode()).decode()
            except InvalidTag:
                continue
        raise SecretUnreadable("the secret cannot be decrypted; add the key it was encrypted with to SITELORE_SECRETS_KEY")

"""What may not be kept of a page, as data: rules for secrets, and what counts as data of persons."""

from __future__ import annotations

from dataclasses import dataclass, field

MARK = "[REDACTED:"
"""What every replacement begins with. An address that holds it is not the one a page named, and is never fetched."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret, as a rule file writes it (`extract/secret_rules.toml`)."""

    name: str
    hint: str
    """RE2 syntax: what one scan over a text looks for."""
    exact: str
    """Python syntax, over bytes: its group is what gets replaced; without one all of it is, and has to stand alone."""
    description: str = ""
    entropy: float = 0.0
    """Bits a character that the secret has at least."""
    before: int = 0
    """How many bytes before the hint the secret may start; 0 when `exact` starts where the hint does."""
    reach: int = 400
    """How many bytes from the hint's start on are looked at."""
    every: bool = False
    """Whether every match in the window counts, or the first alone."""
    checks: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    """Lower-case words of which one must stand before the match."""
    far: tuple[str, ...] = ()
    """Lower-case words of which none may."""
    near_bytes: int = 100
    """How far before the match they are looked for."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What reading is told of what may not be kept. The built-in rules always count."""

    rules: tuple[SecretRule, ...] = ()
    """The operator's own, on top."""
    key: bytes = field(default=b"", repr=False)
    """With it, a replacement tells equal secrets from others by a keyed hash. Never kept."""
    personal: bool = False
    """Whether data of persons is masked too."""
    personal_ids: tuple[str, ...] = ()
    """National ids that count as data of persons (`extract/redaction/personal_data.py`)."""
    keep_contacts: bool = True
    """Whether contact pages, and what a site says of its own business, keep e-mail addresses and phone numbers."""


BUILT_IN_ALONE = Redaction()
"""Secrets by the built-in rules, and nothing else."""

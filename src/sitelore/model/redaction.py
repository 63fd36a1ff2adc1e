"""Redaction rules as data: patterns of secrets, and which personal data is masked."""

from __future__ import annotations

from dataclasses import dataclass, field

MARK = "[REDACTED:"
"""The start of every replacement. A URL that contains it is not the original one, and is never fetched."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret, as written in a rule file (`extract/redaction/secret_rules.toml`)."""

    name: str
    hint: str
    """RE2 syntax: where the rule looks; one search finds the hints of all rules."""
    exact: str
    """Python syntax, over bytes: its group is replaced; without a group the whole match is, and it must stand alone."""
    description: str = ""
    entropy: float = 0.0
    """The minimum entropy of the secret, in bits per character."""
    before: int = 0
    """How many bytes before the hint the secret may start; 0 when `exact` starts where the hint does."""
    reach: int = 400
    """How many bytes from the start of the hint are searched."""
    every: bool = False
    """Whether every match in the window counts, or only the first."""
    checks: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    """Lower-case words, one of which must occur before the match."""
    far: tuple[str, ...] = ()
    """Lower-case words, none of which may occur before the match."""
    near_bytes: int = 100
    """How far before the match these words are searched."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Options of redaction. The built-in rules always apply."""

    rules: tuple[SecretRule, ...] = ()
    """The operator's rules, in addition to the built-in ones."""
    key: bytes = field(default=b"", repr=False)
    """With a key, replacements of equal secrets carry equal keyed hashes. Never stored."""
    personal: bool = False
    """Whether personal data is masked too."""
    personal_ids: tuple[str, ...] = ()
    """National ids that count as personal data (`extract/redaction/personal_data.py`)."""
    keep_contacts: bool = True
    """Whether contact pages, and a site's own business details, keep e-mail addresses and phone numbers."""


BUILT_IN_ALONE = Redaction()
"""Only the built-in rules for secrets."""

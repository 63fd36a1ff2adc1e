"""What a mutant is: one fault that is seeded into the source to see whether the tests notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: the snippet `old`, which occurs once in `module`, is replaced by `new`."""

    name: str
    module: str
    """Below `src/sitelore`."""
    old: str
    new: str
    fault: str
    """What goes wrong, in one sentence."""
    tests: tuple[str, ...]
    """Test files, at least one of which must fail."""

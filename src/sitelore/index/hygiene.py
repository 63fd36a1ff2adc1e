"""Text that reads like an instruction to a machine is marked, with what was seen: readers of answers decide what to do.

Nothing is taken away. A page about prompt injection quotes such text, and is marked like one that means it. One google-re2
scan looks for hints of every rule at once; a text without one costs that scan. Around a hint its rule's pattern decides.
"""

from __future__ import annotations

import re
from itertools import islice

import re2

from sitelore.index.hygiene_rules import RULES
from sitelore.model.ids import CleanText, piece_of
from sitelore.model.search import Flag

_BEFORE, _AFTER = 160, 500
_MOST_EVIDENCE = 200
_MOST_LOOKS = 500  # a text made of hints must not cost more than a text

_HINTS = re2.compile(f"(?i)(?:{'|'.join(rule.hint for rule in RULES)})".encode())
_EACH = tuple((rule, re.compile(rule.hint, re.IGNORECASE)) for rule in RULES)


def flags_of(text: CleanText) -> tuple[Flag, ...]:
    """What in a text reads like an instruction to a machine: one flag a rule, the first thing it saw, in that order."""
    data = text.encode("utf-8", "replace")
    found: dict[str, Flag] = {}
    at = at_byte = 0
    for hint in islice(_HINTS.finditer(data), _MOST_LOOKS):
        at += len(data[at_byte : hint.start()].decode())
        at_byte = hint.start()
        for rule, own_hint in _EACH:
            if rule.name in found or (which := own_hint.match(text, at)) is None:
                continue
            match = rule.pattern.search(text, max(0, at - _BEFORE), which.end() + _AFTER)
            if match is not None:
                start = match.end() - len(match[0].lstrip())
                found[rule.name] = Flag(rule.name, piece_of(text, start, min(match.end(), start + _MOST_EVIDENCE)))
    return tuple(found.values())

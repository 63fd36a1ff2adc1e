"""Masking data of persons where documents keep it: in what is searched and handed to models. Secrets have left the text before.

What counts is found in `personal_data`; where documents may not keep it either, reading takes it out (`redact`).
"""

from __future__ import annotations

import re
from typing import Any

from sitelore.extract.redact import Span, with_marks
from sitelore.extract.redaction.personal_data import NO_CONTACTS, Contacts, contacts_of, personal_spans
from sitelore.model.ids import CleanText
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.url import Url

_HEADING = re.compile(r"^ {0,3}#{1,2} +(.{1,300})$", re.MULTILINE)
_HEADINGS = 3


def mask_personal(
    text: CleanText, options: Redaction = BUILT_IN_ALONE, contacts: Contacts = NO_CONTACTS
) -> tuple[CleanText, dict[str, int]]:
    """Text without data of persons, and how much of each kind was taken out.

    `contacts` says what is kept because it is a business's own; `options` which national ids count, and the key of the hashes.
    """
    spans: list[Span] = personal_spans(
        text.encode("utf-8", "replace"), options.personal_ids, contacts if options.keep_contacts else NO_CONTACTS
    )
    return with_marks(text, spans, options)


def mask_markdown(
    markdown: CleanText, url: Url, title: str = "", *, structured: tuple[Any, ...] = (), options: Redaction = BUILT_IN_ALONE
) -> CleanText:
    """A page's Markdown without data of persons; contact pages keep e-mail addresses and phone numbers."""
    heads = [match[1] for match in _HEADING.finditer(markdown[:20_000])][:_HEADINGS]
    return mask_personal(markdown, options, contacts_of(url.path, (title, *heads), structured))[0]

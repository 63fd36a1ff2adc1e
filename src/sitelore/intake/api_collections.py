"""Reads a declared API collection: the URL and modification date of every record, and the URL of the next page.

The answer must be JSON; fields that are missing or of an unexpected type are left out.
"""

from __future__ import annotations

import json

from sitelore.intake.dates import read_date
from sitelore.model.api_loader import api_error, filled, next_part, records_in, text_at
from sitelore.model.document import SitemapEntry, SitemapReading
from sitelore.model.response import Response
from sitelore.model.settings import Loader
from sitelore.model.url import Url


def read_collection(response: Response, loader: Loader) -> SitemapReading:
    """The records that one page of a collection lists."""
    try:
        data = json.loads(response.body)
    except (ValueError, RecursionError):
        return SitemapReading(problem="not_a_collection: the answer is not JSON")
    problem = api_error(data)
    records = records_in(data, loader)
    entries: dict[Url, SitemapEntry] = {}
    for record in records:
        url = filled(loader.record, record, str(response.url))
        if url is not None:
            entries.setdefault(url, SitemapEntry(url, read_date(text_at(record, loader.updated))))
    following = next_part(response, data, loader) if entries else None  # an empty page is the last one
    children = (SitemapEntry(following),) if following is not None and following != response.url else ()
    if not entries and not problem and records:
        problem = "not_a_collection: no record in the answer has what its address needs"
    return SitemapReading("collection", tuple(entries.values()), children, problem)

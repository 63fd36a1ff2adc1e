"""The compiled survey (`survey.c`), where it was built: the same facts as from a page's tree, in one look at its nodes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache

from sitelore.extract.about.survey import Layout, Links, Room, Survey, leads_on
from sitelore.extract.native.library import Told, library

_SHORT, _LONG = 10, 2  # kinds of texts, as in survey.h
_Counts = ctypes.c_int64 * (_SHORT + _LONG)
_APART = "\1"  # within texts that are told as one


class CompiledSurveyor:
    """Looks at a page that was read into nodes, in the same thread."""

    def __init__(self, found: ctypes.CDLL) -> None:
        self._survey = found.survey_page
        self._survey.restype = ctypes.c_int64
        self._survey.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def survey(self) -> Survey | None:
        """What the page says that was read last; None where there is none, or where its tree has to be asked."""
        counts, told = _Counts(), Told()
        if self._survey(counts, ctypes.addressof(told)) != 0:
            return None
        sizes = counts[:]
        short = _rows(ctypes.string_at(told.first, told.first_size), sizes[:_SHORT])
        long = _rows(ctypes.string_at(told.second, told.second_size), sizes[_SHORT:]) if told.second_size else ([], [])
        return _survey(short, long) if short and long else None


def _rows(told: bytes, counts: list[int]) -> Sequence[list[str]]:
    """The texts of each kind; none at all where a text holds what stands between them."""
    texts = told.decode().split("\0")
    if len(texts) != sum(counts) + 1:
        return ()
    rows, start = [], 0
    for count in counts:
        rows.append(texts[start : start + count])
        start += count
    return rows


def _survey(short: Sequence[list[str]], long: Sequence[list[str]]) -> Survey:
    about, metas, relations, headings, dates, marked, bylines, hrefs, texts, rels = short
    scripts, sheets = long
    title, h1, base, lang, xml_lang, levels, rooms = about
    return Survey(
        title=title,
        h1=h1,
        base=base,
        languages=[lang, xml_lang],
        metas=list(zip(map(str.lower, metas[::2]), metas[1::2], strict=True)),
        relations=list(zip(map(str.lower, relations[::2]), relations[1::2], strict=True)),
        layout=Layout(list(zip(map(int, levels), headings, strict=True)), _rooms(rooms), _pairs(dates)),
        marked=lambda name: [value for said, value in _pairs(marked) if said == name],
        bylines=lambda: bylines,
        links=_links(hrefs, texts, rels),
        scripts=[(text, None) for text in scripts],
        sheets=_pairs(sheets),
    )


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    return list(zip(texts[::2], texts[1::2], strict=True))


@lru_cache(maxsize=256)
def _rooms(told: str) -> tuple[Room, ...]:
    """Remembered, since pages of a site are laid out alike."""
    parts = told.split(_APART)
    return tuple(zip(parts[:-1:4], parts[1::4], parts[2::4], parts[3::4], strict=True))


def _links(hrefs: list[str], texts: list[str], rels: list[str]) -> Links:
    if not rels:
        return Links(hrefs, texts.__getitem__, dict)
    said = list(zip(map(int, rels[::3]), rels[1::3], rels[2::3], strict=True))
    out = {at for at, tag, rel in said if tag == "link" and not leads_on(rel)}
    if out:
        kept = [at for at in range(len(hrefs)) if at not in out]
        place = {at: new for new, at in enumerate(kept)}
        hrefs, texts = [hrefs[at] for at in kept], [texts[at] for at in kept]
        said = [(place[at], tag, rel) for at, tag, rel in said if at in place]
    return Links(hrefs, texts.__getitem__, lambda: {at: rel for at, _, rel in said})


def _surveyor() -> CompiledSurveyor | None:
    found = library()
    return CompiledSurveyor(found) if found is not None and hasattr(found, "survey_page") else None


SURVEYOR = _surveyor()
"""None where it was not compiled."""

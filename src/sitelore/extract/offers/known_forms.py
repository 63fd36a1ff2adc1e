"""Forms that were read before: the search box and the newsletter stand on every page of a site.

A form is remembered by its markup, its selector and where it leads. What else was looked at on its page (labels outside of it,
whether a name is the only one) is asked again, so that what is remembered never shows in a result, only in its cost. It is kept
as small as it gets: a crawl of weeks holds no more of it than one of an hour.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from sitelore.extract import dom
from sitelore.extract.offers.form_fields import CONTROLS, Labels
from sitelore.extract.offers.selectors import Mark, Selectors

_AROUND = "fieldset,label,legend,[role=radiogroup i],[role=group i]"
_REFERRING = (" aria-labelledby=", " aria-describedby=", " list=", " formaction=", " form=")
"""Attributes by which a form speaks of something that may stand elsewhere."""
_MAX_FORMS = 384
_MAX_MARKUP = 8_000


class _Known(NamedTuple):
    """A form as it was read, and what that rests on."""

    form: bytes
    """As JSON, which takes a tenth of the room."""
    labels: tuple[tuple[str, int], ...]
    """How many labels its controls have."""
    marks: tuple[tuple[Mark, bool], ...]

    def is_same(self, labels: Labels, selectors: Selectors) -> bool:
        for control, count in self.labels:
            if labels.count(control) != count:
                return False
        return all(selectors.is_only(mark) == is_only for mark, is_only in self.marks)


_forms: OrderedDict[bytes, _Known] = OrderedDict()
_decoder = msgspec.json.Decoder(dict[str, Any])


def remembered(
    form: dom.Element, key: tuple[str, ...], labels: Labels, selectors: Selectors, read: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The form as `read` would read it. `key` is what it depends on besides its markup, its selector and its page's labels."""
    own, markup = selectors.of(form), form.html
    if not own or len(markup) > _MAX_MARKUP or form.closest(_AROUND) is not None:
        return read()
    whole = sha256("\0".join((markup, own, *key)).encode("utf-8", "surrogatepass")).digest()
    known = _forms.get(whole)
    if known is not None and known.is_same(labels, selectors):
        return _decoder.decode(known.form)
    before, selectors.asked = selectors.asked, {}
    found = read()
    marks = tuple(selectors.asked.items())
    selectors.asked |= before
    if not any(mark in markup for mark in _REFERRING):
        ids = {control: labels.count(control) for one in form.iter_elements(CONTROLS) if (control := one.attr("id"))}
        if all(labels.are_within(control, form) for control in ids):
            while len(_forms) >= _MAX_FORMS:
                _forms.popitem(last=False)
            _forms[whole] = _Known(msgspec.json.encode(found), tuple(ids.items()), marks)
    return found

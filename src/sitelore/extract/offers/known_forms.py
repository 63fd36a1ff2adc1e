"""Forms that were read before: the search box and the newsletter stand on every page of a site.

A form is remembered by its markup, its selector and where it leads. What else was looked at on its page (labels outside of it,
whether a name is the only one) is asked again, so that what is remembered never shows in a result, only in its cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sitelore.extract import dom
from sitelore.extract.offers.form_fields import CONTROLS, Labels
from sitelore.extract.offers.selectors import Mark, Selectors

_AROUND = "fieldset,label,legend,[role=radiogroup i],[role=group i]"
_REFERRING = (" aria-labelledby=", " aria-describedby=", " list=", " formaction=", " form=")
"""Attributes by which a form speaks of something that may stand elsewhere."""
_MAX_FORMS = 256
_MAX_MET = 4_096
_MAX_MARKUP = 8_000

_Key = tuple[str, str, str, bool]


class _Known(NamedTuple):
    """A form as it was read, and what that rests on."""

    form: dict[str, Any]
    labels: tuple[tuple[str, int], ...]
    """How many labels its controls have."""
    marks: tuple[tuple[Mark, bool], ...]

    def is_same(self, labels: Labels, selectors: Selectors) -> bool:
        for control, count in self.labels:
            if labels.count(control) != count:
                return False
        return all(selectors.is_only(mark) == is_only for mark, is_only in self.marks)


_forms: dict[_Key, _Known] = {}
_met: set[int] = set()


def remembered(
    form: dom.Element, key: tuple[str, bool], labels: Labels, selectors: Selectors, read: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The form as `read` would read it. `key` is what it depends on besides its markup, its selector and its page's labels."""
    own, markup = selectors.of(form), form.html
    if not own or len(markup) > _MAX_MARKUP or form.closest(_AROUND) is not None:
        return read()
    whole = (markup, own, *key)
    known = _forms.get(whole)
    if known is not None and known.is_same(labels, selectors):
        return known.form
    if known is None and not _is_repeated(whole):
        return read()
    before, selectors.asked = selectors.asked, {}
    found = read()
    marks = tuple(selectors.asked.items())
    selectors.asked |= before
    if not any(mark in markup for mark in _REFERRING):
        ids = {control: labels.count(control) for one in form.iter_elements(CONTROLS) if (control := one.attr("id"))}
        if all(labels.are_within(control, form) for control in ids):
            if len(_forms) >= _MAX_FORMS:
                _forms.clear()
            _forms[whole] = _Known(found, tuple(ids.items()), marks)
    return found


def _is_repeated(key: _Key) -> bool:
    """Whether a form was met before. To remember one costs more than to read it, and many a form stands on one page alone."""
    met = hash(key)
    if met in _met:
        return True
    if len(_met) >= _MAX_MET:
        _met.clear()
    _met.add(met)
    return False

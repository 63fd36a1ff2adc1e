"""Words that differ by their endings alone become one: by the rules of Snowball, for the languages it knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol

from sitelore.index.stemming_english import stem_english

MAIN_LANGUAGE = "en"
"""What Latin letters are taken for where a page does not say."""

_LATIN = {
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "sv": "swedish",
    "tr": "turkish",
}
_OTHERS = {
    "ar": "arabic",
    "el": "greek",
    "fa": "persian",
    "hi": "hindi",
    "hy": "armenian",
    "ne": "nepali",
    "ru": "russian",
    "sr": "serbian",
    "ta": "tamil",
    "yi": "yiddish",
}
_SCRIPTS = (
    (re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"), MAIN_LANGUAGE, frozenset(_LATIN) | {"sr"}),
    (re.compile("[\u0400-\u052f]"), "ru", frozenset({"ru", "sr"})),
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "el", frozenset({"el"})),
    (re.compile("[\u0600-\u06ff\u0750-\u077f]"), "ar", frozenset({"ar", "fa"})),
    (re.compile("[\u0900-\u097f]"), "hi", frozenset({"hi", "ne"})),
    (re.compile("[\u0530-\u058f]"), "hy", frozenset({"hy"})),
    (re.compile("[\u0b80-\u0bff]"), "ta", frozenset({"ta"})),
    (re.compile("[\u0590-\u05ff]"), "", frozenset({"yi"})),
)
_UNSTEMMED = {
    0: frozenset({"az", "bs", "hr", "is", "lv", "ms", "mt", "sk", "sl", "sq", "sw", "uz", "vi"}),
    1: frozenset({"be", "bg", "kk", "ky", "mk", "mn", "tg", "uk"}),
    3: frozenset({"ku", "ps", "sd", "ug", "ur"}),
    4: frozenset({"mr", "sa"}),
}
"""Languages of a script that has rules for others: theirs would do harm."""


def language_of(tag: str) -> str:
    """The language of a tag such as `en-US` or `DE_at`."""
    return re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]


def stem(word: str, language: str) -> str:
    """The stem of a folded word: by the language of its page if that has such letters, else by the main one that has."""
    for index, (letters, main, languages) in enumerate(_SCRIPTS):
        if letters.match(word):
            if language not in languages:
                if language in _UNSTEMMED.get(index, ()) or not main:
                    return word
                language = main
            return stem_english(word) if language == "en" else _rules(language)().stemWord(word)
    return word


class _Rules(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 - Snowball's name


@cache
def _rules(language: str) -> Callable[[], _Rules]:
    """Snowball's own Python, whatever else is installed: the same words give the same terms on every machine.

    A class, not an object: an object keeps the word it works on, and words are looked at in several threads.
    """
    name = _LATIN.get(language) or _OTHERS[language]
    made: Callable[[], _Rules] = getattr(import_module(f"snowballstemmer.{name}_stemmer"), f"{name.capitalize()}Stemmer")
    return made

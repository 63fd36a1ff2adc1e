"""Rewrites the text of a page in another script, for training and validation of the block scorer.

The markup stays. Each word becomes a made-up word of about the length that it has in that language, always the same one, and
label words ("Related", "Comments") become the labels that the vocabulary knows for the language. So a page has the same blocks
in every script, and whatever the scorer makes of them should be the same.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from sitelore.extract.content.vocabulary import LABEL_OF_WORD, LABELS, LABELS_OF_LANGUAGE

LANGUAGES = tuple(LABELS_OF_LANGUAGE)

_CHARACTERS = {
    "zh": "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会",
    "ja": "のにはをたがでてとしれさるいもなあこうからまりくきけどおよせんそ日一国会人年大十二本中",
    "ko": "이다의는에을가하고를로은지서도한그기사어자시있나수리인대여만정일들해과부전제보게주상아",
    "ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф",
    "ar": "ايلمونتربةعدسفهكقحجشطصخضذثئغظز",
}
_MARKS = {
    "zh": str.maketrans(".,?!:;", "\u3002\uff0c\uff1f\uff01\uff1a\uff1b"),
    "ja": str.maketrans(".,?!:", "\u3002\u3001\uff1f\uff01\uff1a"),
    "ar": str.maketrans(",?;", "\u060c\u061f\u061b"),
}
_ARTICLES = frozenset({"the", "a", "an"})
_WITHOUT = {
    "zh": _ARTICLES | {"of", "to", "is", "are"},
    "ja": _ARTICLES,
    "ko": _ARTICLES | {"of", "to", "is", "are"},
    "ru": _ARTICLES | {"of", "to", "is", "are"},
    "ar": _ARTICLES | {"is", "are"},
}
"""English words that have no word of their own in a language."""
_UNSPACED = frozenset({"zh", "ja"})
_TAG = re.compile(rb"(<[^>]*>)")
_TOKEN = re.compile(
    r"(?P<reference>&\w+;|&#\d+;)|(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)?)|(?P<space>[^\S\n]+)|(?P<other>.)", re.DOTALL
)
_JOINED = "\0"
_BEFORE_LATIN = re.compile(f"{_JOINED}(?=[0-9A-Za-z&(])")
_FEW_TOKENS = 3


def translate(html: bytes, language: str) -> bytes:
    """A serialised page with its text in another script; code stays as it is."""
    parts = _TAG.split(html)
    listings = 0
    for at, part in enumerate(parts):
        if at % 2:
            name = part[1:-1].split(None, 1)[0].lower() if len(part) > 2 else b""
            listings += (name == b"pre") - (name == b"/pre")
        elif listings <= 0 and part.strip():
            parts[at] = _translate_text(part.decode("utf-8", "replace"), language).encode()
    return b"".join(parts)


def _translate_text(text: str, language: str) -> str:
    labels, marks, without = _labels(language), _MARKS.get(language, {}), _WITHOUT[language]
    tokens = list(_TOKEN.finditer(text))
    is_short = sum(not token["space"] for token in tokens) <= _FEW_TOKENS
    out: list[str] = []
    is_after_word = False
    for token in tokens:
        if word := token["word"]:
            lowered = word.lower()
            if lowered in labels:
                out.append(labels[lowered])
            elif is_short or lowered not in without:
                out.append(_word(word, language))
            is_after_word = True
        elif space := token["space"]:
            out.append(_JOINED if language in _UNSPACED and is_after_word else space)
        else:
            sign = token["reference"] or token["other"]
            # A stop behind a digit is a decimal point.
            out.append(sign if token["reference"] or (sign == "." and not is_after_word) else sign.translate(marks))
            is_after_word = token["reference"] is None and out[-1] != sign
    return _BEFORE_LATIN.sub(" ", "".join(out)).replace(_JOINED, "")


@lru_cache(maxsize=len(LANGUAGES))
def _labels(language: str) -> dict[str, str]:
    """The label that stands for each label word in Latin script."""
    own = LABELS_OF_LANGUAGE[language]
    translated = {word for groups in LABELS_OF_LANGUAGE.values() for words in groups.values() for word in words}
    found: dict[str, str] = {}
    for number, group in enumerate(LABELS):
        words = [word.decode() for word, of in LABEL_OF_WORD.items() if of == number and word.decode() not in translated]
        found |= {word: own[group][at % len(own[group])] for at, word in enumerate(words)}
    return found


@lru_cache(maxsize=200_000)
def _word(word: str, language: str) -> str:
    size = len(word)
    if language == "zh":
        count = 1 if size <= 3 else 2 if size <= 9 else 3
    elif language == "ja":
        count = 1 if size <= 3 else 2 if size <= 5 else 3 if size <= 9 else 4
    elif language == "ko":
        count = 2 if size <= 4 else 3 if size <= 8 else 4
    elif language == "ru":
        count = size + (size > 3)
    else:
        count = max(2, size - 1)
    characters = _CHARACTERS[language]
    digest = blake2b(word.lower().encode(), digest_size=16).digest()
    made = "".join(characters[(digest[at % 16] * (1 + at // 16) + at * 7) % len(characters)] for at in range(count))
    return made.capitalize() if word[:1].isupper() else made

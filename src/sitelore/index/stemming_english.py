"""English words without their endings: by Snowball's rules (Porter 2), as `snowballstemmer` has them, at a tenth of the cost.

Every word that is met for the first time is stemmed, in chunks and in questions, and most are English. A test holds this to the
library, word for word. Names of steps and regions are those of the published rules: R1 begins behind the first consonant that
follows a vowel, R2 behind the next such one.
"""

from __future__ import annotations

import re

_VOWELS = frozenset("aeiouy")
_VOWEL = re.compile("[aeiouy]")
_REGION = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")
_KNOWN_R1 = ("arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers")
_WHOLE = {
    "early": "earli",
    "gently": "gentl",
    "idly": "idl",
    "only": "onli",
    "singly": "singl",
    "skies": "sky",
    "skis": "ski",
    "ugly": "ugli",
    **{word: word for word in ("andes", "atlas", "bias", "cosmos", "howe", "news", "sky")},
}
_BEFORE_EED = frozenset({"succ", "proc", "exc"})
_BEFORE_ING = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_DOUBLES = frozenset({"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"})
_WANT_E = frozenset({"at", "bl", "iz"})
_BEFORE_LI = frozenset("cdeghkmnrt")
_STEP_2 = {
    "anci": "ance", "enci": "ence", "ogi": "og", "li": "", "bli": "ble", "abli": "able", "alli": "al", "fulli": "ful",
    "lessli": "less", "ousli": "ous", "entli": "ent", "aliti": "al", "biliti": "ble", "iviti": "ive", "tional": "tion",
    "ational": "ate", "alism": "al", "ation": "ate", "ization": "ize", "izer": "ize", "ator": "ate", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "ogist": "og",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "tional": "tion", "ational": "ate", "ful": "",
    "ness": "",
}  # fmt: skip
_STEP_4 = dict.fromkeys(
    (
        "ic", "ance", "ence", "able", "ible", "ate", "ive", "ize", "iti", "al", "ism", "ion", "er", "ous", "ant", "ent", "ment",
        "ement",
    ),
    "",
)  # fmt: skip
_LAST_TWO = tuple(frozenset(ending[-2:] for ending in step) for step in (_STEP_2, _STEP_3, _STEP_4))


def stem_english(word: str) -> str:
    """The stem of a word in small letters."""
    if word in _WHOLE:
        return _WHOLE[word]
    if len(word) < 3:
        return word
    if word[0] == "'":
        word = word[1:]
    marked = _marked(word) if "y" in word else word
    r1, r2 = _regions(marked)
    found = _without_ing(_without_s(marked), r1)
    if found[-1:] in {"y", "Y"} and len(found) > 2 and found[-2] not in _VOWELS:
        found = found[:-1] + "i"
    found = _without_e(_step_4(_step_3(_step_2(found, r1), r1, r2), r2), r1, r2)
    return found.replace("Y", "y") if marked is not word else found


def _marked(word: str) -> str:
    """A y that is no vowel, at the beginning or behind a vowel, as a capital."""
    letters = list(word)
    before_is_vowel = True
    for at, letter in enumerate(letters):
        if letter == "y" and before_is_vowel:
            letters[at] = "Y"
        before_is_vowel = letters[at] in _VOWELS
    return "".join(letters)


def _regions(word: str) -> tuple[int, int]:
    end = len(word)
    if word.startswith(_KNOWN_R1):
        r1 = next(len(known) for known in _KNOWN_R1 if word.startswith(known))
    else:
        first = _REGION.match(word)
        r1 = first.end() if first else end
    second = _REGION.match(word, r1)
    return r1, second.end() if second else end


def _without_s(word: str) -> str:
    """Step 1a."""
    if "'" in word:
        word = word.removesuffix("'s'") if word.endswith("'s'") else word.removesuffix("'" if word[-1] == "'" else "'s")
    last = word[-1:]
    if last == "s":
        if word.endswith(("ss", "us")):
            return word
        if word.endswith("sses"):
            return word[:-2]
        if word.endswith("ies"):
            return word[:-2] if len(word) > 4 else word[:-1]
        return word[:-1] if _VOWEL.search(word, 0, max(0, len(word) - 2)) else word
    if last == "d" and word.endswith("ied"):
        return word[:-2] if len(word) > 4 else word[:-1]
    return word


def _without_ing(word: str, r1: int) -> str:
    """Step 1b."""
    if not word.endswith(("ed", "ing", "edly", "ingly")):
        return word
    if word.endswith(("eed", "eedly")):
        root = word[: word.rindex("eed")]
        return root + "ee" if r1 <= len(root) and root not in _BEFORE_EED else word
    if word.endswith("ing"):
        root = word[:-3]
        if root in _BEFORE_ING:
            return word
        if len(root) == 2 and root[1] == "y" and root[0] not in _VOWELS:
            return root[0] + "ie"
    else:
        root = word[: -5 if word.endswith("ingly") else -4 if word.endswith("edly") else -2]
    return _mended(root, r1) if _VOWEL.search(root) else word


def _mended(root: str, r1: int) -> str:
    """What is left when `ed` or `ing` was taken away: `hoping` is of `hope`, `hopping` of `hop`."""
    last_two = root[-2:]
    if last_two in _WANT_E:
        return root + "e"
    if last_two in _DOUBLES:
        return root if len(root) == 3 and root[0] in "aeo" else root[:-1]
    return root + "e" if len(root) == r1 and _ends_short(root) else root


def _ends_short(word: str) -> bool:
    if len(word) > 1 and word[-1] not in _VOWELS and word[-2] in _VOWELS:
        if len(word) == 2:
            return True
        if word[-1] not in "Ywx" and word[-3] not in _VOWELS:
            return True
    return word.endswith("past")


def _step_2(word: str, r1: int) -> str:
    if word[-2:] not in _LAST_TWO[0]:
        return word
    for size in range(7, 1, -1):
        if (new := _STEP_2.get(word[-size:])) is not None:
            root = word[:-size]
            if r1 > len(root) or (size == 2 and root[-1:] not in _BEFORE_LI) or (word[-size:] == "ogi" and root[-1:] != "l"):
                return word
            return root + new
    return word


def _step_3(word: str, r1: int, r2: int) -> str:
    if word[-2:] not in _LAST_TWO[1]:
        return word
    for size in range(7, 2, -1):
        if (new := _STEP_3.get(word[-size:])) is not None:
            root = word[:-size]
            return root + new if (r2 if word[-size:] == "ative" else r1) <= len(root) else word
    return word


def _step_4(word: str, r2: int) -> str:
    if word[-2:] not in _LAST_TWO[2]:
        return word
    for size in range(5, 1, -1):
        if word[-size:] in _STEP_4:
            root = word[:-size]
            if r2 > len(root) or (word[-size:] == "ion" and root[-1:] not in {"s", "t"}):
                return word
            return root
    return word


def _without_e(word: str, r1: int, r2: int) -> str:
    """Step 5."""
    root, last = word[:-1], word[-1:]
    if last == "e" and (r2 <= len(root) or (r1 <= len(root) and not _ends_short(root))):
        return root
    return root if last == "l" and r2 <= len(root) and root[-1:] == "l" else word

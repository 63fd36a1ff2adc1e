"""Detects the language of a text, for pages that do not declare one (docs/decisions/0016-language-detection.md)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_MAX_CHARS = 4_000  # more text does not change the result
_MIN_LETTERS = 40  # a shorter text is often a menu or a name
_MIN_IDEOGRAPHS = 10
_MIN_PROBABILITY = 0.9
_UNKNOWN = "und"
_RENAMED = {"iw": "he", "no": "nb"}  # codes that CLD3 uses, and those of BCP 47 that pages use
_LETTERS = re.compile(r"[^\W\d_]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_IDEOGRAPHIC_SHARE = 0.3
_KANA_SHARE = 0.1


def detect_language(text: str) -> str:
    """The BCP 47 tag of a text's language; empty where it is too short, or the detector is not sure."""
    text = text[:_MAX_CHARS]
    letters = len(_LETTERS.findall(text))
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    # CLD3 is weak on Chinese with Latin words in it, where the script alone decides: Japanese text has kana.
    if kana + han >= max(_MIN_IDEOGRAPHS, _IDEOGRAPHIC_SHARE * letters):
        return "ja" if kana >= _KANA_SHARE * (kana + han) else "zh"
    if letters < _MIN_LETTERS:
        return ""
    result = _detector().FindLanguage(text)
    if result.language == _UNKNOWN or result.probability < _MIN_PROBABILITY:
        return ""
    return _RENAMED.get(result.language, str(result.language))


@cache
def _detector() -> Any:
    import gcld3  # noqa: PLC0415 4 MB, and most pages declare their language

    return gcld3.NNetLanguageIdentifier(0, _MAX_CHARS)

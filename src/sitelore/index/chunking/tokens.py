"""Counts tokens as OpenAI's cl100k_base does. Offline: the vocabulary is part of the library."""

from __future__ import annotations

from functools import cache

from splintr import AnyTokenizer, Tokenizer

_ENCODING = "cl100k_base"


def count_tokens(text: str) -> int:
    """Count the tokens of a text, in linear time. Special tokens such as `<|endoftext|>` count as ordinary text."""
    try:
        return len(_tokenizer().encode_ordinary(text))
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 encoding
        return len(_tokenizer().encode_ordinary(text.encode("utf-8", "replace").decode()))


@cache
def _tokenizer() -> AnyTokenizer:
    return Tokenizer.from_pretrained(_ENCODING)

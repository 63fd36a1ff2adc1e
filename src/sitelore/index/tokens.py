"""How many tokens a text has, as cl100k counts them. Offline: the vocabulary is part of the library, nothing is fetched."""

from __future__ import annotations

from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Protocol

_ENCODING = "cl100k_base"


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...


def count_tokens(text: str) -> int:
    """Tokens of a text. Linear, whatever the text is."""
    try:
        return _tokenizer().count(text)
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 can hold
        return _tokenizer().count(text.encode("utf-8", "replace").decode())


@cache
def _tokenizer() -> _Tokenizer:
    # The package's own `__init__` reads every vocabulary into Python first: 0.8 s and 70 MB that counting has no use for.
    # Its wrapper refuses long texts and texts that name a special token. The compiled part alone does neither.
    package = PathFinder.find_spec("bpe_openai")
    places = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("_bindings", places) if places is not None else None
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("bpe-openai is not installed; it counts the tokens of chunks", name="bpe_openai")
    bindings = module_from_spec(spec)
    spec.loader.exec_module(bindings)
    tokenizer: _Tokenizer = bindings.tokenizer_for_encoding(_ENCODING)
    return tokenizer

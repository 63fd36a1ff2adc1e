"""Tokens are counted offline and exactly, for any text."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from sitelore.index.chunking.segments import count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_are_those_of_cl100k(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.parametrize("alphabet", ["a", " ", "\n", "\0", "\x01\x02\x1b", "😀", "👩‍👩‍👧", "漢字", "́", "-=", "<|endoftext|>"])
def test_a_megabyte_of_anything_is_counted(alphabet: str) -> None:
    text = alphabet * (1_000_000 // len(alphabet.encode()))
    assert 0 < count_tokens(text) <= len(text.encode())


def test_noise_is_counted() -> None:
    noise = random.Random(7)
    text = "".join(chr(noise.randrange(1, 0xD000)) for _ in range(100_000))
    assert 100_000 < count_tokens(text) <= len(text.encode())


def test_half_a_surrogate_pair_counts_as_something() -> None:
    assert count_tokens("a \ud800 b") >= 3


def test_special_tokens_count_as_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") == 7
    assert count_tokens("before <|fim_prefix|> after <|endofprompt|>") == 14


def test_pieces_add_up_to_the_whole() -> None:
    words = [f" word{number}" for number in range(500)]
    assert count_tokens("".join(words)) == sum(map(count_tokens, words))


def test_counting_needs_no_connection() -> None:
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a connection')\n"
        "socket.socket.connect = refuse\nsocket.getaddrinfo = refuse\n"
        "from sitelore.index.chunking.segments import count_tokens\nprint(count_tokens('hello world'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"

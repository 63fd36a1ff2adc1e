"""The text of API tokens."""

from __future__ import annotations

import re

import pytest

from sitelore.extract.redaction.redactor import redact
from sitelore.model.platform.accounts import TokenKind
from sitelore.platform.accounts.authentication import new_token_text, parse_token


@pytest.mark.parametrize("kind", TokenKind)
def test_a_token_has_a_prefix_an_id_a_secret_and_a_checksum(kind: TokenKind) -> None:
    token = new_token_text(kind)
    assert re.fullmatch(rf"sl_{kind}_[0-9A-Za-z]{{22}}_[0-9A-Za-z]{{43}}[0-9A-Za-z]{{6}}", token.text)
    assert parse_token(token.text) == token


def test_every_changed_character_breaks_the_checksum_or_the_form() -> None:
    token = new_token_text(TokenKind.API).text
    for at, char in enumerate(token):
        other = "A" if char != "A" else "B"
        assert parse_token(token[:at] + other + token[at + 1 :]) is None, at


@pytest.mark.parametrize("text", ["", "sl_api_", "sl_api_x_y", "sl_root_" + "a" * 22 + "_" + "a" * 49, "a" * 10_000, "\x00"])
def test_text_of_another_form_is_no_token(text: str) -> None:
    assert parse_token(text) is None


def test_tokens_are_random() -> None:
    tokens = [new_token_text(TokenKind.API) for _ in range(100)]
    assert len({token.id for token in tokens}) == len({token.secret_hash for token in tokens}) == 100


def test_our_own_tokens_are_removed_from_text() -> None:
    for kind in TokenKind:
        token = new_token_text(kind).text
        clean, rules = redact(f"<p>Our key is {token}.</p> See http://x.test/?t={token}, Authorization: Bearer {token}")
        assert token.rpartition("_")[2] not in clean
        assert "sitelore-token" in rules

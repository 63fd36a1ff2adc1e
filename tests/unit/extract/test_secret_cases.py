"""Secrets in the places where pages show them, and ordinary text that looks like one.

Every secret is made at run time, so that no program that looks for leaked keys takes this file for a leak.
"""

from __future__ import annotations

import random
import string

import pytest

from sitelore.extract.redaction.redactor import redact

ALNUM = string.ascii_letters + string.digits


def made(prefix: str, length: int, alphabet: str = ALNUM) -> str:
    """A token of this form, the same in every run."""
    return prefix + "".join(random.Random(prefix).choices(alphabet, k=length))


TOKENS = {
    "github-token": made("ghp_", 36),
    "gitlab-token": made("glpat-", 20),
    "npm-token": made("npm_", 36),
    "slack-token": "-".join(("xoxb", made("", 12, string.digits), made("1", 12, string.digits), made("x", 23))),
    "stripe-key": made("sk_" + "live_", 24),
    "google-key": made("AIza", 35, ALNUM + "-_"),
    "huggingface-token": made("hf_", 34, string.ascii_letters),
}
PLACES = {
    "alone": "{}",
    "in a sentence": "Please use {} for the test.",
    "in an environment file": "DEBUG=1\nTOKEN={}\nPORT=80\n",
    "in YAML": "services:\n  token: {}\n",
    "in JSON": '{{"id": 7, "token": "{}"}}',
    "in a script": "const client = connect('{}', {{retry: 3}});",
    "in a header": "curl -H 'Authorization: Bearer {}' https://api.example/v1",
    "in a query": "https://api.example/v1?key={}&page=2",
    "in an attribute": '<div data-token="{}" class="x"></div>',
    "in Markdown": "Set `{}` as the **token**.",
    "after a letter of another script": "密钥{}。",
    "in a log line": "2031-01-01T00:00:00Z INFO auth token={} user=7",
}
ASSIGNED = {
    "password in a configuration": "db_password = '{}'",
    "secret in an environment file": "CLIENT_SECRET={}",
    "key in YAML": "api_key: {}",
    "key in JSON": '{{"apiKey": "{}"}}',
    "password in a URL": "postgres://app:{}@db.example:5432/main",
}
ORDINARY = {
    "a SHA-1": "commit {}".format(made("", 40, "0123456789abcdef")),
    "a SHA-256": "sha256:{}".format(made("", 64, "0123456789abcdef")),
    "a UUID": "id 6f1d3f0e-9a52-4a1c-8f6e-2b7f0f4f9f11",
    "an integrity attribute": '<script integrity="sha384-{}" src="a.js"></script>'.format(made("", 64, ALNUM + "+/")),
    "an image as data": "data:image/png;base64,{}".format(made("iVBORw0KGgo", 300, ALNUM + "+/")),
    "a file with a hash in its name": "/static/js/main.{}.chunk.js".format(made("", 20, "0123456789abcdef")),
    "a class of generated CSS": '<div class="css-{} MuiBox-root"></div>'.format(made("", 7, "0123456789abcdefghijkl")),
    "an ISBN and a phone number": "ISBN 978-3-16-148410-0, telephone +46 8 123 456 78",
    "a placeholder in capitals": 'api_key = "YOUR_API_KEY_HERE"',
    "a placeholder in brackets": "password: <your password>",
    "a variable": "token = os.environ['TOKEN']",
    "a template": "Authorization: Bearer ${{ secrets.TOKEN }}",
    "asterisks": "password: ************",
    "words about passwords": "The password must have twelve characters. Forgot your password? Reset the secret key here.",
    "a function call": "const password = generatePassword({ length: 20 });",
    "a type": "password: string; apiKey: string | undefined",
    "a URL without a password": "https://example.com:8443/a:b@c?user=ann",
    "a version": "requires token-bucket==1.20.3 and secretstorage>=3.3",
    "prose with dashes": "a risk-averse task-force of disk-jockeys",
    "a long word": "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "a path": "secret_file = /usr/share/doc/packages/example/README.Debian",
    "a tracking parameter": "https://example.com/?utm_source=newsletter&gclid={}".format(made("", 40)),
}


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("place", PLACES)
def test_a_token_is_found_wherever_it_stands_and_nothing_else_changes(kind: str, place: str) -> None:
    text = PLACES[place].format(TOKENS[kind])
    clean, counts = redact(text)
    assert TOKENS[kind] not in clean
    assert sum(counts.values()) == 1
    before, _, after = text.partition(TOKENS[kind])
    assert clean.startswith(before)
    assert clean.endswith(after)


@pytest.mark.parametrize("place", ASSIGNED)
def test_a_value_that_is_assigned_to_a_secret_name_is_found(place: str) -> None:
    secret = made("Q7", 22)
    clean, counts = redact(ASSIGNED[place].format(secret))
    assert secret not in clean
    assert sum(counts.values()) == 1


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_text_is_left_as_it_is(name: str) -> None:
    assert redact(ORDINARY[name]) == (ORDINARY[name], {})


def test_every_secret_of_a_long_page_is_found_among_ordinary_text() -> None:
    filler = "\n".join(ORDINARY.values())
    page = filler.join(f"\n{token}\n" for token in TOKENS.values()) * 20
    clean, counts = redact(page)
    assert counts == dict.fromkeys(TOKENS, 20)
    assert not any(token in clean for token in TOKENS.values())

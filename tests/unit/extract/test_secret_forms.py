"""Secrets are found in every usual form of assignment and by the formats of providers; names and placeholders are kept.

The values are made at run time: no text in this file looks like a secret.
"""

import random
import string

import pytest

from sitelore.extract.redaction.redactor import redact

HEXADECIMAL, LETTERS = "0123456789abcdef", string.ascii_letters + string.digits

FORMS = (
    "{upper}_TOKEN={value}",
    "{upper}_TOKEN ?= {value}",
    "ENV {upper}_TOKEN {value}",
    "{name}_token = {value}",
    "{name}.api.token={value}",
    "{name}_token: {value}",
    "{name}_token: >-\n  {value}\n",
    '{{"{name}_token": "{value}"}}',
    '"{{\\"{name}_token\\":\\"{value}\\"}}"',
    "<code>&quot;{name}_token&quot;: &quot;{value}&quot;</code>",
    "let {name}Token = `{value}`;",
    'const {name}Token: string = "{value}";',
    'var {name}Token string = "{value}"',
    'config.put("{name}_token", "{value}");',
    'client.set{name}Token("{value}");',
    '{name}_token ||= "{value}"',
    'ENV["{upper}_TOKEN"] = "{value}"',
    'NSString *{name}Token = @"{value}";',
    '<add key="{name}_token" value="{value}" />',
    "<key>{name}_token</key>\n<string>{value}</string>",
    "{name} login --token {value}",
)


def random_text(seed: int, alphabet: str, size: int) -> str:
    """A random value that is equal in every run."""
    source = random.Random(seed)
    return "".join(source.choice(alphabet) for _ in range(size))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "value", [random_text(1, HEXADECIMAL, 40), random_text(2, LETTERS, 32)], ids=["hexadecimal", "letters"]
)
def test_a_secret_is_found_in_every_form_of_assignment(form: str, value: str) -> None:
    clean, counts = redact(form.format(name="acme", upper="ACME", value=value))
    assert value not in clean
    assert sum(counts.values()) == 1


@pytest.mark.parametrize(
    ("prefix", "alphabet", "size", "rule"),
    [
        ("cfut_", LETTERS, 48, "cloudflare-key"),
        ("sk-or-v1-", HEXADECIMAL, 64, "openrouter-key"),
        ("sb_secret_", LETTERS, 31, "supabase-token"),
        ("amzn1.oa2-cs.v1.", HEXADECIMAL, 64, "amazon-token"),
        ("glwt-", LETTERS, 20, "gitlab-token"),
        ("xsmtpsib-" + random_text(3, HEXADECIMAL, 64) + "-", LETTERS, 16, "sendinblue-key"),
        ("EAAG", LETTERS, 150, "facebook-token"),
        ("nvapi-", LETTERS, 64, "nvidia-key"),
    ],
)
def test_formats_of_providers_are_found_and_their_placeholders_kept(prefix: str, alphabet: str, size: int, rule: str) -> None:
    assert redact(f"see {prefix}{random_text(4, alphabet, size)} there")[1] == {rule: 1}
    assert redact(f"see {prefix.split('-', maxsplit=1)[0]}{'x' * size} there")[1] == {}


@pytest.mark.parametrize(
    "text",
    [
        "page_token: next-page-of-results-2024",
        'api_token = "replace-with-your-token-123"',
        'api_key = "my-sample-api-key-42"',
        "ACME_TOKEN=" + string.ascii_lowercase[9:20] + "-12345678",
        "token = SomeTokenizerModule2;",
        'hedToken: "headline-text-2xl"',
        "kind: Secret\nmetadata:\n  uid: " + random_text(5, LETTERS, 16) + "\n",
    ],
)
def test_names_and_placeholders_are_kept(text: str) -> None:
    assert redact(text) == (text, {})

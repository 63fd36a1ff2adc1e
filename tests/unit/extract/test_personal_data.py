"""Personal data is masked; similar numbers and the contact data of an organisation are kept."""

import pytest

from sitelore.extract.redaction.personal_data import (
    NATIONAL_IDS,
    NO_CONTACTS,
    contacts_in,
    contacts_of,
    is_contact_page,
    mask_markdown,
    mask_personal,
    personal_spans,
)
from sitelore.extract.redaction.redactor import Redactor, redact
from sitelore.model.ids import CleanText
from sitelore.model.settings import Redaction
from sitelore.model.url import Url


def clean(text: str) -> CleanText:
    return redact(text)[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to jane.roe+news@mail.example.co.uk today", "email"),
        ("[mail](mailto:jane@example.com)", "email"),
        ("call +49 30 901820 today", "phone"),
        ("call +1 (555) 010-9999.", "phone"),
        ("call +33 1 42 68 53 00", "phone"),
        ("0049 30 901820", "phone"),
        ("(415) 555-0132", "phone"),
        ("415-555-0132", "phone"),
        ("415.555.0132", "phone"),
        ("01 42 68 53 00", "phone"),
        ("030 901820-33", "phone"),
        ("020 7946 0958", "phone"),
        ("Tel.: 901820 33", "phone"),
        ("[call](tel:5550109999)", "phone"),
        ("Телефон: 495 123-45-67", "phone"),
        ("card 4111 1111 1111 1111 expires", "card"),
        ("card 4111111111111111 expires", "card"),
        ("5500-0000-0000-0004", "card"),
        ("3782 822463 10005", "card"),
        ("IBAN DE89 3704 0044 0532 0130 00", "iban"),
        ("GB29NWBK60161331926819", "iban"),
        ("NL91 ABNA 0417 1643 00.", "iban"),
    ],
)
def test_personal_data_is_masked(text: str, kind: str) -> None:
    masked, counts = mask_personal(clean(text))
    assert counts == {kind: 1}
    assert f"[REDACTED:{kind}]" in masked
    assert mask_personal(masked) == (masked, {})


@pytest.mark.parametrize(
    "text",
    [
        "version 1.22.333.4444 of 2024-01-15 10:30:00",
        "released on 15.01.2024, 01/15/2024 and 2024-01-15T10:30:00+02:00",
        "at 192.168.100.200 and 10.0.0.1:8080",
        "costs $1,234,567.89 or 1.234.567,89 EUR or 12 000 000 people",
        "order 20240115-000123456 and id 1234567890123456",
        "SKU 4111-1111-1111-1112 and 4111 1111 1111 1112",
        "ISBN 978-3-16-148410-0 and 0-306-40615-2",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "uuid 832d2129-a846-4e27-99f4-7004b6ad53ef",
        "pi is 3.14159265358979 and 2 147 483 647 is large",
        "logo@2x.png and git@github.com:a/b.git and lodash@4.17.21 and @user@host.example",
        "1700000000 and 1700000000000 and 17000000000000000",
        "GB29 is not an IBAN, nor is DE89 3704 0044 0532 0130 01",
        "rows 100-200-3000, ratio 16:9, 1920x1080, +1 for that, C++11 2014 2017",
        "https://example.com/a/415-555-0132/b?id=4155550132",
    ],
)
def test_numbers_and_names_that_resemble_personal_data_are_kept(text: str) -> None:
    assert mask_personal(clean(text)) == (text, {})


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("us-ssn", "536-90-4399", "000-12-3456"),
        ("de-tax-id", "86095742719", "86095742718"),
        ("fr-nir", "2 55 08 14 168 025 38", "2 55 08 14 168 025 39"),
        ("es-dni", "12345678Z", "12345678A"),
        ("it-cf", "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        ("nl-bsn", "111222333", "111222334"),
        ("pl-pesel", "44051401359", "44051401358"),
        ("br-cpf", "529.982.247-25", "529.982.247-26"),
    ],
)
def test_a_national_id_is_masked_where_a_setting_names_it(name: str, good: str, bad: str) -> None:
    options = Redaction(personal_ids=(name,))
    assert mask_personal(clean(f"id {good} x"), options)[1] == {name: 1}
    assert mask_personal(clean(f"id {bad} x"), options)[1] == {}
    assert name in NATIONAL_IDS
    assert name not in mask_personal(clean(f"id {good} x"))[1]


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("/contact", ""), ("/en/contact-us/", ""), ("/kontakt.html", ""), ("/a", "Impressum"), ("/b", "Nous contacter | Acme"),
        ("/c", "Контакты"), ("/d", "お問い合わせ"), ("/get_in_touch", ""),
    ],
)  # fmt: skip
def test_contact_pages_are_recognised_in_many_languages(path: str, head: str) -> None:
    assert is_contact_page(path, (head,))


@pytest.mark.parametrize(("path", "head"), [("/contactless-payment", ""), ("/blog/lens", "Contactless cards"), ("/", "Home")])
def test_other_pages_are_none(path: str, head: str) -> None:
    assert not is_contact_page(path, (head,))


def test_contact_pages_keep_addresses_and_numbers_but_no_cards() -> None:
    text = clean("# Contact us\n\njane@example.com, +49 30 901820, 4111 1111 1111 1111")
    url = Url.trusted("http://site.example/about")
    assert mask_markdown(text, url) == "# Contact us\n\njane@example.com, +49 30 901820, [REDACTED:card]"
    assert "[REDACTED:email]" in mask_markdown(text, url, options=Redaction(keep_contacts=False))
    assert "[REDACTED:email]" in mask_markdown(clean("# Team\n\njane@example.com"), url, "Our team")


def test_contact_data_of_the_organisation_is_kept_on_every_page() -> None:
    own = {
        "@type": "Organization",
        "contactPoint": {"@type": "ContactPoint", "telephone": "+49-30-901820", "email": "Info@acme.example"},
    }
    person = {"@type": "Person", "email": "jane@acme.example"}
    contacts = contacts_of("/", ("Home",), (own, person))
    text = clean("info@acme.example, (030) 901820, +49 30 901820, jane@acme.example")
    assert mask_personal(text, contacts=contacts)[0] == "info@acme.example, (030) 901820, +49 30 901820, [REDACTED:email]"
    entities = ({"type": ["LocalBusiness"], "properties": {"telephone": ["030 901820"]}},)
    assert contacts_of("/", (), entities).keeps("phone", b"+49 30 901820")
    page = b'<script type="application/ld+json">{"@type":"Organization","email":"info@acme.example"}</script>'
    assert contacts_in(page, "/").values == {b"info@acme.example"}
    assert contacts_in(b'<script type="application/ld+json">{"@type":</script>', "/") == NO_CONTACTS


def test_reading_may_take_it_out_before_anything_is_kept() -> None:
    redactor = Redactor(Redaction(personal=True, key=b"k" * 16))
    text, counts = redactor.redact("jane@example.com jane@example.com ghp_" + "a1B2" * 9)
    first, second, token = text.split()
    assert first == second
    assert first.startswith("[REDACTED:email:")
    assert token.startswith("[REDACTED:github-token:")
    assert counts == {"email": 2, "github-token": 1}


@pytest.mark.parametrize(
    "text", ["1 " * 40_000, "a@" * 40_000, "+4 " * 30_000, "DE89 " * 30_000, "tel" * 40_000, "0-" * 40_000]
)
def test_text_made_to_be_slow_is_not(text: str) -> None:
    assert isinstance(personal_spans(text.encode(), tuple(NATIONAL_IDS)), list)

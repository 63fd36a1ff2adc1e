"""Forms as a browser would send them: fields, constraints and purpose."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import ReadPage

CONTACT = """<main><form id=contact method=post enctype=multipart/form-data action="../send?x=1" target=_blank novalidate>
<label for=e>E-mail</label><input id=e type=email name=email required maxlength=80 pattern="[^@]+@.+" autocomplete=email>
<label>Country <select name=country required><optgroup label=EU><option value=de selected>Germany<option>France</optgroup>
<option value=us disabled>USA</select></label>
<b id=l1>Your</b><b id=l2>age</b><input aria-labelledby="l1 l2" type=number min=18 max=99 step=1 name=age>
<fieldset><legend>Answer by</legend><input type=radio name=by value=mail id=m checked><label for=m>Mail</label>
<input type=radio name=by value=phone required aria-label=Telephone></fieldset>
<input type=checkbox name="tags[]" value=1 title=One><input type=checkbox name="tags[]" value=2 title=Two>
<input list=cities name=city placeholder="Your city"><datalist id=cities><option value=Rome><option value=Oslo></datalist>
<textarea name=message required minlength=10 aria-label=Message readonly></textarea>
<input type=file name=f accept=".pdf" multiple>
<button name=do value=send>Send</button>
<button formaction=/draft formmethod=get formenctype=text/plain formtarget=_self formnovalidate>Save draft</button></form>"""


def form_of(read_page: ReadPage, html: str) -> dict[str, Any]:
    [form] = read_page(html).document["forms"]
    assert isinstance(form, dict)
    return form


def field_of(form: dict[str, Any], name: str) -> dict[str, Any]:
    [field] = [one for one in form["fields"] if one["name"] == name]
    assert isinstance(field, dict)
    return field


def test_a_form_has_its_action_and_method(read_page: ReadPage) -> None:
    form = form_of(read_page, CONTACT)
    assert (form["selector"], form["action"]) == ("form#contact", "http://site.example/send?x=1")
    assert (form["method"], form["enctype"], form["target"]) == ("POST", "multipart/form-data", "_blank")
    assert form["novalidate"] is True
    assert form["kind"] == "contact"


def test_fields_have_their_constraints(read_page: ReadPage) -> None:
    form = form_of(read_page, CONTACT)
    email, age, message = field_of(form, "email"), field_of(form, "age"), field_of(form, "message")
    assert (email["type"], email["required"], email["maxlength"], email["pattern"]) == ("email", True, 80, "[^@]+@.+")
    assert email["autocomplete"] == "email"
    assert (age["required"], age["min"], age["max"], age["step"]) == (False, "18", "99", "1")
    assert (message["type"], message["required"], message["minlength"], message["readonly"]) == ("textarea", True, 10, True)
    assert (field_of(form, "f")["accept"], field_of(form, "f")["multiple"]) == (".pdf", True)


def test_labels_are_found_in_every_possible_place(read_page: ReadPage) -> None:
    form = form_of(read_page, CONTACT)
    labels = {field["name"]: (field.get("label"), field.get("label_from")) for field in form["fields"]}
    assert labels["email"] == ("E-mail", "for")
    assert labels["country"] == ("Country", "wrapping")
    assert labels["age"] == ("Your age", "aria-labelledby")
    assert labels["message"] == ("Message", "aria-label")
    assert labels["city"] == ("Your city", "placeholder")
    assert labels["by"] == ("Answer by", "group")


def test_choices_have_their_options_and_groups(read_page: ReadPage) -> None:
    form = form_of(read_page, CONTACT)
    assert field_of(form, "country")["options"] == [
        {"value": "de", "label": "Germany", "group": "EU", "selected": True},
        {"value": "France", "label": "France", "group": "EU"},
        {"value": "us", "label": "USA", "disabled": True},
    ]
    by = field_of(form, "by")
    assert (by["type"], by["required"]) == ("radio", True)
    assert [(one["value"], one["label"], one.get("selected", False)) for one in by["options"]] == [
        ("mail", "Mail", True),
        ("phone", "Telephone", False),
    ]
    assert field_of(form, "tags[]")["multiple"] is True
    assert field_of(form, "city")["suggestions"] == ["Rome", "Oslo"]


def test_buttons_have_the_values_they_change(read_page: ReadPage) -> None:
    send, draft = form_of(read_page, CONTACT)["buttons"]
    assert (send["label"], send["name"], send["value"]) == ("Send", "do", "send")
    assert (draft["action"], draft["method"], draft["enctype"]) == ("http://site.example/draft", "GET", "text/plain")
    assert (draft["target"], draft["novalidate"]) == ("_self", True)


def test_a_control_belongs_to_the_form_it_names(read_page: ReadPage) -> None:
    first, second = read_page(
        "<input form=b name=before><form id=a><input name=x><input form=b name=moved></form><form id=b><input name=y></form>"
        "<input name=nobodys><select form=a name=after></select><input form=zzz name=lost>"
    ).document["forms"]
    assert [one["name"] for one in first["fields"]] == ["x", "after"]
    assert [one["name"] for one in second["fields"]] == ["before", "moved", "y"]


def test_a_form_moved_out_of_a_table_keeps_its_controls(read_page: ReadPage) -> None:
    form = form_of(
        read_page,
        "<table><form action=/login method=post><tr><td><input name=user></td><td><input type=password name=pw></td></tr>"
        "<tr><td><input type=submit value='Log in'></td></tr></form></table><input name=elsewhere>",
    )
    assert [one["name"] for one in form["fields"]] == ["user", "pw"]
    assert form["kind"] == "login"


def test_csrf_tokens_are_never_stored(read_page: ReadPage) -> None:
    page = read_page(
        "<form><input type=hidden name=csrf_token value=short><input type=hidden name=lang value=en>"
        "<input type=hidden name=x value=8f3c2a1b9d8e7f6a5b4c3d2e1f0a9b8c>"
        "<input type=hidden name=__VIEWSTATE value=/wEPDwUKLTI2NjY5>"
        "<input type=password name=p value=hunter2secret><input name=q></form>"
    )
    fields = {one["name"]: one for one in page.document["forms"][0]["fields"]}
    assert fields["lang"]["value"] == "en"
    for name in ("csrf_token", "x", "__VIEWSTATE"):
        assert fields[name]["withheld"] is True
        assert "value" not in fields[name]
    assert "value" not in fields["p"]


def test_a_secret_in_a_form_is_redacted(read_page: ReadPage) -> None:
    key = "AKIA" + "Q4ZJ7M2XK9P3W6TB"
    page = read_page(f"<form><input name=note placeholder='&#65;KIA{key[4:]} here'></form>")
    assert key not in str(page.document["forms"])
    assert page.reading.redactions


def test_a_disabled_fieldset_disables_all_but_its_legend(read_page: ReadPage) -> None:
    form = form_of(
        read_page,
        "<form><fieldset disabled><legend><input name=free></legend><input name=off></fieldset><input name=on></form>",
    )
    assert [one.get("disabled", False) for one in form["fields"]] == [False, True, False]


PURPOSES = {
    "<form role=search><input name=foo></form>": "search",
    "<search><form action=/x><input name=foo></form></search>": "search",
    "<form action=/find method=get><input name=q><button>Go</button></form>": "search",
    "<form action='/suche'><input type=search name=begriff></form>": "search",
    "<form method=post action=/session><input name=u><input type=password autocomplete=current-password></form>": "login",
    "<form method=post id=loginForm><input name=email><button>Anmelden</button><input type=password name=p></form>": "login",
    "<form method=post action=/users><input name=name><input name=email type=email><input type=password name=p"
    " autocomplete=new-password><input type=password name=p2><button>Create account</button></form>": "register",
    "<form method=post><h2>Write to us</h2><input name=name><input type=email name=email>"
    "<textarea name=message></textarea></form>": "contact",
    "<form method=post action=/pay><input name=a autocomplete=cc-number><input autocomplete=cc-csc></form>": "checkout",
    "<form method=post action=/newsletter><input type=email name=email><button>Subscribe</button></form>": "newsletter",
    "<form class=filters><select name=sort><option>a</select><input type=checkbox name=new></form>": "filter",
    "<form method=post action=/comment id=commentform><textarea name=comment></textarea><input name=email></form>": "other",
    "<form method=post action=/vote><input type=hidden name=id value=3><button>+1</button></form>": "other",
}


@pytest.mark.parametrize(("html", "kind"), PURPOSES.items())
def test_forms_are_classified_by_their_purpose(read_page: ReadPage, html: str, kind: str) -> None:
    form = form_of(read_page, html)
    assert form["kind"] == kind, form["evidence"]
    assert bool(form["evidence"]) == (kind != "other")
    assert (form["confidence"] >= 0.4) == (kind != "other")


def test_selectors_avoid_ids_that_change_and_find_the_form_again(read_page: ReadPage) -> None:
    first, second, third = read_page(
        "<body><div><form id=':r1:' class=css-1x2y3z action=/a><input name=a></form>"
        "<form id=form-8f3c2a1b9d><input id=ember123 type=text></form><form data-testid=signup><input name=c></form></div>"
    ).document["forms"]
    assert first["selector"] == 'form[action="/a"]'
    assert second["selector"] == "body > div > form:nth-of-type(2)"
    assert second["fields"][0]["selector"] == "body > div > form:nth-of-type(2) > input"
    assert third["selector"] == '[data-testid="signup"]'
    assert third["fields"][0]["selector"] == '[data-testid="signup"] [name="c"]'


def test_a_form_without_an_action_is_sent_to_its_page(read_page: ReadPage) -> None:
    html = (
        "<base href='http://other.example/x/'><form><input name=a></form><form action='y' method=DIALOG><input name=b></form>"
    )
    first, second = read_page(html).document["forms"]
    assert (first["action"], first["method"]) == ("http://site.example/dir/page", "GET")
    assert (second["action"], second["method"]) == ("http://other.example/x/y", "DIALOG")


@pytest.mark.parametrize(
    "html",
    [
        "<form>" * 500 + "<input name=a>" * 3000,
        "<form><div></form>" * 400 + "<input>" * 500,
        "<form action='javascript:x()'><input name='" + "n" * 9000 + "' value='" + "v" * 9000 + "'></form>",
        "<form><select name=s>" + "<option>x" * 5000 + "</select></form>",
        "<label>" * 3000 + "<form><input>" + "</label>" * 3000,
        "<form action='http://[bad' id='a b\"c'><input form='' list=x aria-labelledby='q q' minlength=-1 maxlength=9e9></form>",
        "<template><form id=t><input name=x></form></template>",
        "<form><o:p><input name='a]\\'></o:p></form>",
        "<form><o:p id=x><q:r id=y data-action=z><input></o:p></form><svg><linearGradient id=g data-action=g /></svg>",
    ],
)
def test_odd_forms_are_read_within_bounds(read_page: ReadPage, html: str) -> None:
    forms = read_page(html).document["forms"]
    assert len(forms) <= 60
    assert all(len(form["fields"]) <= 250 for form in forms)
    assert all(len(str(form)) < 200_000 for form in forms)


def test_a_page_without_forms_has_none(read_page: ReadPage) -> None:
    assert read_page("<p>form</p><input name=a>").document["forms"] == []


def test_a_form_in_a_template_is_not_on_the_page(read_page: ReadPage) -> None:
    [form] = read_page("<template><div><form><input name=a></form></div></template><form><input name=b></form>").document[
        "forms"
    ]
    assert [one["name"] for one in form["fields"]] == ["b"]

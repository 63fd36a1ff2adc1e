"""The Action Manifest: one entry for an action on many pages, a version that is raised only by a change."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
from tests.unit.export.stored_run import StoredRun

from sitelore.export.action_manifest import (
    build_manifest,
    encode_manifest,
    encode_tools,
    entries_of,
    manifest_of,
    manifest_schema,
    read_manifest,
    tools_of,
)
from sitelore.extract import dom
from sitelore.extract.dom import Selectors
from sitelore.extract.links import find_links, resolver_for
from sitelore.extract.metadata import ANNOTATED, links_of
from sitelore.extract.page_objects.actions import marked_elements, read_actions
from sitelore.extract.page_objects.forms import read_forms
from sitelore.model.url import Url

HEADER = """<header><form role=search action=/search><input type=search name=q required placeholder="What?"></form>
<a href=/login>Sign in</a></header>"""
PRODUCT = """<form id=add method=post action=/cart><input type=hidden name=product value={0}>
<input type=hidden name=csrf value=a8{0}><input type=number name=count min=1 max=9 value=1 required>
<select name=size required><option value="">Choose<option>S<option>M</select>
<input type=checkbox name="extras[]" value=wrap><input type=checkbox name="extras[]" value=card>
<input name=code pattern="[A-Z]{{3}}" maxlength=3><button>Add to cart</button></form>
<button data-action=product.save data-product-id={0} data-list=wishes>Save</button>"""

Pages = list[tuple[str, dict[str, Any]]]


def actions_of(url: str, html: str) -> tuple[str, dict[str, Any]]:
    page, tree = Url(url), dom.parse(html)
    resolver, selectors = resolver_for(()).on_page(page), Selectors(tree)
    links = find_links(links_of(tree), page, resolver, nofollow=False)
    forms = read_forms(tree, page, resolver, selectors)
    actions = read_actions(tree, marked_elements(dom.select(tree, ANNOTATED)), links, resolver, selectors)
    return url, {"forms": json.loads(json.dumps(forms)), "actions": json.loads(json.dumps(actions))}


def shop(*numbers: int) -> Pages:
    return [actions_of(f"http://shop.example/p{number}", HEADER + PRODUCT.format(number)) for number in numbers]


def test_an_action_on_many_pages_is_one_entry() -> None:
    entries = {entry["id"]: entry for entry in entries_of(shop(1, 2, 3))}
    assert list(entries) == ["add", "search", "product_save", "account_sign_in", "cart_add"]
    assert entries["search"]["pages"] == 3
    assert entries["search"]["examples"] == [f"http://shop.example/p{number}" for number in (1, 2, 3)]
    add = entries["add"]
    assert (add["method"], add["url"], add["live"]) == ("POST", "http://shop.example/cart", ["csrf", "product"])
    assert entries["product_save"]["params"] == {"productId": None, "list": "wishes"}


def test_a_manifest_survives_encoding_and_decoding() -> None:
    manifest = manifest_of(entries_of(shop(1, 2)), "shop.example")
    jsonschema_rs.meta.validate(manifest_schema())
    jsonschema_rs.validate(manifest_schema(), manifest)
    again = read_manifest(encode_manifest(manifest))
    assert again == manifest
    jsonschema_rs.validate(manifest_schema(), again)
    assert not jsonschema_rs.is_valid(manifest_schema(), {**manifest, "version": 0})


def test_the_version_is_raised_only_when_actions_change() -> None:
    first = manifest_of(entries_of(shop(1, 2)), "shop.example")
    assert manifest_of(entries_of(shop(1, 2, 3)), "shop.example", first) is first
    changed = manifest_of(
        entries_of([*shop(1, 2), actions_of("http://shop.example/", "<form id=new><input name=x></form>")]),
        "shop.example",
        first,
    )
    assert (first["version"], changed["version"]) == (1, 2)
    assert manifest_of(entries_of(shop(1)), "other.example", first)["version"] == 1


def test_the_order_of_fields_in_a_file_depends_on_nothing_but_its_actions() -> None:
    assert encode_manifest(manifest_of(entries_of(shop(1, 2)), "s")) == encode_manifest(
        manifest_of(entries_of(shop(1, 2)), "s")
    )
    assert read_manifest(b"{") is None
    assert read_manifest(b'{"a": 1}') is None


def test_two_actions_of_one_name_get_distinct_stable_ids() -> None:
    pages = [actions_of("http://s.example/", "<form id=a role=search action=/x><input name=q></form>" + HEADER)]
    first, second = [entry["id"] for entry in entries_of(pages) if entry["kind"] == "form"]
    assert first != second
    assert all(one.startswith("search_") for one in (first, second))
    assert {first, second} <= {entry["id"] for entry in entries_of([*pages, *shop(1)])}


def test_tools_require_the_required_fields_of_the_form() -> None:
    tools = tools_of(manifest_of(entries_of(shop(1, 2)), "shop.example"))
    functions = {tool["function"]["name"]: tool["function"] for tool in tools["openai"]}
    assert list(functions) == ["add", "search", "product_save"]
    add = functions["add"]["parameters"]
    assert add["required"] == ["count", "size"]
    properties = add["properties"]
    assert properties["count"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert properties["size"]["enum"] == ["S", "M"]
    assert properties["extras"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["wrap", "card"]},
        "uniqueItems": True,
    }
    assert (properties["code"]["pattern"], properties["code"]["maxLength"]) == ("^(?:[A-Z]{3})$", 3)
    assert functions["search"]["parameters"]["required"] == ["q"]
    assert functions["product_save"]["parameters"]["required"] == ["productId"]


def test_both_formats_of_tools_are_valid_schemas_with_call_instructions() -> None:
    manifest = manifest_of(entries_of(shop(1, 2)), "shop.example")
    tools = json.loads(encode_tools(manifest))
    for tool in tools["mcp"]:
        jsonschema_rs.meta.validate(tool["inputSchema"])
    search, *_ = [tool for tool in tools["mcp"] if tool["name"] == "search"]
    assert search["annotations"]["readOnlyHint"] is True
    assert search["description"] == "Search shop.example."
    call = tools["calls"]["add"]
    assert (call["method"], call["url"], call["live"]) == ("POST", "http://shop.example/cart", ["csrf", "product"])
    assert call["names"] == {"extras": "extras[]"}
    assert tools["calls"]["product_save"]["params"] == {"list": "wishes"}
    assert jsonschema_rs.is_valid(tools["mcp"][0]["inputSchema"], {"count": 2, "size": "S"})
    assert not jsonschema_rs.is_valid(tools["mcp"][0]["inputSchema"], {"count": 10, "size": "S"})
    assert not jsonschema_rs.is_valid(tools["mcp"][0]["inputSchema"], {"count": 2, "size": ""})


def test_odd_limits_of_fields_make_no_broken_schema() -> None:
    html = (
        "<form id=odd method=post><input type=number name=a min=x max=1e400 step=any>"
        "<input type=range name=b step=0.5 min=0.25>"
        "<input name=c pattern='(' minlength=5 maxlength=2><input type=date name=d min=2024-01-01><input type=month name=e>"
        "<input name='&#20013;&#25991;'><input name='a[b]'><input name='a(b)'><input type=email multiple name=f></form>"
    )
    manifest = manifest_of(entries_of([actions_of("http://s.example/", html)]), "s.example")
    jsonschema_rs.validate(manifest_schema(), manifest)
    [tool] = tools_of(manifest)["mcp"]
    jsonschema_rs.meta.validate(tool["inputSchema"])
    properties = tool["inputSchema"]["properties"]
    assert properties["a"] == {"type": "number"}
    assert properties["b"] == {"type": "number", "minimum": 0.25}
    assert "pattern" not in properties["c"]
    assert properties["d"]["format"] == "date"
    assert {"field", "a_b", "a_b_1"} <= set(properties)
    assert properties["f"]["type"] == "array"


async def test_a_manifest_is_built_from_stored_pages(stored: StoredRun) -> None:
    for url, document in shop(1, 2):
        stored.page(url, **document)
    stored.page("http://shop.example/plain")
    manifest = await build_manifest(stored.rows, stored, "shop.example")
    assert manifest["actions"] == entries_of(shop(1, 2))

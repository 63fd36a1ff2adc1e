from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured
from sitelore.extract.structured.jsonld import Script, read_scripts

PAGE = "https://site.example/dir/page"


def parsed(source: str) -> Script:
    [script] = read_scripts([(source, dom.new_element("script"))])
    return script


def entities(*scripts: Any) -> list[dict[str, Any]]:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in scripts]
    source = "".join(f"<script type='application/ld+json'>{text}</script>" for text in texts)
    return list(read_structured(dom.parse(source), PAGE))


def only(*scripts: Any) -> dict[str, Any]:
    [result] = entities(*scripts)
    return result


def test_an_entity_has_its_type_and_source() -> None:
    result = only({"@context": "https://schema.org", "@type": "Thing", "@id": "#it", "name": "It"})
    assert result == {
        "types": ["Thing"],
        "id": f"{PAGE}#it",
        "properties": {"name": "It"},
        "source": "json-ld",
        "at": "html > head > script",
        "repaired": False,
    }


@pytest.mark.parametrize(
    "context",
    [
        "https://schema.org",
        "http://schema.org/",
        "http://www.schema.org",
        "schema.org",
        "//schema.org/",
        "https://schema.org/docs/jsonldcontext.jsonld",
        ["https://schema.org", "https://unknown.example/context"],
        {"@vocab": "http://schema.org/"},
        None,
    ],
)
def test_schema_org_is_recognised_under_all_its_urls(context: Any) -> None:
    result = only({"@context": context, "@type": "Person", "name": "Ann"})
    assert (result["types"], result["properties"]) == (["Person"], {"name": "Ann"})


@pytest.mark.parametrize("kind", ["Person", "http://schema.org/Person", "https://schema.org/Person/", "schema:Person"])
def test_a_type_is_shortened_in_every_notation(kind: str) -> None:
    assert only({"@context": "https://schema.org", "@type": kind, "name": "Ann"})["types"] == ["Person"]


def test_keywords_have_the_aliases_that_schema_org_gives_them() -> None:
    result = only({"@context": "https://schema.org", "type": "Person", "id": "/ann", "name": "Ann"})
    assert (result["types"], result["id"]) == (["Person"], "https://site.example/ann")


def test_prefixes_terms_and_vocabularies_are_followed() -> None:
    context = {
        "ex": "http://ex.example/v#",
        "label": "ex:label",
        "seen": {"@id": "ex:seen", "@type": "@id"},
        "kind": "@type",
        "dull": None,
        "later": "next:word",
        "next": "http://next.example/",
    }
    result = only(
        {
            "@context": ["https://schema.org", context],
            "kind": ["Thing", "ex:Odd"],
            "label": "L",
            "ex:own": 1,
            "foaf:nick": "N",
            "dull": "gone",
            "later": 2,
            "seen": "/there",
            "schema:name": "Name",
        }
    )
    assert result["types"] == ["Thing", "http://ex.example/v#Odd"]
    assert result["properties"] == {
        "http://ex.example/v#label": "L",
        "http://ex.example/v#own": 1,
        "http://xmlns.com/foaf/0.1/nick": "N",
        "http://next.example/word": 2,
        "http://ex.example/v#seen": {"id": "https://site.example/there"},
        "name": "Name",
    }


def test_another_vocabulary_keeps_its_address() -> None:
    result = only({"@context": {"@vocab": "http://v.example/"}, "@type": "Box", "name": "B"})
    assert (result["types"], result["properties"]) == (["http://v.example/Box"], {"http://v.example/name": "B"})


def test_contexts_hold_below_and_can_be_taken_back() -> None:
    inner = {"@context": [None, "https://schema.org"], "@type": "Person", "name": "Ann"}
    outer = {"@context": {"@vocab": "http://v.example/"}, "@type": "Box", "owner": inner, "plain": {"@type": "Box"}}
    properties = only(outer)["properties"]
    assert properties["http://v.example/owner"] == {"types": ["Person"], "properties": {"name": "Ann"}}
    assert properties["http://v.example/plain"]["types"] == ["http://v.example/Box"]


def test_terms_and_types_can_have_scoped_contexts() -> None:
    context = {
        "@vocab": "https://schema.org/",
        "Odd": {"@id": "http://o.example/Odd", "@context": {"size": "http://o.example/size"}},
        "author": {"@id": "https://schema.org/author", "@context": {"called": "https://schema.org/name"}},
    }
    result = only({"@context": context, "@type": "Odd", "size": 3, "author": {"called": "Ann"}})
    assert result["types"] == ["http://o.example/Odd"]
    assert result["properties"] == {"http://o.example/size": 3, "author": {"types": [], "properties": {"name": "Ann"}}}


def test_definitions_that_need_each_other_end() -> None:
    context = {"a": "b:x", "b": "a:y", "c": "c", **{f"p{n}": f"p{n + 1}:x" for n in range(400)}}
    assert only({"@context": context, "a": 1, "c": 2, "p0:z": 3})["properties"]


def test_values_lists_sets_and_languages() -> None:
    context = ["https://schema.org", {"label": {"@id": "http://l.example/l", "@container": "@language"}}]
    result = only(
        {
            "@context": context,
            "@type": "Thing",
            "name": {"@value": "Nom", "@language": "fr"},
            "size": {"@value": "5", "@type": "http://www.w3.org/2001/XMLSchema#integer"},
            "odd": {"@value": "5", "@type": "http://u.example/inch"},
            "track": {"@list": ["one"]},
            "award": {"@set": ["a", "b", ["c"], None]},
            "keywords": ["k"],
            "label": {"en": "Dog", "de": ["Hund", "Köter"]},
            "@index": "ignored",
        }
    )
    assert result["properties"] == {
        "name": {"value": "Nom", "language": "fr"},
        "size": "5",
        "odd": {"value": "5", "type": "http://u.example/inch"},
        "track": ["one"],
        "award": ["a", "b", "c"],
        "keywords": "k",
        "http://l.example/l": [
            {"value": "Dog", "language": "en"},
            {"value": "Hund", "language": "de"},
            {"value": "Köter", "language": "de"},
        ],
    }


def test_containers_by_id_and_type_are_opened() -> None:
    context = {
        "@vocab": "https://schema.org/",
        "post": {"@id": "https://schema.org/blogPost", "@container": "@id"},
        "part": {"@id": "https://schema.org/hasPart", "@container": "@type"},
        "any": {"@id": "https://schema.org/about", "@container": "@index"},
    }
    result = only(
        {
            "@context": context,
            "post": {"/1": {"name": "One"}},
            "part": {"Book": {"name": "B"}},
            "any": {"x": "first", "y": "second"},
        }
    )["properties"]
    assert result["blogPost"] == {"types": [], "id": "https://site.example/1", "properties": {"name": "One"}}
    assert result["hasPart"]["types"] == ["Book"]
    assert result["about"] == ["first", "second"]


def test_reverse_properties_are_kept_with_the_entity() -> None:
    context = ["https://schema.org", {"written": {"@reverse": "https://schema.org/author"}}]
    book, play = {"@type": "Book", "name": "B"}, {"@type": "Play", "name": "P"}
    result = only({"@context": context, "@type": "Person", "@reverse": {"author": book}, "written": play})
    assert [one["types"] for one in result["reverse"]["author"]] == [["Book"], ["Play"]]


def test_references_are_joined_over_all_scripts_of_a_page() -> None:
    graph = {
        "@context": "https://schema.org",
        "@graph": [
            {"@type": "Product", "@id": "#p", "name": "Pan", "offers": {"@id": "#o"}},
            {"@type": "Offer", "@id": "#o", "price": "5", "seller": {"@id": "#s"}},
        ],
    }
    seller = {"@context": "https://schema.org", "@type": "Organization", "@id": "#s", "name": "Shop", "owns": {"@id": "#p"}}
    product, offer, shop = entities(graph, seller)
    assert product["properties"]["offers"]["properties"]["seller"]["properties"]["name"] == "Shop"
    assert offer["properties"]["seller"]["properties"]["owns"]["properties"]["name"] == "Pan"
    assert shop["properties"]["owns"]["properties"]["offers"]["properties"]["seller"] == {"id": f"{PAGE}#s"}


def test_a_node_described_in_two_places_is_merged() -> None:
    site = {"@type": "WebSite", "@id": "#w", "name": "Site", "publisher": {"@id": "#o"}}
    again = {"@type": "WebSite", "@id": "#w", "url": "https://site.example/"}
    page = {"@type": "WebPage", "@id": "#w", "name": "Page"}
    result = entities({"@graph": [site, page]}, again)
    assert [one["types"] for one in result] == [["WebSite"], ["WebPage"]]
    assert result[0]["properties"]["url"] == "https://site.example/"


def test_references_in_a_circle_end() -> None:
    graph = [{"@type": "A", "@id": f"#{n}", "name": str(n), "to": [{"@id": f"#{m}"} for m in range(60)]} for n in range(60)]
    result = entities({"@graph": graph})
    assert len(result) == 60
    assert len(json.dumps(result)) < 2_000_000


def test_a_graph_within_a_node_is_read_too() -> None:
    result = entities({"@type": "Dataset", "name": "D", "@graph": [{"@type": "Person", "name": "Ann"}]})
    assert [one["types"] for one in result] == [["Dataset"], ["Person"]]


def test_addresses_are_absolute_dates_iso_and_members_short() -> None:
    result = only(
        {
            "@context": "https://schema.org",
            "@type": "Product",
            "image": ["/i.jpg", "http://cdn.example/j.jpg"],
            "url": "page2",
            "mainEntityOfPage": "True",
            "releaseDate": "May 6, 2024",
            "productionDate": "soon",
            "itemCondition": "http://schema.org/NewCondition",
            "availability": "in stock",
            "sameAs": "https://schema.org/Product",
        }
    )["properties"]
    assert result["image"] == ["https://site.example/i.jpg", "http://cdn.example/j.jpg"]
    assert result["url"] == "https://site.example/dir/page2"
    assert result["mainEntityOfPage"] == "True"
    assert (result["releaseDate"], result["productionDate"]) == ("2024-05-06", "soon")
    assert (result["itemCondition"], result["availability"]) == ("NewCondition", "InStock")
    assert result["sameAs"] == "https://schema.org/Product"


GOOD = '{"@type": "Thing", "name": "A b", "n": 1}'
BROKEN = {
    "a comment round it": f"<!-- {GOOD} -->",
    "cdata": f"//<![CDATA[\n{GOOD}\n//]]>",
    "cdata in a comment": f"/*<![CDATA[*/{GOOD}/*]]>*/",
    "a byte order mark": f"\ufeff{GOOD}",
    "a semicolon": f"{GOOD};",
    "trailing commas": '{"@type": "Thing", "name": "A b", "n": 1,}',
    "two commas": '{"@type": "Thing",, "name": "A b", "n": 1}',
    "no comma": '{"@type": "Thing"\n "name": "A b"\n "n": 1}',
    "line comments": '{"@type": "Thing", // what\n "name": "A b", /* so */ "n": 1}',
    "single quotes": "{'@type': 'Thing', 'name': 'A b', 'n': 1}",
    "smart quotes": "{\u201c@type\u201d: \u201cThing\u201d, \u201cname\u201d: \u201cA b\u201d, \u201cn\u201d: 1}",
    "names without quotes": '{"@type": "Thing", name: "A b", n: 1}',
    "half a pair of quotes": '{@type": "Thing", name": "A b", "n": 1}',
    "half a pair round a value": '{"@type": Thing", "name": "A b", "n": 1"}',
    "entities for quotes": GOOD.replace('"', "&quot;"),
    "never closed": '{"@type": "Thing", "name": "A b", "n": 1',
    "a list left open": '{"n": 1, "name": "A b", "@type": ["Thing"',
    "words of other languages": '{"@type": "Thing", "name": "A b", "n": 1, "x": undefined, "y": None, "z": NaN}',
    "no value": '{"@type": "Thing", "name": "A b", "n": 1, "x": , "y":}',
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_unambiguous_broken_json_is_repaired_and_marked(source: str) -> None:
    script = parsed(source)
    value = script.value
    assert script.repaired
    assert (value["name"], value["n"]) == ("A b", 1)
    assert value["@type"] in ("Thing", ["Thing"])


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"a": "one\ntwo\tthree"}', "one\ntwo\tthree"),
        ('{"a": "say "hi" twice", "b": 1}', 'say "hi" twice'),
        ('{"a": "it\\\'s",}', "it's"),
        ('{"a": "5\\" wide",}', '5" wide'),
        ('{"a": "\\ud83d\\ude00",}', "\U0001f600"),
        ('{"a": "half \\ud83d"}', "half \ufffd"),
        ('{"a": "path c:\\dir",}', "path c:dir"),
        ('{"a": 007}', 7),
        ('{"a": 2024-05-06}', "2024-05-06"),
        ('{"a": [1, 2}', [1, 2]),
    ],
)
def test_strings_and_numbers_survive_a_repair(text: str, meant: Any) -> None:
    assert parsed(text).value["a"] == meant
    assert parsed(text).repaired


def test_several_values_in_a_row_are_all_read() -> None:
    result = entities('{"@type": "A", "name": "a"}\n{"@type": "B", "name": "b"},[{"@type": "C", "name": "c"}]')
    assert [(one["types"], one["repaired"]) for one in result] == [(["A"], True), (["B"], True), (["C"], True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "hello",
        "{{ product.name }}",
        '{"a": ${value}}',
        '{"a": price}',
        '{"a": "never',
        '{"a" "b"}',
        "{1}",
        "null",
        "5",
    ],
)
def test_ambiguous_broken_json_is_not_read(text: str) -> None:
    assert entities(text) == []


def test_entities_in_texts_are_undone_and_that_is_recorded() -> None:
    result = only({"@type": "Thing", "name": "Tom &amp; Jerry&#8217;s", "description": "<p>1 &lt; 2</p>"})
    assert result["properties"] == {"name": "Tom & Jerry\u2019s", "description": "<p>1 &lt; 2</p>"}
    assert result["repaired"]


def test_other_scripts_are_not_read() -> None:
    source = f"<script>{GOOD}</script><script type=application/json>{GOOD}</script><script type=module>{GOOD}</script>"
    assert read_structured(dom.parse(source), PAGE) == ()
    for kind in ("application/ld+json; charset=utf-8", "APPLICATION/LD+JSON", "application/json+ld"):
        assert read_structured(dom.parse(f"<script type='{kind}'>{GOOD}</script>"), PAGE)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        '{"a":' * 50_000,
        '{"a":' * 600 + "1" + "}" * 600,
        '{"a":' * 90 + "1," + "}" * 90,
        '{"@context":' * 300 + "1" + "}" * 300,
        '{"a":"' + '"x' * 100_000,
        '{"a":"' + " \n" * 100_000,
        "/*" * 100_000,
        "{" + '"a":1 ' * 50_000,
        json.dumps([{"@id": f"#{n}", "n": {"@id": f"#{n + 1}"}} for n in range(5000)]),
        json.dumps({"@context": {str(n): f"{n + 1}:x" for n in range(5000)}, "@graph": [{"@context": {"a": "b"}}] * 5000}),
        json.dumps([{"@type": ["T"] * 10_000, "x" * 10_000: ["y"] * 50_000}]),
        json.dumps({"@type": {"a": 1}, "@id": ["x"], "@graph": 5, "@reverse": [1], "@context": 7, "a": {"@value": {"b": 1}}}),
        json.dumps({"a": {"@list": [{"@list": [[1]]}]}, "b": {"@set": {"@set": 1}}, "c": [[[[]]]], "": 1, "@": 2}),
        '{"a": 1e400, "b": 123456789012345678901234567890, "c": -1e-400}',
    ],
)
def test_no_script_raises(text: str) -> None:
    result = entities(text)
    assert len(result) <= 500
    assert json.dumps(result).encode()

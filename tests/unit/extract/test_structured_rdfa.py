from __future__ import annotations

import json
from typing import Any

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured

PAGE = "https://site.example/dir/page"


def entities(source: str) -> list[dict[str, Any]]:
    return [one for one in read_structured(dom.parse(source), PAGE) if one["source"] == "rdfa"]


def only(source: str) -> dict[str, Any]:
    [entity] = entities(source)
    return entity


def test_lite_markup_becomes_an_entity_with_entities_within() -> None:
    entity = only(
        "<div vocab=http://schema.org/ typeof=Person resource=#ann><span property=name> Ann\n Lee</span>"
        "<img property=image src=a.jpg><a property=url href=/ann>home</a>"
        "<div property=address typeof=PostalAddress><span property=addressLocality>Rome</span></div>"
        "<meta property=jobTitle content=Boss><time property=birthDate datetime=1990-01-02>1990</time></div>"
    )
    assert (entity["types"], entity["id"], entity["at"]) == (["Person"], f"{PAGE}#ann", "html > body > div")
    assert entity["properties"] == {
        "name": "Ann Lee",
        "image": "https://site.example/dir/a.jpg",
        "url": "https://site.example/ann",
        "address": {"types": ["PostalAddress"], "properties": {"addressLocality": "Rome"}},
        "jobTitle": "Boss",
        "birthDate": "1990-01-02",
    }


def test_prefixes_are_declared_inherited_or_predefined() -> None:
    entity = only(
        "<div prefix='ex: http://ex.example/# s: https://schema.org/' typeof='s:Book ex:Rare'>"
        "<p><b property='dc:title ex:label'>T</b><b property=s:name>N</b><b property=un:known>U</b></p></div>"
    )
    assert entity["types"] == ["Book", "http://ex.example/#Rare"]
    assert entity["properties"] == {
        "http://purl.org/dc/terms/title": "T",
        "http://ex.example/#label": "T",
        "name": "N",
        "un:known": "U",
    }
    old = only("<html xmlns:my='http://my.example/'><body><p typeof=my:Thing>x</p></body></html>")
    assert old["types"] == ["http://my.example/Thing"]


def test_rel_and_rev_connect_things() -> None:
    entity = only(
        "<div vocab=https://schema.org/ typeof=Book about=/book><a rel=author href=/ann>Ann</a>"
        "<div rel=publisher><div typeof=Organization><b property=name>Press</b></div></div>"
        "<div rel=translator><b property=name>Bo</b></div>"
        "<div rev=exampleOfWork resource=/copy></div></div>"
    )
    assert entity["id"] == "https://site.example/book"
    assert entity["properties"] == {
        "author": "https://site.example/ann",
        "publisher": {"types": ["Organization"], "properties": {"name": "Press"}},
        "translator": {"types": [], "properties": {"name": "Bo"}},
    }
    assert entity["reverse"] == {"exampleOfWork": "https://site.example/copy"}


def test_a_resource_described_in_two_places_is_one_entity() -> None:
    entity = only(
        "<div vocab=https://schema.org/><p typeof=Event><b property=name>E</b><i property=location resource=#hall></i></p>"
        "<p resource=#hall typeof=Place><b property=name>Hall</b></p></div>"
    )
    assert entity["properties"]["location"] == {"types": ["Place"], "id": f"{PAGE}#hall", "properties": {"name": "Hall"}}


def test_content_and_datatype_make_a_text_of_anything() -> None:
    entity = only(
        "<div vocab=https://schema.org/ typeof=Offer><a property=price content=5.00 href=/x>five</a>"
        "<a property=name datatype=xsd:string href=/y>Name</a><link property=availability href=https://schema.org/InStock></div>"
    )
    assert entity["properties"] == {"price": 5.0, "name": "Name", "availability": "InStock"}


def test_html_links_and_open_graph_are_not_rdfa() -> None:
    result = entities(
        "<html prefix='og: http://ogp.me/ns#'><head><meta property=og:title content=T><link rel=stylesheet href=/s>"
        "<meta property=article:tag content=t></head><body vocab=https://schema.org/><a rel='nofollow' href=/a>a</a>"
        "<a rel=next href=/b>b</a><p typeof=Thing><b property=name>N</b></p>"
    )
    assert [(one["types"], one["properties"]) for one in result] == [(["Thing"], {"name": "N"})]


def test_words_without_a_vocabulary_are_kept_within_a_type() -> None:
    entity = only("<div typeof=Person><b property=name>Ann</b></div><b property=name>none</b>")
    assert (entity["types"], entity["properties"]) == (["Person"], {"name": "Ann"})
    assert only("<div vocab='https://schema.org/'><p typeof=Thing vocab=''>x</p></div>")["types"] == ["Thing"]


def test_type_for_typeof_is_understood() -> None:
    entity = only("<div vocab=https://schema.org/ type='Book Product'><b property=name>B</b></div>")
    assert (entity["types"], entity["repaired"]) == (["Book", "Product"], True)


def test_things_in_a_circle_end() -> None:
    result = entities(
        "<div vocab=https://schema.org/><p typeof=A resource=#a><i property=to resource=#b></i></p>"
        "<p typeof=B resource=#b><i property=to resource=#a></i></p></div>"
    )
    assert {kind for one in result for kind in one["types"]} | {result[0]["properties"]["to"]["types"][0]} == {"A", "B"}
    assert result[0]["properties"]["to"]["properties"]["to"] == {"id": f"{PAGE}#a"}


def test_depth_width_and_repetition_are_bounded() -> None:
    deep = "<div vocab=https://schema.org/>" + "<div property=d typeof=D>" * 3000
    wide = "<div vocab=https://schema.org/>" + "<p typeof=W><b property=n>x</b></p>" * 20_000
    texts = "<div vocab=https://schema.org/ typeof=T>" + "<p property=x>word" * 3000
    knot = "<div vocab=https://schema.org/>" + "".join(
        f"<p typeof=K resource=#{n}>" + "".join(f"<i property=to resource=#{m}></i>" for m in range(60)) + "</p>"
        for n in range(60)
    )
    buried = "<div>" * 300 + "<b typeof=T><i property=name>deep</i>" * 50
    for source in (deep, wide, texts, knot, buried):
        result = entities(source)
        assert result
        assert len(result) <= 500
        assert len(json.dumps(result)) < 5_000_000

"""The language of pages that do not declare one."""
# ruff: noqa: RUF001 sentences in many scripts

from __future__ import annotations

import pytest

from sitelore.extract.text import detect_language

from .conftest import ReadPage

TEXTS = {
    "en": "The mill stands where the river bends, and its wheel has not turned since the flood of that year.",
    "de": "Die Mühle steht dort, wo der Fluss eine Biegung macht, und ihr Rad hat sich seit dem Hochwasser nicht mehr gedreht.",
    "fr": "Le moulin se trouve là où la rivière fait un coude, et sa roue n'a pas tourné depuis la crue de cette année-là.",
    "es": "El molino está donde el río hace una curva, y su rueda no ha girado desde la inundación de aquel año.",
    "it": "Il mulino si trova dove il fiume fa una curva, e la sua ruota non gira più dall'alluvione di quell'anno.",
    "pt": "O moinho fica onde o rio faz uma curva, e a sua roda não girou mais desde a enchente daquele ano.",
    "nl": "De molen staat waar de rivier een bocht maakt, en het rad heeft sinds de overstroming niet meer gedraaid.",
    "pl": "Młyn stoi tam, gdzie rzeka zakręca, a jego koło nie obracało się od powodzi, która przyszła tamtego roku.",
    "sv": "Kvarnen står där floden svänger, och dess hjul har inte snurrat sedan översvämningen det året.",
    "tr": "Değirmen nehrin kıvrıldığı yerde duruyor ve çarkı o yılki selden beri hiç dönmedi.",
    "ru": "Мельница стоит там, где река делает поворот, и её колесо не вращалось со времён наводнения того года.",
    "ar": "تقف الطاحونة حيث ينحني النهر، ولم تدر عجلتها منذ فيضان ذلك العام الذي يتذكره الجميع.",
    "ko": "방앗간은 강이 굽이치는 곳에 서 있으며, 그해 홍수 이후로 물레방아는 한 번도 돌지 않았다고 사람들은 말한다.",
    "ja": "水車小屋は川が曲がるところに立っていて、その年の洪水から水車は一度も回っていない。",
    "zh": "磨坊坐落在河流拐弯的地方，自从那年发洪水以后，水车就再也没有转动过。",
    "th": "โรงสีตั้งอยู่ตรงที่แม่น้ำโค้ง และกังหันน้ำไม่ได้หมุนเลยตั้งแต่น้ำท่วมในปีนั้น",
}  # fmt: skip


@pytest.mark.parametrize("lang", TEXTS)
def test_the_language_of_a_sentence_is_detected(lang: str) -> None:
    assert detect_language(TEXTS[lang]) == lang


@pytest.mark.parametrize("text", ["", "Home", "漢字", "12345 67890 " * 20, "x = y + z; " * 3, "Foo Bar Baz"])
def test_a_text_that_is_too_short_has_no_language(text: str) -> None:
    assert detect_language(text) == ""


def test_chinese_with_latin_names_is_chinese() -> None:
    assert detect_language("我们使用 Python 和 PostgreSQL 编写程序, 然后用 Docker 部署到服务器上。") == "zh"


def test_a_page_that_declares_no_language_gets_that_of_its_text(read_page: ReadPage) -> None:
    document = read_page(f"<main><h1>Mühle</h1><p>{TEXTS['de']}</p></main>").document
    assert (document["lang"], document["lang_source"]) == ("de", "detected")


def test_a_declared_language_takes_precedence_over_the_text(read_page: ReadPage) -> None:
    document = read_page(f"<html lang=fr-CA><main><p>{TEXTS['de']}</p></main>").document
    assert (document["lang"], document["lang_source"]) == ("fr-CA", "page")


def test_an_invalid_language_tag_is_ignored(read_page: ReadPage) -> None:
    document = read_page(f"<html lang='{{{{locale}}}}'><main><p>{TEXTS['es']}</p></main>").document
    assert (document["lang"], document["lang_source"]) == ("es", "detected")


def test_a_page_without_text_has_no_language(read_page: ReadPage) -> None:
    document = read_page("<main><p>Home</p></main>").document
    assert (document["lang"], document["lang_source"]) == ("", "")

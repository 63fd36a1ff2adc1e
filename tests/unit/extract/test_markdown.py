import pytest

from sitelore.extract.text import escape_markdown, remove_invisible, sanitise_markdown

from .conftest import ReadPage


def test_the_constructs_of_a_page_become_markdown(read_page: ReadPage) -> None:
    page = read_page(
        "<main><h1>Head</h1><h2>Sub</h2><p>One <b>bold</b> and <em>lean</em>,<br>two</p><ul><li>a<ul><li>b</ul><li>c</ul>"
        "<p>then</p><ol><li>x<li>y</ol><table><tr><th>k<th>v<tr><td>a|b<td>2</table>"
        "<pre><code class=language-py>def f():\n\n\n    return '&lt;b&gt;'</code></pre><blockquote>quote</blockquote>"
        "<p><code>x*y</code> <a href='/x y(1)#s'>link</a> <img src=/i.png alt='pic'></p>"
    )
    assert page.markdown == (
        "# Head\n\n## Sub\n\nOne **bold** and *lean*,  \ntwo\n\n- a\n  - b\n- c\n\nthen\n\n1. x\n2. y\n\n"
        "| k | v |\n| --- | --- |\n| a\\|b | 2 |\n\n```python\ndef f():\n\n\n    return '<b>'\n```\n\n> quote\n\n"
        "`x*y` [link](http://site.example/x%20y%281%29#s) ![pic](http://site.example/i.png)"
    )


def test_text_like_markdown_syntax_is_escaped(read_page: ReadPage) -> None:
    page = read_page(
        "<title>&lt;img src=x onerror=alert(69)&gt;</title>"
        "<meta name=description content='&lt;script&gt;alert(69)&lt;/script&gt;'>"
        "<main><h1>&lt;img src=x onerror=alert(69)&gt;</h1><p>xss-sentinel &lt;script&gt;alert(69)&lt;/script&gt; "
        '[x](javascript:alert(69)) ![a](x"onerror="alert(69))</p><img alt="&quot;&gt;&lt;svg onload=alert(69)&gt;" src=i.png>'
        "<table><tr><td>k<td><ul><li>&lt;img onerror=x&gt;<a href='javascript:x'>j</a></ul></table>"
        "<p># no heading<p>1. no list<p>- no list"
    )
    assert page.reading.title == "<img src=x onerror=alert(69)>"
    assert "xss-sentinel" in page.markdown
    unescaped = page.markdown.replace("\\<", "").replace("\\[", "").replace("\\]", "")
    assert "<" not in unescaped
    assert "](" not in unescaped.replace("](http://site.example/dir/i.png)", "")
    for line in ("\\# no heading", "1\\. no list", "\\- no list"):
        assert line in page.markdown


def test_invisible_characters_are_dropped(read_page: ReadPage) -> None:
    page = read_page(
        "<title>a\u200bb\u202e</title><p>so\u00adft \U000e0049\U000e0047nul\x01l \u2066x\u2069 e\ufeffnd</p>"
        "<p>\u200b\U000e0049</p>"
    )
    assert (page.reading.title, page.text, page.markdown) == ("ab", "ab\nsoft null x end", "# ab\n\nsoft null x end")


def test_joiners_stay_where_they_shape_a_script() -> None:
    persian, emoji = "\u0645\u06cc\u200c\u062e\u0648\u0627", "\U0001f469\u200d\U0001f4bb"
    assert remove_invisible(f"{persian} {emoji} pass\u200dword \u200c") == f"{persian} {emoji} password "


def test_cells_after_one_that_is_too_long_to_be_repeated_are_kept(read_page: ReadPage) -> None:
    rows = "".join(f"<tr><td>row{number}" for number in range(9))
    page = read_page(f"<main><table><tr><th>a<th>b<tr><td>first<td rowspan=10>{'long ' * 3000}{rows}</table>")
    assert [f"row{number}" in page.markdown for number in range(9)] == [True] * 9


def test_images_without_an_address_go_and_lazy_ones_get_theirs(read_page: ReadPage) -> None:
    page = read_page(
        "<main><p>t</p><img alt=none><img src='data:image/gif;base64,R0' data-src=/real.png alt=lazy>"
        "<img src='javascript:x' alt=js>"
    )
    assert page.markdown == "t\n\n![lazy](http://site.example/real.png)"


def test_plain_text_is_escaped_and_keeps_its_lines(read_page: ReadPage) -> None:
    page = read_page("# one\r\n1. <b>two</b> [x](javascript:y)\r\n        deep\r\n", "text/plain; charset=utf-8")
    assert page.markdown == "\\# one\n1\\. \\<b>two\\</b> \\[x\\](javascript:y)\n   deep"
    assert page.text == "# one\n1. <b>two</b> [x](javascript:y)\n        deep"
    assert page.document["strategy"] == "text"


def test_markdown_is_kept_but_cannot_run_anything(read_page: ReadPage) -> None:
    source = "# My *title* #\n\n<script>x</script> [a](javascript:alert(1)) `<b>`\n\n```\n<i>\n```\n<https://a.example>"
    page = read_page(source, "text/markdown")
    assert page.reading.title == "My title"
    assert page.markdown == source.replace("<script>x</script>", "\\<script>x\\</script>").replace("javascript:alert(1)", "#")


@pytest.mark.parametrize("line", ["# " + "# " * 30_000 + "x", "](" + " " * 60_000, "`" * 60_000, "[" * 60_000, "<" * 60_000])
def test_no_line_takes_the_text_rules_long(line: str) -> None:
    assert sanitise_markdown(line)
    assert escape_markdown(line)

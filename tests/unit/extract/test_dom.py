"""The functions of the DOM module."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitelore.extract import dom

_ODD = (
    "<div><template shadowrootmode=open><p>x</p></template>y</div>",
    "<noscript><p>a</p></noscript>",
    "a\r\nb\rc<pre>\r\nx</pre><textarea>\n\nx</textarea>",
    "<frameset><frame></frameset>",
    "<plaintext>a<b>",
    "x\0y<script>\0</script>",
    "<p>&not;in; &notin; &#13; &#x80; &am",
    "<meta charset=latin1><p>é",
    "<svg><foreignObject><p>x<![CDATA[x]]>",
    "<table><tr>x<td>y",
    '<a href="x&copy=1" title="&lt',
    "<script><!--<script></script>--></script>x",
    "<select><option>a<div>b",
    "😀<p class=😀>😀</",
    "<!-",
)
_PIECES = st.lists(st.sampled_from([*_ODD, "<p>", "</p>", "é", "\r", "\n", "&", "<b>", "text "]), max_size=12).map("".join)


def written(source: str | bytes) -> str:
    return dom.parse(source).serialize()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("html", _ODD)
def test_a_page_in_pieces_has_the_tree_of_the_whole(html: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dom, "_PIECE_BYTES", size)
    assert written(html.encode()) == written(html)


@given(_PIECES, st.integers(1, 40))
def test_any_page_in_pieces_has_the_tree_of_the_whole(html: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dom, "_PIECE_BYTES", size)
        assert written(html.encode()) == written(html)

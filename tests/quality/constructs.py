"""HTML constructs that Markdown must keep: a piece of HTML, and the HTML that its Markdown must render back to.

`html` is what a page holds; `back` is what markdown-it (CommonMark, tables, strikethrough, no raw HTML) makes of the Markdown,
white space between tags aside. `holds` and `lacks` look at the Markdown itself, for what CommonMark has no element for.
"""

from __future__ import annotations

from dataclasses import dataclass

_IMG = '<img src="http://site.example/dir/i.png" alt="a">'


@dataclass(frozen=True, slots=True)
class Construct:
    """One piece of HTML and the expected result."""

    name: str
    html: str
    back: str | None = None
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def _table(*rows: tuple[str, ...]) -> str:
    head, *body = rows
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{cells}</tr></thead>" + (f"<tbody>{lines}</tbody>" if body else "") + "</table>"


def _code(text: str, language: str = "") -> str:
    named = f' class="language-{language}"' if language else ""
    return f"<pre><code{named}>{text}</code></pre>"


CODE = (
    Construct(
        "code_of_mdbook_with_lines_that_a_button_shows",
        '<pre><code class="language-rust"><span class="boring">fn main() {\n</span>let t = s;\n'
        '<span class="boring">}</span></code></pre>',
        _code("fn main() {\nlet t = s;\n}\n", "rust"),
    ),
    Construct(
        "code_of_scribble_in_nested_tables",
        '<table class="RktBlk"><tr><td><table class="RktBlk"><tr><td>&gt; (f</td></tr><tr><td>&#160;&#160;x)</td></tr></table>'
        "</td></tr><tr><td><p>42</p></td></tr></table>",
        _code("&gt; (f\n  x)\n42\n"),
    ),
    Construct(
        "code_of_a_notebook_without_the_numbers_of_its_cells",
        '<div class="prompt highlight-none"><pre>[12]:\n</pre></div><div class="input_area"><pre>x = 1\n</pre></div>'
        '<div class="jp-OutputPrompt">Out[ ]:</div><div class="output_area"><pre>1</pre></div>',
        _code("x = 1\n") + _code("1\n"),
    ),
    Construct(
        "code_without_the_link_that_runs_it",
        '<div><pre>x = 1</pre><a class="test-arrow" href="/play?code=x">Run</a></div><p><a href="/b">Run</a> it again.</p>',
        _code("x = 1\n") + '<p><a href="http://site.example/b">Run</a> it again.</p>',
    ),
    Construct(
        "details_whose_label_only_opens_them",
        "<details open><summary>Expand description</summary><p>A growing list.</p></details>"
        "<details><summary>Show more stones</summary><p>Granite.</p></details>",
        "<p>A growing list.</p><p><strong>Show more stones</strong></p><p>Granite.</p>",
    ),
    Construct(
        "heading_with_signs_that_scripts_handle",
        '<h2>Mill <a href="javascript:void(0)">[\u2212]</a>'
        '<a href="../x.html#m" title="Permalink"><img src="l.png" alt="Link"></a></h2><p>x</p>',
        "<h2>Mill</h2><p>x</p>",
    ),
    Construct(
        "heading_of_names_with_separators_of_a_style",
        '<h1><a href="/g">Gtk</a><span class="sep"></span><a href="/s">Style</a><span class="sep"></span>set</h1><p>x</p>',
        '<h1><a href="http://site.example/g">Gtk</a> <a href="http://site.example/s">Style</a> set</h1><p>x</p>',
    ),
    Construct("code_of_a_session_that_may_be_haskell", "<pre>&gt;&gt;&gt; 1\n1</pre>", _code("&gt;&gt;&gt; 1\n1\n")),
    Construct(
        "code_of_a_python_session",
        "<div class='highlight-default'><pre>&gt;&gt;&gt; 1 + 1\n2</pre></div>",
        _code("&gt;&gt;&gt; 1 + 1\n2\n", "pycon"),
    ),
    Construct(
        "code_inline_of_linked_names",
        "<p><code><a href=/a>a</a>, <a href=/b>b</a></code></p>",
        '<p><a href="http://site.example/a"><code>a</code></a>, <a href="http://site.example/b"><code>b</code></a></p>',
    ),
    Construct(
        "code_of_a_doxygen_signature",
        '<div class="memproto"><table class="memname"><tr><td class="memname">#define GET_STATE</td><td>(</td>'
        '<td class="paramtype">&#160;</td><td class="paramname">x, </td></tr><tr><td class="paramkey"></td><td></td>'
        '<td class="paramtype">&#160;</td><td class="paramname">y&#160;</td></tr><tr><td></td><td>)</td><td></td><td></td></tr>'
        "</table></div>",
        _code("#define GET_STATE(x, y)\n"),
    ),
    Construct(
        "code_keeps_tabs_blank_lines_and_trailing_spaces",
        "<pre><code>if x:\n\treturn  \n\n\n    y &lt; 2 &amp;&amp; z\n</code></pre>",
        _code("if x:\n\treturn  \n\n\n    y &lt; 2 &amp;&amp; z\n"),
    ),
    Construct("code_that_holds_a_fence", "<pre>```\ninner\n```\n~~~</pre>", _code("```\ninner\n```\n~~~\n")),
    Construct("code_language_of_its_class", '<pre><code class="hljs language-rust">fn</code></pre>', _code("fn\n", "rust")),
    Construct("code_language_on_the_pre", '<pre class="lang-c++"><code>int</code></pre>', _code("int\n", "c++")),
    Construct(
        "code_language_on_the_container",
        '<div class="highlight highlight-source-shell"><pre>ls</pre></div>',
        _code("ls\n", "shell"),
    ),
    Construct("code_language_of_a_brush", '<pre class="brush: java; gutter: true">int a;</pre>', _code("int a;\n", "java")),
    Construct("code_language_of_an_attribute", "<pre><code data-lang=go>x</code></pre>", _code("x\n", "go")),
    Construct(
        "code_language_of_sphinx",
        '<div class="highlight-python notranslate"><div class=highlight><pre>a</pre></div></div>',
        _code("a\n", "python"),
    ),
    Construct(
        "code_of_one_span_a_line",
        "<pre><code><span class=line>a</span>\n<span class=line>  b</span></code></pre>",
        _code("a\n  b\n"),
    ),
    Construct(
        "code_of_block_lines",
        "<pre><code><div class=token-line>a</div><div class=token-line>b</div></code></pre>",
        _code("a\nb\n"),
    ),
    Construct("code_with_breaks", "<pre>a<br>  b<br/>c</pre>", _code("a\n  b\nc\n")),
    Construct(
        "code_with_a_gutter",
        '<pre><code><span class="lineno">1</span>a\n<span class="lineno">2</span>b\n</code></pre>',
        _code("a\nb\n"),
    ),
    Construct(
        "code_in_a_table_with_a_gutter_and_a_title",
        '<div><table class="highlighttable"><tr><th colspan="2" class="filename"><span>a.py</span></th></tr><tr>'
        '<td class="linenos"><pre>1\n2</pre></td><td class="code"><pre>x = 1\ny = 2\n</pre></td></tr></table></div>',
        "<p>a.py</p>" + _code("x = 1\ny = 2\n"),
    ),
    Construct(
        "code_without_the_name_of_its_language_above_it",
        '<div class="language-js"><button></button><span class="lang">js</span><pre><code>x = 1\n</code></pre></div>'
        '<div class="header"><span class="language-name">css</span></div><pre class="brush: css">a {}</pre><p>In js.</p>',
        _code("x = 1\n", "javascript") + _code("a {}\n", "css") + "<p>In js.</p>",
    ),
    Construct(
        "tabs_that_radio_buttons_choose_have_their_labels_in_their_panels",
        '<div class="tabbed-set"><input type="radio" id="a" checked><input type="radio" id="b"><div class="tabbed-labels">'
        '<label for="a">Linux</label><label for="b">Windows</label></div><div class="tabbed-content"><div><p>Run it.</p></div>'
        "<div><pre>run.exe</pre></div></div></div>",
        "<p><strong>Linux</strong></p><p>Run it.</p><p><strong>Windows</strong></p>" + _code("run.exe\n"),
    ),
    Construct(
        "tabs_of_prose_have_their_labels_in_their_panels",
        '<ul role="tablist"><li role="tab" id="a">Miller</li><li role="tab" id="b">Weaver</li></ul>'
        '<div role="tabpanel" aria-labelledby="a"><p>Open the sluice.</p></div>'
        '<div role="tabpanel" aria-labelledby="b"><p>Weaver: string the warp.</p></div>',
        holds=("**Miller**\n\nOpen the sluice.",),
        lacks=("**Weaver**",),
    ),
    Construct(
        "code_in_a_table_with_a_gutter",
        '<figure class="highlight python"><table><tr><td class=gutter><pre><span class=line>1</span><br>'
        "<span class=line>2</span></pre></td>"
        '<td class=code><pre class="language-python"><span class=line>a = 1</span><br><span class=line>  b</span>'
        "</pre></td></tr></table></figure>",
        _code("a = 1\n  b\n", "python"),
    ),
    Construct(
        "code_in_a_table_of_lines",
        '<table class="highlight"><tr><td class="blob-num" data-line-number="1"></td><td class="blob-code">def f():</td></tr>'
        '<tr><td class="blob-num" data-line-number="2"></td><td class="blob-code">    return</td></tr></table>',
        _code("def f():\n    return\n"),
    ),
    Construct(
        "code_of_lines_shown_as_blocks",
        '<pre><code><span style="display:block">a</span><span style="display:block"> b</span></code></pre>',
        _code("a\n b\n"),
    ),
    Construct("code_of_a_numbered_list", "<pre class=prettyprint><ol><li>a</li><li>  b</li></ol></pre>", _code("a\n  b\n")),
    Construct("code_language_that_is_the_class", '<pre><code class="python hljs">x</code></pre>', _code("x\n", "python")),
    Construct(
        "code_of_doxygen",
        '<div class="fragment"><div class="line"><span class="lineno">    1</span>int a;</div>'
        '<div class="line"><a name="l2"></a>  <span class="keyword">return</span> a &lt; 2;</div></div>',
        _code("int a;\n  return a &lt; 2;\n"),
    ),
    Construct("code_language_is_not_the_human_one", "<pre lang=en><code>x</code></pre>", _code("x\n")),
    Construct("code_with_no_break_spaces", "<pre>a&nbsp;&nbsp;b</pre>", _code("a  b\n")),
    Construct(
        "code_inline_with_no_break_spaces",
        "<p>a <code><span>'</span>&#160; <span>'</span></code> or <code><span>'&#160;</span> <span>'</span></code>, "
        "<tt>5&nbsp;&nbsp;&nbsp;x</tt> <tt>&nbsp;y&nbsp;</tt> z <code>&nbsp;</code> end</p>",
        holds=("a `'  '` or `'  '`, `5   x` `y` z end",),
    ),
    Construct(
        "code_with_breaks_and_line_ends",
        "<blockquote><tt>$&nbsp;<b>run</b><br>\n0&nbsp;&nbsp;Halt<br>\n<br>\n1</tt></blockquote><pre>a<br>\nb</pre>",
        f"<blockquote>{_code('$ run' + chr(10) + '0  Halt' + chr(10) * 2 + '1' + chr(10))}</blockquote>" + _code("a\n\nb\n"),
    ),
    Construct(
        "code_of_doxygen_with_tooltips_and_folds",
        '<div class="fragment"><div class="line"><a id="l1"></a><span class="lineno">    1</span>int a;</div>'
        '<div class="foldopen" id="f2"><div class="line"><span class="lineno">    2</span>  b {</div>'
        '<div class="line"><span class="lineno">    3</span>  }</div></div>'
        '<div class="ttc" id="a1"><div class="ttname"><a href="a.html">Name</a></div><div class="ttdoc">Tip.</div></div></div>',
        _code("int a;\n  b {\n  }\n"),
    ),
    Construct(
        "code_of_gtk_doc",
        '<table class="listing_frame"><tbody><tr><td class="listing_lines" align="right"><pre>1\n2</pre></td>'
        '<td class="listing_code"><pre class="programlisting">foo (a,\n     b);</pre></td></tr></tbody></table>',
        _code("foo (a,\n     b);\n"),
    ),
    Construct("code_in_code_next_to_each_other", "<p><code>a</code><code>b</code></p>", "<p><code>ab</code></p>"),
    Construct("code_inline_with_backticks", "<p>x <code>a`b``c</code> y</p>", "<p>x <code>a`b``c</code> y</p>"),
    Construct(
        "code_inline_with_markup", "<p><code>*a* &lt;b&gt; [x](y)</code></p>", "<p><code>*a* &lt;b&gt; [x](y)</code></p>"
    ),
    Construct(
        "code_inline_linked",
        "<p><code><a href=/f>f()</a></code></p>",
        '<p><a href="http://site.example/f"><code>f()</code></a></p>',
    ),
    Construct("code_kbd_and_samp", "<p><kbd>Ctrl</kbd> <tt>t</tt></p>", "<p><code>Ctrl</code> <code>t</code></p>"),
    Construct(
        "code_inline_of_several_parts",
        "<p><code><span>0</span> <span>&lt;=</span> x</code></p>",
        "<p><code>0 &lt;= x</code></p>",
    ),
    Construct(
        "code_inline_with_a_link_in_it",
        "<p><code>List&lt;<a href=/s>S</a>&gt;</code></p>",
        '<p><code>List&lt;</code><a href="http://site.example/s"><code>S</code></a><code>&gt;</code></p>',
    ),
    Construct("code_inline_with_spaces_at_its_ends", "<p>a<code> b </code>c</p>", "<p>a <code>b</code> c</p>"),
    Construct(
        "code_language_by_its_usual_name",
        '<pre class="language-python3">a</pre><pre class="lang-js">b</pre>',
        _code("a\n", "python") + _code("b\n", "javascript"),
    ),
    Construct(
        "code_language_that_is_none",
        '<div class="highlight-default"><pre>a</pre></div><pre class="language-text">b</pre>',
        _code("a\n") + _code("b\n"),
    ),
    Construct(
        "code_with_a_caption",
        '<div class="literal-block-wrapper"><div class="code-block-caption"><span class="caption-text">Cap</span>'
        '<a class="headerlink" href="#id1">¶</a></div><div class="highlight-c"><pre>a</pre></div></div>'
        "<figure><pre>b</pre><figcaption>Cap 2</figcaption></figure>",
        f"<p>Cap</p>{_code('a' + chr(10), 'c')}{_code('b' + chr(10))}<p>Cap 2</p>",
    ),
    Construct("code_inline_that_is_a_listing", "<div><code>a = 1<br>b = 2</code></div>", _code("a = 1\nb = 2\n")),
)

TABLES = (
    Construct(
        "table_with_breaks_among_spaces",
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>one <br> two</td></tr></table>",
        holds=("| a | one two |",),
    ),
    Construct(
        "table_of_javadoc",
        '<div class="summary-table three-column-summary"><div class="table-header col-first">Type</div>'
        '<div class="table-header col-second">Method</div><div class="table-header col-last">Text</div>'
        '<div class="col-first even-row-color"><code>void</code></div>'
        '<div class="col-second even-row-color"><code>f()</code></div>'
        '<div class="col-last even-row-color"><div class="block">One.</div></div>'
        '<div class="col-constructor-name odd-row-color"><code>int</code></div>'
        '<div class="col-second odd-row-color"><code>g()</code></div>'
        '<div class="col-last odd-row-color">&nbsp;</div></div>',
        _table(
            ("Type", "Method", "Text"),
            ("<code>void</code>", "<code>f()</code>", "One."),
            ("<code>int</code>", "<code>g()</code>", ""),
        ),
    ),
    Construct(
        "table_with_an_empty_column",
        "<table><tr><th>a</th><th></th><th>b</th></tr><tr><td>1</td><td> </td><td>2</td></tr></table>",
        _table(("a", "b"), ("1", "2")),
    ),
    Construct(
        "table_with_icons",
        "<table><tr><th>Plan</th><th>A</th><th>B</th></tr>"
        '<tr><td>Mail</td><td><i class="fa fa-check"></i></td><td><i class="fas fa-times"></i></td></tr>'
        '<tr><td>Chat</td><td><svg><title>Yes</title></svg></td><td><span role=img aria-label="not included"></span></td></tr>'
        '<tr><td>Call</td><td><i class="fa fa-check"></i> soon</td><td></td></tr></table>',
        _table(("Plan", "A", "B"), ("Mail", "✓", "✗"), ("Chat", "Yes", "not included"), ("Call", "soon", "")),
    ),
    Construct(
        "table_with_a_break_in_code",
        "<table><tr><th>Type</th><th>Method</th></tr>"
        "<tr><td><code>&lt;T extends A&gt;<br>T</code></td><td>html</td></tr></table>",
        _table(("Type", "Method"), ("<code>&lt;T extends A&gt; T</code>", "html")),
    ),
    Construct("table_plain", "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2</table>", _table(("a", "b"), ("1", "2"))),
    Construct("table_without_head", "<table><tr><td>a<td>b<tr><td>1<td>2</table>", _table(("a", "b"), ("1", "2"))),
    Construct(
        "table_with_pipes",
        "<table><tr><th>a|b<th><code>x|y</code><tr><td>\\|<td>2</table>",
        _table(("a|b", "<code>x|y</code>"), ("\\|", "2")),
    ),
    Construct("table_with_colspan", "<table><tr><th colspan=2>h<tr><td>1<td>2</table>", _table(("h", "h"), ("1", "2"))),
    Construct(
        "table_with_rowspan_beyond_its_group",
        "<table><tr><th>a<th>b<tbody><tr><td rowspan=9>x<td>1<tr><td>2<tbody><tr><td>y<td>3</table>",
        _table(("a", "b"), ("x", "1"), ("x", "2"), ("y", "3")),
    ),
    Construct(
        "table_with_rowspan",
        "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>x<td>1<td>2<tr><td colspan=2>3</table>",
        _table(("a", "b", "c"), ("x", "1", "2"), ("x", "3", "3")),
    ),
    Construct(
        "table_with_two_head_rows",
        "<table><thead><tr><th rowspan=2>A<th colspan=2>B<tr><th>b<th>c<tbody><tr><td>1<td>2<td>3</table>",
        _table(("A", "B", "B"), ("A", "b", "c"), ("1", "2", "3")),
    ),
    Construct("table_with_heads_in_rows", "<table><tr><th>r<td>1<tr><th>s<td>2</table>", _table(("r", "1"), ("s", "2"))),
    Construct("table_with_short_rows", "<table><tr><th>a<th>b<tr><td>1</table>", _table(("a", "b"), ("1", ""))),
    Construct(
        "table_with_caption",
        "<table><caption>Cap</caption><tr><th>a<th>b<tr><td>1<td>2</table>",
        "<p>Cap</p>" + _table(("a", "b"), ("1", "2")),
    ),
    Construct(
        "table_with_breaks",
        "<table><tr><th>a<th>b<tr><td>x<br>y<td><p>1</p><p>2</p></table>",
        _table(("a", "b"), ("x y", "1 2")),
    ),
    Construct(
        "table_with_a_list",
        "<table><tr><th>a<th>b<tr><td>k<td><ul><li>x<li>y</ul></table>",
        _table(("a", "b"), ("k", "* x * y")),
    ),
    Construct(
        "table_with_a_foot_first",
        "<table><thead><tr><th>a<tfoot><tr><td>z<tbody><tr><td>1</table>",
        _table(("a",), ("1",), ("z",)),
    ),
    Construct("table_with_empty_cells", "<table><tr><th><th>b<tr><td>1<td></table>", _table(("", "b"), ("1", ""))),
    Construct(
        "table_with_links_and_marks",
        "<table><tr><th>a<tr><td><a href=/x>l</a> <b>s</b></table>",
        _table(("a",), ('<a href="http://site.example/x">l</a> <strong>s</strong>',)),
    ),
    Construct(
        "table_for_layout",
        "<table role=presentation><tr><td><h2>H</h2><p>one</p><td><p>two</p></table>",
        "<h2>H</h2><p>one</p><p>two</p>",
    ),
    Construct(
        "table_for_layout_without_saying_so",
        "<table width='100%'><tr><td><h2>H</h2><p>one</p><p>two</p></table>",
        "<h2>H</h2><p>one</p><p>two</p>",
    ),
    Construct(
        "table_within_a_table",
        "<table><tr><th>a<th>b<tr><td onclick=x()>1<td><table><tr><td>in &lt;b&gt;<td>2</table></table>",
        "<ul><li><p><strong>a</strong></p><p><strong>b</strong></p></li><li><p>1</p>"
        + _table(("in &lt;b&gt;", "2"))
        + "</li></ul>",
        lacks=("onclick", "<table"),
    ),
    Construct(
        "table_with_a_listing",
        "<table><tr><th>a<th>b<tr><td>1<td><pre>x\n\n  &lt;y&gt;</pre></table>",
        "<ul><li><p><strong>a</strong></p><p><strong>b</strong></p></li>"
        f"<li><p>1</p>{_code(chr(10).join(('x', '', '  &lt;y&gt;', '')))}</li></ul>",
    ),
    Construct(
        "table_with_a_line_of_code",
        "<table><tr><th>a<th>b<tr><td>1<td><pre>x | y</pre></table>",
        _table(("a", "b"), ("1", "<code>x | y</code>")),
    ),
    Construct("table_that_is_empty", "<table><tr><td><td></table><p>x</p>", "<p>x</p>"),
    Construct(
        "table_with_several_blocks_in_a_cell",
        "<table><tr><th>a<th>b<tr><td><p>1</p><div>2</div><ol><li>x<li>y</ol><td>3</table>",
        _table(("a", "b"), ("1 2 1. x 2. y", "3")),
    ),
    Construct(
        "table_in_a_list",
        "<ul><li>t<table><tr><th>a<th>b<tr><td>1<td>2</table></ul>",
        f"<ul><li>t{_table(('a', 'b'), ('1', '2'))}</li></ul>",
    ),
)

HEADINGS = (
    Construct("heading_that_is_bold", "<h2><b>All</b> <strong>of it</strong></h2>", "<h2>All of it</h2>"),
    Construct("heading_that_is_bold_in_part", "<h2><b>Part</b> of it</h2>", "<h2><strong>Part</strong> of it</h2>"),
    Construct(
        "heading_with_a_link_to_it_after_it",
        '<div class="sl-heading-wrapper"><h2 id="why">Why?</h2><a class="sl-anchor-link" href="#why"><span><svg></svg></span>'
        '<span class="sr-only">Section titled “Why?”</span></a></div><p>Because.</p><p>See <a href="#why">why</a>.</p>',
        '<h2>Why?</h2><p>Because.</p><p>See <a href="http://site.example/dir/page#why">why</a>.</p>',
    ),
    Construct("headings_in_order", "<h1>1</h1><h3>3</h3><h2>2</h2><h6>6</h6>", "<h1>1</h1><h3>3</h3><h2>2</h2><h6>6</h6>"),
    Construct("heading_with_pilcrow", '<h2 id=x>Head<a class=headerlink href="#x">¶</a></h2>', "<h2>Head</h2>"),
    Construct("heading_with_hash_before", '<h2><a href="#x" aria-hidden="true">#</a> Head</h2>', "<h2>Head</h2>"),
    Construct("heading_with_named_permalink", '<h3>Head <a class="anchor-link" href="#h">Permalink</a></h3>', "<h3>Head</h3>"),
    Construct(
        "heading_with_an_edit_link", '<h2>Head<span class="mw-editsection">[<a href="/e">edit</a>]</span></h2>', "<h2>Head</h2>"
    ),
    Construct(
        "heading_of_blocks", "<h2><div>one</div><div>two</div></h2><h3><p>three</p></h3>", "<h2>one two</h2><h3>three</h3>"
    ),
    Construct("heading_that_is_not_closed", "<h2>one<p>two</p><ul><li>x</ul>", "<h2>one</h2><p>two</p><ul><li>x</li></ul>"),
    Construct("heading_that_links_to_itself", '<h2><a href="#h">Head</a></h2>', "<h2>Head</h2>"),
    Construct(
        "heading_with_a_link_to_its_own_page",
        '<h2><a href="#f"><code>f</code></a> — a call</h2>',
        "<h2><code>f</code> — a call</h2>",
    ),
    Construct("heading_that_links", "<h2><a href=/p>Head</a></h2>", '<h2><a href="http://site.example/p">Head</a></h2>'),
    Construct("heading_with_break", "<h2>one<br>two</h2>", "<h2>one two</h2>"),
    Construct("heading_that_is_empty", "<h2> &nbsp;</h2><h3></h3><p>x</p>", "<p>x</p>"),
    Construct("heading_that_looks_like_markup", "<h2># a 1. b #</h2>", "<h2># a 1. b #</h2>"),
    Construct(
        "heading_within_a_link",
        "<a href=/c><h3>Head</h3><p>para</p></a>",
        '<h3><a href="http://site.example/c">Head</a></h3><p>para</p>',
    ),
)

LINKS = (
    Construct("link_relative", "<p><a href='../x?a=1#f'>t</a></p>", '<p><a href="http://site.example/x?a=1#f">t</a></p>'),
    Construct(
        "link_with_title",
        "<p><a href=/x title='a \"b\"'>t</a></p>",
        '<p><a href="http://site.example/x">t</a></p>',
        lacks=('"',),
    ),
    Construct("link_with_brackets", "<p><a href=/x>[t] ]</a></p>", '<p><a href="http://site.example/x">[t] ]</a></p>'),
    Construct(
        "link_with_parentheses_and_spaces",
        "<p><a href='/a b(c)'>t</a></p>",
        '<p><a href="http://site.example/a%20b%28c%29">t</a></p>',
    ),
    Construct("link_that_runs_a_script", "<p><a href='javascript:x()'>t</a></p>", "<p>t</p>", lacks=("javascript",)),
    Construct("link_that_is_empty", "<p>a <a href=/x></a><a href=/y> </a>b <a id=z></a></p>", "<p>a b</p>"),
    Construct(
        "link_of_a_picture", "<p><a href=/x><img src=i.png alt=a></a></p>", f'<p><a href="http://site.example/x">{_IMG}</a></p>'
    ),
    Construct(
        "link_around_blocks",
        "<a href=/x><div>one</div><div>two</div></a>",
        '<p><a href="http://site.example/x">one</a></p><p>two</p>',
    ),
    Construct(
        "link_with_marks", "<p><a href=/x>a <b>b</b></a></p>", '<p><a href="http://site.example/x">a <strong>b</strong></a></p>'
    ),
    Construct("link_of_mail", "<p><a href='mailto:a@b.example'>m</a></p>", '<p><a href="mailto:a@b.example">m</a></p>'),
    Construct(
        "links_next_to_each_other",
        "<p><a href=/x>a</a><a href=/y>b</a></p>",
        '<p><a href="http://site.example/x">a</a><a href="http://site.example/y">b</a></p>',
    ),
    Construct(
        "list_of_contents",
        '<ul><li><a href="#a">A</a><ul><li><a href="#b">B</a></ul></ul><h2 id=a>A</h2><p>x</p>',
        "<h2>A</h2><p>x</p>",
    ),
    Construct(
        "list_of_contents_that_is_all_there_is",
        '<ul><li><a href="#a">A</a><li><a href="#b">B</a></ul>',
        '<ul><li><a href="http://site.example/dir/page#a">A</a></li><li><a href="http://site.example/dir/page#b">B</a></li></ul>',
    ),
    Construct(
        "list_of_links_to_places_that_are_not_there",
        '<ul><li><a href="#a">A</a><li><a href="#b">B</a></ul><p>x</p>',
        holds=("- [A](http://site.example/dir/page#a)\n- [B]", "x"),
    ),
    Construct(
        "link_after_an_exclamation_mark", "<p>Go!<a href=/x>t</a></p>", '<p>Go!<a href="http://site.example/x">t</a></p>'
    ),
    Construct(
        "link_whose_text_ends_in_a_backslash",
        "<p><a href=/x><b>C:</b> \\ </a></p>",
        '<p><a href="http://site.example/x"><strong>C:</strong> \\</a></p>',
    ),
    Construct("link_to_a_telephone", "<p><a href='tel:+49 (0)30 12'>t</a></p>", '<p><a href="tel:+49%20(0)30%2012">t</a></p>'),
    Construct("list_of_a_menu", "<nav><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul></nav><p>x</p>", "<p>x</p>"),
)

IMAGES = (
    Construct("image_plain", "<p><img src=i.png alt=a></p>", f"<p>{_IMG}</p>"),
    Construct("image_without_alt", "<p><img src=i.png></p>", '<p><img src="http://site.example/dir/i.png" alt=""></p>'),
    Construct("image_lazy", "<p><img src='data:image/gif;base64,R0' data-src=i.png alt=a></p>", f"<p>{_IMG}</p>"),
    Construct("image_lazy_with_spacer", "<p><img src=/img/spacer.gif data-lazy-src=i.png alt=a></p>", f"<p>{_IMG}</p>"),
    Construct("image_of_a_set", "<p><img srcset='s.png 480w, i.png 1200w, m.png 800w' alt=a></p>", f"<p>{_IMG}</p>"),
    Construct("image_of_a_lazy_set", "<p><img src=data:, data-srcset='s.png 1x, i.png 2x' alt=a></p>", f"<p>{_IMG}</p>"),
    Construct("image_of_a_picture", "<p><picture><source srcset='i.png 2x, s.png'><img alt=a></picture></p>", f"<p>{_IMG}</p>"),
    Construct(
        "image_of_noscript",
        "<p><img class=lazy src=data:, alt=a><noscript><img src=i.png alt=a></noscript></p>",
        f"<p>{_IMG}</p>",
    ),
    Construct(
        "image_only_in_noscript",
        "<div><span class=lazy></span><noscript><img src=i.png alt=a></noscript></div>",
        f"<p>{_IMG}</p>",
    ),
    Construct(
        "images_that_are_decoration",
        '<p>x<img src="/static/clear.gif" border=0><img class="avatar" alt="" src="/u/49?s=36"><img alt="" src="/quote.svg">'
        '<img src="/icon.png" width=36 height=36><img src="/r.png"></p><p>y<img src="/r.png"></p><p>z<img src="/r.png"></p>',
        "<p>x</p><p>y</p><p>z</p>",
    ),
    Construct(
        "image_without_alt_shown_twice",
        "<p>x <img src=i.png></p><p>y <img src=i.png></p>",
        '<p>x <img src="http://site.example/dir/i.png" alt=""></p><p>y</p>',
    ),
    Construct(
        "image_of_two_sizes",
        '<p><a href="/n"><img src="/a-384x216.jpg" alt="T"></a><a href="/n"><img src="/a-300x300.jpg" alt="T"></a></p>',
        '<p><a href="http://site.example/n"><img src="http://site.example/a-384x216.jpg" alt="T"></a></p>',
    ),
    Construct(
        "images_of_a_rating",
        "<p><img src=i.png alt=a><img src=i.png alt=a></p>",
        f"<p>{_IMG}{_IMG}</p>",
    ),
    Construct("image_that_counts_readers", "<p>x<img src=/t.gif width=1 height=1></p>", "<p>x</p>"),
    Construct(
        "image_with_odd_alt",
        "<p><img src=i.png alt='[a] *b*\nc'></p>",
        '<p><img src="http://site.example/dir/i.png" alt="[a] *b* c"></p>',
    ),
    Construct(
        "figure_with_caption",
        "<figure><img src=i.png alt=a><figcaption>Cap <b>b</b></figcaption></figure>",
        f"<p>{_IMG}</p><p>Cap <strong>b</strong></p>",
    ),
)

LISTS = (
    Construct(
        "list_nested_and_mixed",
        "<ul><li>a<ol><li>b<ul><li>c</ul></ol><li>d</ul>",
        "<ul><li>a<ol><li>b<ul><li>c</li></ul></li></ol></li><li>d</li></ul>",
    ),
    Construct("list_with_start", "<ol start=7><li>a<li>b</ol>", '<ol start="7"><li>a</li><li>b</li></ol>'),
    Construct("list_from_zero", "<ol start=0><li>a</ol>", '<ol start="0"><li>a</li></ol>'),
    Construct("list_with_value", "<ol><li value=3>a<li>b</ol>", '<ol start="3"><li>a</li><li>b</li></ol>'),
    Construct(
        "list_reversed",
        "<ol reversed><li>c<li>b<li>a</ol>",
        '<ol start="3"><li>c</li><li>b</li><li>a</li></ol>',
        holds=("3. c\n2. b\n1. a",),
    ),
    Construct(
        "list_within_a_list_directly",
        "<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>",
        "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    ),
    Construct(
        "list_with_paragraphs_and_code",
        "<ol><li><p>a</p><p>b</p><pre>x\n\n  y</pre></li><li><p>c</p></li></ol>",
        f"<ol><li><p>a</p><p>b</p>{_code(chr(10).join(('x', '', '  y', '')))}</li><li><p>c</p></li></ol>",
    ),
    Construct(
        "list_with_quote", "<ul><li>a<blockquote>q</blockquote></ul>", "<ul><li>a<blockquote><p>q</p></blockquote></li></ul>"
    ),
    Construct("list_with_empty_items", "<ul><li></li><li>a<li> <b></b><li>&nbsp;</ul>", "<ul><li>a</li></ul>"),
    Construct(
        "list_nested_deeper_than_renderers_read",
        "<ul><li>item" * 14 + "</ul>" * 14,
        "<ul><li>item" * 8 + "<ul>" + "<li>item</li>" * 6 + "</ul>" + "</li></ul>" * 8,
    ),
    Construct("lists_next_to_each_other", "<ul><li>a</ul><ul><li>b</ul>", "<ul><li>a</li></ul><ul><li>b</li></ul>"),
    Construct(
        "list_with_wrapped_items", "<ul><div><li>a</li></div><div><li>b</li></div></ul>", "<ul><li>a</li><li>b</li></ul>"
    ),
    Construct(
        "list_with_strangers", "<ol><li>a</li><p>b</p><li>c</li></ol>", "<ol><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>"
    ),
    Construct("list_then_code", "<ul><li>a</ul><pre>x</pre>", f"<ul><li>a</li></ul>{_code('x' + chr(10))}"),
    Construct(
        "list_item_that_looks_like_markup",
        "<ul><li># a<li>- b<li>1. c<li>[ ] d</ul>",
        "<ul><li># a</li><li>- b</li><li>1. c</li><li>[ ] d</li></ul>",
    ),
    Construct(
        "list_of_tasks",
        "<ul><li><input type=checkbox checked disabled> done<li><label><input type=checkbox>todo</label><li>plain</ul>",
        "<ul><li>[x] done</li><li>[ ] todo</li><li>plain</li></ul>",
        holds=("- [x] done\n- [ ] todo",),
    ),
    Construct(
        "list_of_cards",
        "<ul><li><h3>One</h3><p>a</p><li><h3>Two</h3><p>b</p></ul>",
        "<h3>One</h3><p>a</p><h3>Two</h3><p>b</p>",
    ),
    Construct(
        "list_of_single_paragraphs",
        "<ul><li><p>a</p><li><p>b</p></ul>",
        "<ul><li>a</li><li>b</li></ul>",
        holds=("- a\n- b",),
    ),
    Construct(
        "list_that_cannot_interrupt_a_paragraph",
        "<ul><li>a<ol start=7><li>b</ol></ul>",
        '<ul><li><p>a</p><ol start="7"><li>b</li></ol></li></ul>',
    ),
    Construct(
        "list_from_zero_that_cannot_interrupt_a_paragraph",
        "<ul><li>a<ol start=0><li>b</ol></ul>",
        '<ul><li><p>a</p><ol start="0"><li>b</li></ol></li></ul>',
    ),
    Construct("list_item_with_a_rule", "<ul><li>a<hr>b</ul>", "<ul><li><p>a</p><hr><p>b</p></li></ul>"),
    Construct(
        "details_with_summary", "<details><summary>Sum</summary><p>body</p></details>", "<p><strong>Sum</strong></p><p>body</p>"
    ),
)

DEFINITIONS = (
    Construct(
        "definitions_that_are_empty",
        "<dl><dt>a</dt><dd>\n<span id=x></span>\n</dd><dt>b</dt><dd>text</dd></dl>",
        "<ul><li><p>a</p></li><li><p>b</p><p>text</p></li></ul>",
    ),
    Construct(
        "definitions_plain",
        "<dl><dt>T</dt><dd>one</dd><dd>two</dd><dt>U</dt><dd><p>p</p><ul><li>x</ul></dd></dl>",
        "<ul><li><p>T</p><p>one</p><p>two</p></li><li><p>U</p><p>p</p><ul><li>x</li></ul></li></ul>",
        holds=("- T\n\n  one\n\n  two\n\n- U\n\n  p\n\n  - x",),
    ),
    Construct(
        "definitions_nested_with_lists",
        "<dl><dt>f(a)</dt><dd><p>p</p><dl><dt>Parameters</dt><dd><ul><li>a<li>b</ul></dd><dt>Steps</dt>"
        "<dd><ol><li>c</ol></dd></dl></dd><dt>g</dt><dd><ul><li>d</ul></dd></dl>",
        holds=("- f(a)\n\n  p\n\n  - Parameters\n    - a\n    - b\n  - Steps\n    1. c\n\n- g\n\n  - d",),
    ),
    Construct(
        "definitions_with_several_terms",
        "<dl><dt>a</dt><dt>b</dt><dd>x</dd></dl>",
        "<ul><li><p>a<br>b</p><p>x</p></li></ul>",
    ),
    Construct("definitions_without_definitions", "<dl><dt>a</dt><dt>b</dt></dl>", "<ul><li>a</li><li>b</li></ul>"),
    Construct("definitions_without_terms", "<dl><dd>a</dd><dd>b</dd></dl>", "<ul><li><p>a</p><p>b</p></li></ul>"),
    Construct(
        "definitions_in_wrapped_groups",
        "<dl><div><dt>a</dt><dd>x</dd></div><div><dt>b</dt><dd>y</dd></div></dl>",
        "<ul><li><p>a</p><p>x</p></li><li><p>b</p><p>y</p></li></ul>",
    ),
    Construct(
        "definitions_with_code_and_a_table",
        "<dl><dt>a</dt><dd><pre>x\n\n  y</pre><table><tr><th>h<th>i<tr><td>1<td>2</table><blockquote>q</blockquote></dd></dl>",
        f"<ul><li><p>a</p>{_code(chr(10).join(('x', '', '  y', '')))}{_table(('h', 'i'), ('1', '2'))}"
        "<blockquote><p>q</p></blockquote></li></ul>",
    ),
    Construct(
        "definitions_of_an_api",
        '<dl class="py function"><dt class="sig sig-object py" id="getattr"><span class="sig-name descname"><span class="pre">'
        'getattr</span></span><span class="sig-paren">(</span><em class="sig-param"><span class="n">object</span></em>, '
        '<em class="sig-param"><span class="o">*</span><span class="n">args</span></em><span class="sig-paren">)</span>'
        '<a class="headerlink" href="#getattr" title="Permalink to this definition">¶</a></dt><dd><p>Text.</p></dd></dl>',
        holds=("- getattr(*object*, *\\*args*)\n\n  Text.",),
        lacks=("¶",),
    ),
    Construct(
        "definitions_next_to_each_other",
        "<dl><dt>a</dt><dd>x</dd></dl><dl><dt>b</dt><dd>y</dd></dl>",
        "<ul><li><p>a</p><p>x</p></li><li><p>b</p><p>y</p></li></ul>",
    ),
    Construct(
        "definitions_in_a_cell",
        "<table><tr><th>h<th>i<tr><td><dl><dt>a</dt><dd>x</dd></dl><td>2</table>",
        _table(("h", "i"), ("a x", "2")),
    ),
    Construct(
        "definitions_with_a_term_of_blocks",
        "<dl><dt><p>a</p><p>b</p></dt><dd>x</dd></dl>",
        "<ul><li><p>a b</p><p>x</p></li></ul>",
    ),
    Construct("definitions_with_a_broken_term", "<dl><dt>a<br>b</dt><dd>x</dd></dl>", "<ul><li><p>a b</p><p>x</p></li></ul>"),
    Construct(
        "definitions_with_stray_text",
        "<dl>s<dt>a</dt>t<dd>x</dd>u</dl>",
        "<p>s</p><ul><li><p>a</p><p>t</p><p>x</p><p>u</p></li></ul>",
    ),
)

ADMONITIONS = (
    Construct(
        "note_of_sphinx",
        '<div class="admonition note"><p class="admonition-title">Note</p><p>one</p><p>two</p></div>',
        "<blockquote><p><strong>Note:</strong> one</p><p>two</p></blockquote>",
    ),
    Construct(
        "note_of_sphinx_with_code",
        '<div class="admonition warning"><p class="admonition-title">Warning</p><pre>x</pre></div>',
        f"<blockquote><p><strong>Warning:</strong></p>{_code('x' + chr(10))}</blockquote>",
    ),
    Construct(
        "note_whose_title_is_a_link",
        '<div class="admonition note"><p class="admonition-title"><a href=/x>Read this</a></p><pre>x</pre></div>',
        '<blockquote><p><strong><a href="http://site.example/x">Read this:</a></strong></p>'
        f"{_code('x' + chr(10))}</blockquote>",
    ),
    Construct(
        "note_whose_title_links_to_itself",
        '<section class="note"><h3 id=n><a href="#n">Heap</a></h3><p>one</p></section>',
        "<blockquote><p><strong>Heap:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_mkdocs_that_folds",
        '<details class="tip"><summary>Try this</summary><p>one</p></details>',
        "<blockquote><p><strong>Try this:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_docusaurus",
        '<div class="theme-admonition theme-admonition-tip alert alert--success"><div class="admonitionHeading_Gvgb">'
        '<span class="admonitionIcon_Rf37"></span>tip</div><div class="admonitionContent_BuS1"><p>one</p></div></div>',
        "<blockquote><p><strong>Tip:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_asciidoc",
        '<div class="admonitionblock caution"><table><tr><td class="icon"><div class="title">Caution</div></td>'
        '<td class="content"><div class="paragraph"><p>one</p></div><p>two</p></td></tr></table></div>',
        "<blockquote><p><strong>Caution:</strong> one</p><p>two</p></blockquote>",
    ),
    Construct(
        "note_of_asciidoc_with_an_icon",
        '<div class="admonitionblock important"><table><tr><td class="icon"><i class="fa icon-important" title="Important"></i>'
        '</td><td class="content">one</td></tr></table></div>',
        "<blockquote><p><strong>Important:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_docbook",
        '<div class="note"><h3 class="title">Note</h3><p>one</p></div>',
        "<blockquote><p><strong>Note:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_doxygen",
        '<dl class="section warning"><dt>Warning</dt><dd>one</dd></dl>',
        "<blockquote><p><strong>Warning:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_github",
        '<div class="markdown-alert markdown-alert-important"><p class="markdown-alert-title">Important</p><p>one</p></div>',
        "<blockquote><p><strong>Important:</strong> one</p></blockquote>",
    ),
    Construct(
        "note_of_bootstrap",
        '<div class="alert alert-danger"><strong>Danger!</strong> one</div><div class="alert">two</div>',
        "<blockquote><p><strong>Danger!</strong> one</p></blockquote><p>two</p>",
    ),
    Construct(
        "note_named_by_its_class_alone",
        '<div class="note"><p>one</p></div><p class="warning">two</p>',
        "<blockquote><p><strong>Note:</strong> one</p></blockquote>"
        "<blockquote><p><strong>Warning:</strong> two</p></blockquote>",
    ),
    Construct(
        "note_that_names_itself",
        '<div class="note"><p>Note: one</p></div><div class="NOTE"><p>Note</p><p>two</p></div>',
        "<blockquote><p>Note: one</p></blockquote><blockquote><p><strong>Note:</strong> two</p></blockquote>",
    ),
    Construct(
        "note_that_holds_a_page_is_none",
        '<section class="tip"><h2>Tips</h2><h3>One</h3><p>x</p></section><div class="note"><h2>Head</h2></div>'
        '<div class="important"><p>a</p><h2>Head 2</h2><p>b</p></div>',
        "<h2>Tips</h2><h3>One</h3><p>x</p><blockquote><p><strong>Head:</strong></p></blockquote>"
        "<p>a</p><h2>Head 2</h2><p>b</p>",
    ),
    Construct(
        "note_of_a_version",
        '<div class="versionadded"><p><span class="versionmodified added">New in version 3.1: </span>The key.</p></div>'
        '<div class="versionchanged"><p><span class="versionmodified changed">Changed in version 3.2.</span></p></div>',
        "<blockquote><p><strong>New in version 3.1:</strong> The key.</p></blockquote>"
        "<blockquote><p><strong>Changed in version 3.2.</strong></p></blockquote>",
    ),
    Construct(
        "note_with_links",
        '<div class="admonition seealso"><p class="admonition-title">See also</p><dl class="simple"><dt><a href=/a>A</a></dt>'
        "<dd><p>one</p></dd></dl></div>",
        "<blockquote><p><strong>See also:</strong></p>"
        '<ul><li><p><a href="http://site.example/a">A</a></p><p>one</p></li></ul></blockquote>',
    ),
    Construct(
        "note_in_a_list",
        '<ul><li>a<div class="admonition note"><p class="admonition-title">Note</p><p>b</p></div></ul>',
        "<ul><li>a<blockquote><p><strong>Note:</strong> b</p></blockquote></li></ul>",
    ),
)

NOTES = (
    Construct(
        "footnotes_of_a_list",
        '<p>x<sup><a href="#fn1" id=r1>1</a></sup> y<sup id=r2><a href="#fn2">[2]</a></sup></p>'
        '<hr><ol><li id=fn1><p>one note <a href="#r1">↩</a></p></li><li id=fn2>two notes <a href="#r2">^</a></li></ol>',
        holds=("x[^1] y[^2]", "[^1]: one note\n", "[^2]: two notes"),
        lacks=("↩", "#r1", "1. "),
    ),
    Construct(
        "footnotes_of_paragraphs",
        '<p>x<sup><a id=ref1 href="#note1">1</a></sup></p><div class=footnotes><p id=note1><sup>'
        '<a href="#ref1">1</a></sup> the note</p></div>',
        holds=("x[^1]", "[^1]: the note"),
        lacks=("#ref1",),
    ),
    Construct(
        "footnotes_of_texinfo",
        '<p>x<a id="DOCF1" href="#FOOT1"><sup>1</sup></a> y<a id="DOCF2" href="#FOOT2"><sup>2</sup></a></p>'
        '<div class="footnotes-segment"><h5><a id="FOOT1" href="#DOCF1">(1)</a></h5><p>one note</p>'
        '<h5><a id="FOOT2" href="#DOCF2">(2)</a></h5><p>two notes</p></div>',
        "<p>x[^1] y[^2]</p><p>[^1]: one note</p><p>[^2]: two notes</p>",
    ),
    Construct(
        "footnotes_without_notes",
        '<p>x<sup><a href="#n1">1</a></sup></p>',
        '<p>x<a href="http://site.example/dir/page#n1">1</a></p>',
    ),
    Construct(
        "footnotes_cited_twice",
        '<p>a<sup class=reference id=c0><a href="#cn1">[1]</a></sup> b<sup class=reference id=c1>'
        '<a href="#cn1">[1]</a></sup></p>'
        '<ol class=references><li id=cn1><span class=back>^ <a href="#c0"><sup>a</sup></a> <a href="#c1">'
        "<sup>b</sup></a></span> <span>text</span></li></ol>",
        holds=("a[^1] b[^1]", "[^1]: text ↩"),
    ),
    Construct(
        "footnotes_of_sphinx",
        '<p>a <a class="footnote-reference brackets" href="#i3" id="i1" role="doc-noteref"><span class="fn-bracket">[</span>1'
        '<span class="fn-bracket">]</span></a></p><aside class="footnote-list brackets"><aside class="footnote brackets" '
        'id="i3" role="note"><span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#i1">1</a>'
        '<span class="fn-bracket">]</span></span>\n<p>one note</p></aside></aside>',
        "<p>a [^1]</p><p>[^1]: one note</p>",
    ),
    Construct(
        "footnotes_of_sphinx_cited_twice",
        '<p>a <a class="footnote-reference brackets" href="#i3" id="i1">[1]</a> <a class="footnote-reference brackets" '
        'href="#i3" id="i2">[1]</a></p><aside class="footnote brackets" id="i3" role="note"><span class="label">'
        '<span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></span>\n<span class="backrefs">('
        '<a role="doc-backlink" href="#i1">1</a>,<a role="doc-backlink" href="#i2">2</a>)</span>\n<p>one note</p></aside>',
        "<p>a [^1] [^1]</p><p>[^1]: one note</p>",
    ),
    Construct(
        "footnotes_of_sphinx_4",
        '<p>a <a class="footnote-reference brackets" href="#i3" id="i1">1</a> <a class="footnote-reference brackets" '
        'href="#i4" id="i2">2</a></p><dl class="footnote brackets"><dt class="label" id="i3"><span class="brackets">'
        '<a class="fn-backref" href="#i1">1</a></span></dt><dd><p>one note</p></dd><dt class="label" id="i4">'
        '<span class="brackets"><a class="fn-backref" href="#i2">2</a></span></dt><dd><p>two notes</p></dd></dl>',
        "<p>a [^1] [^2]</p><p>[^1]: one note</p><p>[^2]: two notes</p>",
    ),
    Construct(
        "footnotes_of_several_paragraphs",
        '<p>x<sup><a href="#f1">1</a></sup></p><ol><li id=f1><p>First part.</p><p>Second part.</p></li></ol>',
        "<p>x[^1]</p><p>[^1]: First part.<br>Second part.</p>",
    ),
    Construct(
        "footnotes_that_would_be_link_definitions",
        '<p>x<sup><a href="#f1">1</a></sup> y<sup><a href="#f2">2</a></sup></p>'
        '<ol><li id=f1>Ibid.</li><li id=f2><a href="/a">source</a></li></ol>',
        '<p>x[^1] y[^2]</p><p>[^1]: Ibid. ↩</p><p>[^2]: <a href="http://site.example/a">source</a> ↩</p>',
    ),
)

BLOCKS = (
    Construct(
        "tabs_of_docusaurus",
        '<div><ul role="tablist"><li role="tab">Bash</li><li role="tab">Fish</li></ul>'
        '<div><div role="tabpanel"><pre>a</pre></div><div role="tabpanel" hidden><pre>b</pre></div></div></div>',
        f"<p><strong>Bash</strong></p>{_code('a' + chr(10))}<p><strong>Fish</strong></p>{_code('b' + chr(10))}",
    ),
    Construct(
        "tabs_with_code",
        '<div><ul role="tablist"><li><a role="tab" href="#p1" id="t1">Bash</a></li><li>'
        '<a role="tab" href="#p2" id="t2">Fish</a></li></ul>'
        '<div id="p1" role="tabpanel" aria-labelledby="t1"><pre>a</pre></div>'
        '<div id="p2" role="tabpanel"><pre>b</pre></div></div>',
        f"<p><strong>Bash</strong></p>{_code('a' + chr(10))}<p><strong>Fish</strong></p>{_code('b' + chr(10))}",
    ),
    Construct(
        "details_with_a_summary_that_is_a_part_of_the_text",
        "<details open><summary><h4>Name</h4><p>One.</p><p>Two.</p></summary><p>Three.</p></details>"
        "<details open><summary><h4>Other</h4></summary><p>Four.</p></details>",
        "<h4>Name</h4><p>One.</p><p>Two.</p><p>Three.</p><h4>Other</h4><p>Four.</p>",
    ),
    Construct(
        "details_with_a_summary_in_a_block",
        "<details open><summary><div>Question?</div></summary><p>Answer.</p></details>",
        "<p><strong>Question?</strong></p><p>Answer.</p>",
    ),
    Construct(
        "quote_nested_with_list_and_code",
        "<blockquote><p>a</p><blockquote>b</blockquote><ul><li>x</ul><pre>c\n\nd</pre></blockquote>",
        f"<blockquote><p>a</p><blockquote><p>b</p></blockquote><ul><li>x</li></ul>"
        f"{_code(chr(10).join(('c', '', 'd', '')))}</blockquote>",
    ),
    Construct("rule", "a<hr>b", "<p>a</p><hr><p>b</p>"),
    Construct("break_is_hard", "<p>a<br>b</p>", "<p>a<br>b</p>"),
    Construct(
        "break_at_the_end_of_marks", "<p><b>a:<br></b>b <i>é<br>f</i></p>", "<p><strong>a:</strong><br>b <em>é<br>f</em></p>"
    ),
    Construct(
        "lines_that_a_style_keeps_are_no_code",
        '<p style="white-space:pre-wrap;">a b</p><div style="color: red; WHITE-SPACE: pre-line">c\nd\n\ne</div>',
        "<p>a b</p><p>c<br>d</p><p>e</p>",
        lacks=("```",),
    ),
    Construct(
        "lines_that_a_style_keeps_in_an_item",
        '<ul><li><span style="white-space: break-spaces">a\nb <code>c</code></span></li></ul>',
        "<ul><li>a<br>b <code>c</code></li></ul>",
    ),
    Construct("a_block_that_is_set_like_code_is_code", '<div style="white-space: pre">a\n  b</div>', _code("a\n  b\n")),
    Construct("two_breaks_are_a_paragraph", "<p>a<br><br>b<br></p>", "<p>a</p><p>b</p>"),
    Construct("address", "<address>A<br>B</address>", "<p>A<br>B</p>"),
    Construct("blocks_and_loose_text", "<div>a</div>b<div>c</div>", "<p>a</p><p>b</p><p>c</p>"),
    Construct("lines_are_not_wrapped", "<p>" + "word " * 100 + "</p>", "<p>" + ("word " * 100).strip() + "</p>"),
    Construct("repeated_blocks", "<p>Call now</p><p>Call now</p><p>x</p>", "<p>Call now</p><p>x</p>"),
    Construct(
        "repeated_code_and_cells_stay",
        "<pre>a\na\n\n\nb</pre><table><tr><th>h<tr><td>1<tr><td>1</table>",
        _code("a\na\n\n\nb\n") + _table(("h",), ("1",), ("1",)),
    ),
)

MARKS = (
    Construct(
        "marks_plain",
        "<p><b>a</b> <em>b</em> <del>c</del> <s>d</s></p>",
        "<p><strong>a</strong> <em>b</em> <s>c</s> <s>d</s></p>",
    ),
    Construct(
        "marks_next_to_each_other",
        "<p><b>a</b><i>b</i> <b>c</b> <i>d</i></p>",
        "<p><strong>a</strong><em>b</em> <strong>c</strong> <em>d</em></p>",
    ),
    Construct(
        "marks_nested",
        "<p><b>a <i>b</i></b> <i><b>c</b></i></p>",
        "<p><strong>a <em>b</em></strong> <em><strong>c</strong></em></p>",
    ),
    Construct("marks_with_inner_spaces", "<p>x<b> a </b>y <i>b </i>z</p>", "<p>x <strong>a</strong> y <em>b</em> z</p>"),
    Construct("marks_within_words", "<p>un<b>believ</b>able <i>a</i>b</p>", "<p>un<strong>believ</strong>able <em>a</em>b</p>"),
    Construct(
        "marks_that_end_in_punctuation",
        "<p><b>Note:</b>text a<b>(x)</b>b</p>",
        "<p><strong>Note</strong>:text a(<strong>x</strong>)b</p>",
        lacks=("&#",),
    ),
    Construct(
        "marks_next_to_wide_punctuation",
        "<p><b>注意\uff1a</b>文字<i>\uff08x\uff09</i>文</p>",
        "<p><strong>注意</strong>\uff1a文字\uff08<em>x</em>\uff09文</p>",
    ),
    Construct(
        "marks_that_cannot_be_written",
        "<p>a<b>…</b>b <b><code>c</code></b>d</p>",
        "<p>a…b <code>c</code>d</p>",
        lacks=("*", "&#"),
    ),
    Construct(
        "marks_around_a_link",
        "<p><b>a <a href=/x>l</a></b></p>",
        '<p><strong>a <a href="http://site.example/x">l</a></strong></p>',
    ),
    Construct("marks_that_overlap", "<p><b>a <i>b</b> c</i></p>", "<p><strong>a <em>b</em></strong> <em>c</em></p>"),
    Construct("marks_apart_stay_apart", "<p><b>a</b> <b>b</b></p>", "<p><strong>a</strong> <strong>b</strong></p>"),
    Construct("variables", "<p>f(<var>x</var>, <var>y</var>)</p>", "<p>f(<em>x</em>, <em>y</em>)</p>"),
    Construct(
        "marks_within_marks_within_words",
        "<p><i>a<b>b</b>c</i> <b>d</b><i>e</i>f</p>",
        "<p><em>a<strong>b</strong>c</em> <strong>d</strong><em>e</em>f</p>",
    ),
    Construct("marks_that_are_empty", "<p>a<b></b> <i> </i>b</p>", "<p>a b</p>"),
    Construct(
        "marks_markdown_has_not",
        "<p><ins>a</ins> <mark>b</mark> <abbr title=t>c</abbr> <q>d</q> <cite>e</cite> <u>f</u></p>",
        '<p>a b c "d" e f</p>'.replace('"', "&quot;"),
    ),
    Construct("raised_and_lowered", "<p>10<sup>6</sup> H<sub>2</sub>O 1<sup>st</sup></p>", "<p>10⁶ H₂O 1st</p>"),
    Construct("ruby", "<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby></p>", "<p>漢(kan)字(ji)</p>"),
    Construct(
        "spaces_between_inlines", "<p><span>a</span><span>b</span> <span> c</span>\n<span>d </span>e</p>", "<p>ab c d e</p>"
    ),
)

FORMULAS = (
    Construct(
        "formula_of_mathml",
        "<p>so <math><semantics><msup><mi>x</mi><mn>2</mn></msup>"
        '<annotation encoding="application/x-tex">x^2_{i}</annotation></semantics></math>.</p>',
        holds=("so $x^2_{i}$.",),
    ),
    Construct(
        "formula_of_alttext", '<p><math alttext="\\frac{a}{b}" display=block><mi>a</mi></math></p>', holds=("$$\\frac{a}{b}$$",)
    ),
    Construct(
        "formula_without_source",
        "<p><math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mn>1</mn><mi>y</mi></mfrac></math></p>",
        holds=("${x}^{2}+\\frac{1}{y}$",),
    ),
    Construct(
        "formula_of_a_script",
        '<p>a <span class="MathJax_Preview">y</span><span class=MathJax>y y</span>'
        '<script type="math/tex">y_1 < z</script></p><script type="math/tex; mode=display">\\sum_i</script>',
        holds=("a $y_1 < z$", "$$\\sum_i$$"),
        lacks=("y y",),
    ),
    Construct(
        "formula_of_katex",
        "<p>k <span class=katex><span class=katex-mathml><math><semantics><mi>c</mi>"
        '<annotation encoding="application/x-tex">c_*</annotation>'
        "</semantics></math></span><span class=katex-html aria-hidden=true><span class=base>c</span></span></span>!</p>",
        holds=("k $c_*$!",),
    ),
    Construct("formula_between_delimiters", "<p>if \\(a_1*b_1*c\\) then</p>", holds=("if $a_1*b_1*c$ then",)),
    Construct(
        "formula_that_hides_markup",
        '<p><math alttext="a<img src=x onerror=alert(1)> [x](javascript:y)"><mi>a</mi></math></p>',
        lacks=("<img", "](javascript"),
    ),
)

EMBEDS = (
    Construct(
        "embed_of_a_video",
        '<iframe src="https://www.youtube.com/embed/xyz" title="A film"></iframe>',
        '<p><a href="https://www.youtube.com/embed/xyz">A film</a></p>',
    ),
    Construct(
        "embed_lazy",
        '<iframe data-src="//player.vimeo.com/video/1"></iframe>',
        '<p><a href="http://player.vimeo.com/video/1">Video</a></p>',
    ),
    Construct(
        "embed_of_a_map",
        '<iframe src="https://www.google.com/maps/embed?pb=1"></iframe>',
        '<p><a href="https://www.google.com/maps/embed?pb=1">Map</a></p>',
    ),
    Construct(
        "video_with_sources",
        "<video controls><source src=/v.webm><source src=/v.mp4>no</video>",
        '<p><a href="http://site.example/v.webm">Video</a></p>',
    ),
    Construct("audio", "<audio src=/a.mp3></audio>", '<p><a href="http://site.example/a.mp3">Audio</a></p>'),
    Construct("object", "<object data=/o.pdf title=Plan></object>", '<p><a href="http://site.example/o.pdf">Plan</a></p>'),
    Construct(
        "embed_that_is_machinery",
        '<p>x</p><iframe src="https://www.googletagmanager.com/ns.html" width=0></iframe><iframe src="javascript:x"></iframe>',
        "<p>x</p>",
    ),
)

TEXT = (
    Construct(
        "text_of_names_and_values",
        '<div><span class="details_name">ISBN-13</span><span class="details_value">9780544103054</span></div>'
        '<div><span class="label">Colour</span><span class="value">red</span></div>'
        '<div><span class="a">Publisher</span><span class="b">Houghton</span></div>'
        '<div><span class="now">$116.97</span><span class="was">$145</span><span class="off">19% off</span></div>',
        "<p>ISBN-13: 9780544103054</p><p>Colour: red</p><p>Publisher Houghton</p><p>$116.97 $145 19% off</p>",
    ),
    Construct(
        "text_of_one_word_in_several_elements",
        '<p><span class="drop-cap">T</span>he end</p><p><span class="initial">N</span><span class="rest">ATO</span></p>'
        '<p><span class="s1">hap</span><span class="s2">py</span></p><p><span class="l">Ab</span><span class="l">Cd</span></p>'
        '<p>x <span class="mi">ab</span><span class="mn">2</span> y</p><p><span>You</span><span>Tube</span></p>'
        '<p><span class="k">std</span><span class="o">::</span><span class="n">Vec</span></p>'
        '<p><span class="a">東京</span><span class="b">タワー</span></p><p><b class="x">Hyper</b>Text</p>',
        "<p>The end</p><p>NATO</p><p>happy</p><p>AbCd</p><p>x ab2 y</p><p>YouTube</p><p>std::Vec</p><p>東京タワー</p>"
        "<p><strong>Hyper</strong>Text</p>",
    ),
    Construct(
        "code_inline_that_a_highlighter_split",
        '<p><code><span class="kd">ab</span><span class="nf">Cd</span></code></p>',
        "<p><code>abCd</code></p>",
    ),
    Construct(
        "text_like_lists",
        "<p>1. a</p><p>2) b</p><p>- c</p><p>+ d</p><p>* e</p>",
        "<p>1. a</p><p>2) b</p><p>- c</p><p>+ d</p><p>* e</p>",
    ),
    Construct(
        "text_like_blocks",
        "<p># a</p><p>&gt; b</p><p>a<br>===</p><p>---</p><p>```</p><p>~~~</p>",
        "<p># a</p><p>&gt; b</p><p>a<br>===</p><p>---</p><p>```</p><p>~~~</p>",
    ),
    Construct("text_like_marks", "<p>*a* _b_ **c** __d__ ~~e~~ `f`</p>", "<p>*a* _b_ **c** __d__ ~~e~~ `f`</p>"),
    Construct(
        "text_like_links_and_tags",
        "<p>[x](y) ![z](w) &lt;b&gt; &lt;http://x.example&gt; [r]: /u</p>",
        "<p>[x](y) ![z](w) &lt;b&gt; &lt;http://x.example&gt; [r]: /u</p>",
    ),
    Construct(
        "text_like_a_table", "<p>| a | b |<br>| --- | --- |<br>| c | d |</p>", "<p>| a | b |<br>| --- | --- |<br>| c | d |</p>"
    ),
    Construct("text_with_backslashes", "<p>a\\b \\* \\\\ C:\\_x</p>", "<p>a\\b \\* \\\\ C:\\_x</p>"),
    Construct("text_that_is_indented", "<p>a</p>\n<div>\n        b\n    </div>", "<p>a</p><p>b</p>"),
    Construct(
        "text_that_needs_no_escape",
        "<p>a_b 2 * 3 &lt; 4 a[0] [1] (x) x! #1 1.5 - + = ~5 C:\\x 100% $5 a|b &amp; R&amp;D</p>",
        "<p>a_b 2 * 3 &lt; 4 a[0] [1] (x) x! #1 1.5 - + = ~5 C:\\x 100% $5 a|b &amp; R&amp;D</p>",
        holds=("a_b 2 * 3 < 4 a[0] [1] (x) x! #1 1.5 - + = ~5 C:\\x 100% $5 a|b & R&D",),
    ),
    Construct("text_that_starts_with_wide_spaces", "<p>\u3000\u3000中文\u3000字</p>", "<p>中文\u3000字</p>", lacks=("&#",)),
    Construct("text_with_entities", "<p>&amp;amp; &amp;copy; &copy; &lt; &#x27;</p>", "<p>&amp;amp; &amp;copy; © &lt; '</p>"),
    Construct(
        "text_with_names_and_addresses",
        "<p>snake_case_name http://x.example/a_b_c</p>",
        "<p>snake_case_name http://x.example/a_b_c</p>",
        holds=("snake_case_name http://x.example/a_b_c",),
    ),
    Construct(
        "text_with_no_break_spaces",
        "<p>a&nbsp;b&nbsp;</p><p>&nbsp;</p>&nbsp;<p><b>&nbsp;c</b>d</p>",
        "<p>a b</p><p><strong>c</strong>d</p>",
        lacks=("&#160;", "\xa0"),
    ),
    Construct(
        "text_with_unseen_characters", "<p>so\u00adft ze\u200bro <b>\u200b</b>x</p><h2>\ufeff</h2>", "<p>soft zero x</p>"
    ),
)

CONSTRUCTS = (
    *CODE,
    *TABLES,
    *HEADINGS,
    *LINKS,
    *IMAGES,
    *LISTS,
    *DEFINITIONS,
    *ADMONITIONS,
    *NOTES,
    *BLOCKS,
    *MARKS,
    *FORMULAS,
    *EMBEDS,
    *TEXT,
)

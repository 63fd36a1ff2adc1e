/* A tree as Markdown: paragraphs, headings, lists, quotes, listings. What stands in their lines is in markdown_inline.c.
 *
 * The way it is written is that of the HTML parser's own writer, byte for byte, quirks included; for constructs of which nobody
 * knows how that has them, and for those nobody uses, the whole tree is declined.
 */
#include "markdown.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { PARAGRAPH, HEADING, OTHER_BLOCK }; /* the first two can stand on the line of an item's marker */

int is_block_tag(int tag) {
    switch (tag) {
    case TAG_address: case TAG_article: case TAG_aside: case TAG_blockquote: case TAG_body: case TAG_dd: case TAG_details:
    case TAG_div: case TAG_dl: case TAG_dt: case TAG_figcaption: case TAG_figure: case TAG_footer: case TAG_h1: case TAG_h2:
    case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: case TAG_header: case TAG_hr: case TAG_html: case TAG_li: case TAG_main:
    case TAG_menu: case TAG_nav: case TAG_ol: case TAG_p: case TAG_pre: case TAG_section: case TAG_summary: case TAG_table:
    case TAG_ul: return 1;
    default: return 0;
    }
}

int is_heading_tag(int tag) { return tag >= TAG_h1 && tag <= TAG_h6; }
int is_list_tag(int tag) { return tag == TAG_ul || tag == TAG_ol || tag == TAG_menu; }

static int is_word(Slice text, const char *word) {
    int64_t size = (int64_t)strlen(word);
    if (text.size != size) return 0;
    while (size--)
        if ((text.at[size] >= 'A' && text.at[size] <= 'Z' ? text.at[size] | 32 : text.at[size]) != word[size]) return 0;
    return 1;
}

int is_odd(const Node *node) {
    switch (node->tag) {
    case TAG_OTHER: return node->name.size && *node->name.at == '_'; /* verbatim */
    case TAG_caption: case TAG_col: case TAG_colgroup: case TAG_datalist: case TAG_frame: case TAG_frameset: case TAG_head: case TAG_iframe:
    case TAG_listing: case TAG_math: case TAG_noembed: case TAG_noframes: case TAG_plaintext: case TAG_rp: case TAG_script: case TAG_style:
    case TAG_svg: case TAG_tbody: case TAG_td: case TAG_template: case TAG_textarea: case TAG_tfoot: case TAG_th: case TAG_thead:
    case TAG_title: case TAG_tr: case TAG_xmp: return 1;
    default: return 0;
    }
}

static Slice trimmed(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_space(*at)) at++;
    while (end > at && is_space(end[-1])) end--;
    return (Slice){at, end - at};
}

static int is_one_of(Slice text, const char *const *words, size_t count) {
    while (count--)
        if (is_word(text, words[count])) return 1;
    return 0;
}

/* Whether declarations end at each semicolon. */
static int is_simple_style(Slice style) {
    for (int64_t i = 0; i < style.size; i++)
        if (style.at[i] == '(' || style.at[i] == '\'' || style.at[i] == '"' || style.at[i] == '/') return 0;
    return 1;
}

int how_spaced(Nodes *nodes, const Node *node) {
    static const char *const usual[] = {"normal", "nowrap", "inherit", "initial", "unset"};
    Slice style = attribute_of(nodes, node, "style");
    int spacing = COLLAPSED;
    if (!style.size || keeps_lines(nodes, node)) return spacing; /* rules have broken its lines */
    for (const uint8_t *at = style.at, *end = at + style.size, *next; at < end; at = next + 1) {
        next = memchr(at, ';', (size_t)(end - at));
        if (!next) next = end;
        const uint8_t *colon = memchr(at, ':', (size_t)(next - at));
        if (!colon || !is_word(trimmed(at, colon), "white-space")) continue;
        Slice value = trimmed(colon + 1, next);
        spacing = is_word(value, "pre") ? KEPT : is_one_of(value, usual, 5) ? COLLAPSED : OTHERWISE;
        if (spacing == OTHERWISE || !is_simple_style(style)) return OTHERWISE;
    }
    return spacing;
}

int is_blank_text(Slice text) {
    for (int64_t i = 0; i < text.size; i++)
        if (!is_space(text.at[i])) return 0;
    return 1;
}

int shows_itself(Nodes *nodes, const Node *node) {
    if (node->tag == TAG_TEXT) return !is_blank_text(node->text);
    return node->tag == TAG_img || node->tag == TAG_q || (node->tag == TAG_a && attribute_of(nodes, node, "href").at);
}

int shows(Nodes *nodes, const Node *node) {
    for (const Node *at = node; at; at = next_node(node, at))
        if (shows_itself(nodes, at)) return 1;
    return 0;
}

int starts_below(int tag) {
    return is_list_tag(tag) || tag == TAG_blockquote || tag == TAG_pre || tag == TAG_hr || tag == TAG_table;
}

void put_line_ends(Writer *writer, int count) {
    int bare = writer->prefix_size;
    while (bare && writer->prefix[bare - 1] == ' ') bare--;
    while (count--) {
        put_text(writer->out, "\n");
        put_bytes(writer->out, writer->prefix, count ? bare : writer->prefix_size);
    }
}

void end_line(Writer *writer) {
    put_line_ends(writer, 1);
    writer->is_begun = 0, writer->line = AT_START;
}

static void start_block(Writer *writer, int kind) {
    if (writer->holds == FILLED) put_line_ends(writer, writer->is_tight ? 1 : 2);
    else if (writer->holds == MARKED && kind == OTHER_BLOCK) put_line_ends(writer, 1);
    writer->holds = FILLED, writer->gap = 0, writer->is_hollow = 0;
    writer->written += kind != PARAGRAPH;
}

void open_paragraph(Writer *writer) {
    start_block(writer, PARAGRAPH);
    writer->is_open = 1, writer->is_begun = 0, writer->line = AT_START;
}

void leave_line_empty(Writer *writer) {
    Out *out = writer->out;
    int64_t end = out->size;
    while (end && out->bytes[end - 1] == ' ') end--;
    if (end && out->bytes[end - 1] == '>') out->size = end;
    writer->emptied = out->size;
}

int end_run(Writer *writer) {
    int is_empty = writer->is_open && !writer->is_begun && writer->prefix_size && !writer->is_one_line;
    if (close_marks(writer) || (writer->breaks && (is_empty || writer->holds == MARKED || writer->holds == BELOW))) return -1;
    writer->has_space = writer->breaks = writer->has_inline = 0;
    if (!writer->is_open) return 0;
    if (is_empty) leave_line_empty(writer);
    writer->is_open = 0, writer->gap = writer->is_tight ? 1 : 2;
    return keep_end(writer);
}

/* A `#` at the end of a heading would be read as the end of its marker. */
static void keep_closing_hashes(Writer *writer, int64_t from) {
    Out *out = writer->out;
    int64_t at = out->size;
    while (at > from && out->bytes[at - 1] == '#') at--;
    if (at == out->size || (at > from && out->bytes[at - 1] != ' ')) return;
    put_text(out, "#");
    if (!out->is_out) out->bytes[at] = '\\';
}

static int write_heading(Writer *writer, const Node *heading) {
    if (end_run(writer)) return -1;
    start_block(writer, HEADING);
    put_bytes(writer->out, "######", heading->tag - TAG_h1 + 1);
    put_text(writer->out, " ");
    int64_t from = writer->out->size;
    writer->is_open = 1, writer->is_begun = 0, writer->line = WITHIN, writer->text_from = INT64_MAX;
    writer->is_flat++, writer->is_one_line++;
    if (write_children(writer, heading)) return -1;
    keep_closing_hashes(writer, from);
    if (end_run(writer)) return -1;
    writer->is_flat--, writer->is_one_line--;
    writer->gap = 2;
    return 0;
}

static int write_rule(Writer *writer) {
    if (end_run(writer)) return -1;
    start_block(writer, OTHER_BLOCK);
    put_text(writer->out, "---");
    writer->gap = 2;
    return 0;
}

/* Bytes of more than one line, put where containers have a say in how lines begin. */
static void put_lines(Writer *writer, const uint8_t *at, int64_t size) {
    const uint8_t *end = at + size, *line_end;
    for (; (line_end = size ? memchr(at, '\n', (size_t)(end - at)) : NULL); at = line_end + 1, size = end - at) {
        put_bytes(writer->out, at, line_end - at);
        put_line_ends(writer, 1);
    }
    put_bytes(writer->out, at, end - at);
}

/* The language that the classes of an element name. */
static Slice language_of(Nodes *nodes, const Node *element) {
    static const char sign[] = "language-";
    const int64_t size = sizeof sign - 1;
    Slice classes = attribute_of(nodes, element, "class");
    if (!classes.size) return classes;
    const uint8_t *at = classes.at, *end = at + classes.size;
    while (at < end) {
        while (at < end && is_space(*at)) at++;
        const uint8_t *from = at;
        while (at < end && !is_space(*at)) at++;
        if (at - from > size && !memcmp(from, sign, (size_t)size)) return (Slice){from + size, at - from - size};
    }
    return (Slice){NULL, 0};
}

static Slice language_of_listing(Nodes *nodes, const Node *pre) {
    const Node *code = pre->first;
    while (code && code->tag == TAG_TEXT && is_blank_text(code->text)) code = code->after;
    const Node *next = code ? code->after : NULL;
    while (next && next->tag == TAG_TEXT && is_blank_text(next->text)) next = next->after;
    Slice language = code && code->tag == TAG_code && !next ? language_of(nodes, code) : (Slice){NULL, 0};
    return language.size ? language : language_of(nodes, pre);
}

static void put_fence(Writer *writer, int64_t size) {
    while (size--) put_text(writer->out, "`");
}

static int write_listing(Writer *writer, const Node *pre) {
    static __thread Out kept;
    if (end_run(writer)) return -1;
    kept.size = 0, kept.is_out = 0;
    if (gather_verbatim(pre, '\n', &kept) || kept.is_out) return -1;
    int64_t run = 0, fence = 3;
    for (int64_t i = 0; i < kept.size; i++) {
        if (kept.bytes[i] == '\r') return -1;
        run = kept.bytes[i] == '`' ? run + 1 : 0;
        if (run >= fence) fence = run + 1;
    }
    if ((writer->holds == MARKED || writer->holds == BELOW) && !starts_below(pre->tag) && !shows(writer->nodes, pre)) return -1;
    start_block(writer, starts_below(pre->tag) ? OTHER_BLOCK : HEADING);
    put_fence(writer, fence);
    Slice language = language_of_listing(writer->nodes, pre);
    put_bytes(writer->out, language.at, language.size);
    put_line_ends(writer, 1);
    put_lines(writer, kept.bytes, kept.size);
    if (kept.size && kept.bytes[kept.size - 1] != '\n') put_line_ends(writer, 1);
    put_fence(writer, fence);
    writer->gap = 2;
    return 0;
}

static int write_table(Writer *writer, const Node *table) {
    Out rows = {0};
    if (end_run(writer)) return -1;
    int is_declined = writer->count || write_table_of(writer->nodes, (Node *)table, &rows) || rows.is_out || !rows.size;
    if (!is_declined) {
        start_block(writer, OTHER_BLOCK);
        put_lines(writer, rows.bytes, rows.size);
        writer->gap = 2;
    }
    free(rows.bytes);
    return is_declined ? -1 : 0;
}

int push_prefix(Writer *writer, const char *text, int size, int weight) {
    writer->nesting += weight;
    if (writer->nesting > MOST_NESTING || writer->prefix_size + size > LONGEST_PREFIX) return -1;
    for (int i = 0; i < size; i++) writer->prefix[writer->prefix_size++] = text ? (uint8_t)text[i] : ' ';
    return 0;
}

void pop_prefix(Writer *writer, int size, int weight) { writer->nesting -= weight, writer->prefix_size -= size; }

static int write_quote(Writer *writer, const Node *quote) {
    int was_tight = writer->is_tight;
    if (end_run(writer) || (writer->emptied == writer->out->size && writer->emptied && writer->out->bytes[writer->emptied - 1] == '>')) return -1;
    /* A quote that begins a quote gets an empty line, but for the very first of all. */
    if (writer->holds == EMPTY && writer->out->size > writer->prefix_size) writer->holds = FILLED;
    start_block(writer, OTHER_BLOCK);
    put_text(writer->out, "> ");
    if (push_prefix(writer, "> ", 2, 1)) return -1;
    writer->is_tight = 0, writer->holds = EMPTY;
    if (write_children(writer, quote) || end_run(writer)) return -1;
    if (writer->holds == EMPTY) leave_line_empty(writer), writer->gap = 2;
    pop_prefix(writer, 2, 1);
    writer->is_tight = was_tight;
    writer->holds = FILLED, writer->quoted = ++writer->written;
    return 0;
}

/* A block of a link, a heading or a cell: but white space around what it holds. */
static int write_flattened(Writer *writer, const Node *node) {
    if (writer->is_cell && is_list_tag(node->tag)) return write_list_in_cell(writer, node);
    if ((writer->is_cell && node->tag == TAG_li) || node->tag == TAG_pre || node->tag == TAG_table) return -1;
    int is_heading = is_heading_tag(node->tag);
    writer->has_space = 1, writer->is_one_line += is_heading;
    if (write_children(writer, node)) return -1;
    writer->has_space = 1, writer->is_one_line -= is_heading;
    return 0;
}

static int write_plain_block(Writer *writer, const Node *node) {
    int is_within_inline = node->parent && node != writer->top && !is_block_tag(node->parent->tag);
    int is_hollow = writer->is_hollow || (is_within_inline && writer->written == writer->inline_from);
    int is_doubtful = is_within_inline && writer->written == writer->doubt_from;
    int is_plain = node->tag == TAG_p || node->tag == TAG_div;
    int64_t written = writer->written;
    if (end_run(writer) || (is_doubtful && !is_plain)) return -1;
    writer->is_hollow = is_hollow && !is_plain;
    if (write_children(writer, node) || end_run(writer)) return -1;
    if (writer->written == written) writer->is_hollow = is_hollow;
    if (writer->written == written && is_doubtful) return -1;
    return 0;
}

static int write_block(Writer *writer, const Node *node) {
    int spacing = how_spaced(writer->nodes, node), is_placed = !writer->is_flat && !writer->count && node->tag != TAG_li;
    if (spacing == OTHERWISE || (spacing == KEPT && !is_placed)) return -1;
    if (spacing == KEPT) return write_listing(writer, node);
    if (writer->is_flat) return write_flattened(writer, node);
    switch (node->tag) {
    case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: return write_heading(writer, node);
    case TAG_ul: case TAG_ol: case TAG_menu: return write_list(writer, node);
    case TAG_hr: return write_rule(writer);
    case TAG_pre: return write_listing(writer, node);
    case TAG_blockquote: return write_quote(writer, node);
    case TAG_table: return write_table(writer, node);
    default: return write_plain_block(writer, node);
    }
}

int write_children(Writer *writer, const Node *node) {
    for (const Node *child = node->first; child; child = child->after) {
        if (child->tag == TAG_TEXT ? write_text(writer, child)
            : is_block_tag(child->tag) ? write_block(writer, child)
                                       : write_inline(writer, child)) return -1;
    }
    return 0;
}

/* Of the tree that is being written: its cells are written from another file. */
static __thread int is_tagged_tree;

static void set_up(Writer *writer, Nodes *nodes, const Node *top, Out *out) {
    memset(writer, 0, offsetof(Writer, openings)); /* what is large comes behind, and has a count of its own */
    writer->nodes = nodes, writer->out = out, writer->top = top;
    writer->count = writer->opened = 0, writer->holds = EMPTY, writer->is_tagged = is_tagged_tree;
    writer->star = writer->underscore = writer->tilde = writer->bang = writer->tagged_break = writer->emptied = writer->quoted = -1;
    writer->inline_from = writer->doubt_from = -1, writer->text_from = INT64_MAX;
}

int write_markdown_of(Nodes *nodes, Node *top, Out *out) {
    static __thread Writer writer;
    is_tagged_tree = needs_tags(top, is_mark_tag(top->tag));
    set_up(&writer, nodes, top, out);
    memset(writer.ended, 0, sizeof writer.ended);
    if (top->tag == TAG_li || top->tag == TAG_TEXT || is_odd(top)) return -1;
    int is_declined = is_block_tag(top->tag) ? write_block(&writer, top) : write_children(&writer, top);
    if (is_declined || end_run(&writer) || out->is_out || is_out(nodes)) return -1;
    int64_t blank = 0;
    while (blank < out->size && out->bytes[blank] == '\n') blank++;
    if (blank) memmove(out->bytes, out->bytes + blank, (size_t)(out->size -= blank));
    while (out->size && (out->bytes[out->size - 1] == ' ' || out->bytes[out->size - 1] == '\n')) out->size--;
    return 0;
}

int write_cell_of(Nodes *nodes, Node *cell, Out *out) {
    static __thread Writer writer; /* another than that of the tree, which waits for the table */
    set_up(&writer, nodes, cell, out);
    writer.is_open = writer.is_flat = writer.is_one_line = writer.is_cell = 1, writer.line = WITHIN;
    return write_children(&writer, cell) || out->is_out || is_out(nodes) ? -1 : 0;
}

/* For tests: Markdown of HTML that holds one element. It stands until the next call in this thread. */
EXPORT int64_t markdown_of_html(const uint8_t *html, int64_t size, const uint8_t **markdown) {
    static __thread Out kept;
    Nodes *nodes = read_nodes(html, size);
    Node *top = nodes ? top_of(nodes)->first : NULL;
    kept.size = 0, kept.is_out = 0;
    if (!top || top->after || write_markdown_of(nodes, top, &kept)) return -1;
    *markdown = kept.bytes;
    return kept.size;
}

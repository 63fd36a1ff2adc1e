/* The plain text of nodes, one line a block: what the parser's own writer gives for `dom.to_text`, white space aside.
 *
 * Whoever takes the text evens it (`texts.even`): no line is empty, none begins or ends with a space, no two spaces follow each
 * other. So neither indents nor the columns of a table are laid out here. What is kept to the letter is where lines end and where
 * words run into each other.
 */
#include "writer.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { LONGEST_NUMBER = 15, STRETCH = 16 };

typedef struct {
    Nodes *nodes;
    Out *out;
    int is_started;  /* something was written: the next block has a line to end */
    int is_joined;   /* the next block goes on in the line that a marker or a quotation began */
    int owes_space;  /* white space came by, which shows where a word follows */
    int is_in_table;
    int is_declined;
} Writer;

static int is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f'; }

static int is_block(int tag) {
    switch (tag) {
    case TAG_html: case TAG_body: case TAG_p: case TAG_div: case TAG_section: case TAG_article: case TAG_header: case TAG_footer:
    case TAG_nav: case TAG_aside: case TAG_main: case TAG_figure: case TAG_figcaption: case TAG_address: case TAG_blockquote:
    case TAG_pre: case TAG_hr: case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: case TAG_ul: case TAG_ol:
    case TAG_li: case TAG_dl: case TAG_dt: case TAG_dd: case TAG_menu: case TAG_details: case TAG_summary: case TAG_table: return 1;
    default: return 0;
    }
}

/* Those whose text is no text, or whose names mean something else: chosen content has none of them. */
static int is_foreign(const Node *element) {
    switch (element->tag) {
    case TAG_head: case TAG_math: case TAG_script: case TAG_style: case TAG_svg: case TAG_template: return 1;
    default: return 0;
    }
}

/* Those that are never shown. */
static int is_hidden(const Node *element) {
    return element->tag == TAG_rp || element->tag == TAG_title || element->tag == TAG_datalist;
}

static int is_only_space(Slice text) {
    int64_t at = 0;
    while (at < text.size && is_space(text.at[at])) at++;
    return at == text.size;
}

static void end_line(Writer *writer) {
    put_bytes(writer->out, "\n", 1);
    writer->owes_space = 0;
}

static void begin_block(Writer *writer) {
    if (!writer->is_started) writer->is_started = 1;
    else if (writer->is_joined) writer->is_joined = 0;
    else put_bytes(writer->out, "\n", 1);
    writer->owes_space = 0;
}

/* Whether a stretch has no white space but single spaces. */
static int is_even(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < STRETCH; i++) odd |= (at[i] <= ' ') & ((at[i] < ' ') | (at[i + 1] <= ' '));
    return !odd;
}

static const uint8_t *past_words(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        if (end - at > STRETCH && is_even(at)) { at += STRETCH; continue; }
        const uint8_t *stop = end - at > STRETCH ? at + STRETCH : end;
        while (at < stop && (!is_space(*at) || (*at == ' ' && at + 1 < end && !is_space(at[1])))) at++;
        if (at < stop) break;
    }
    return at;
}

static void put_words(Writer *writer, Slice text) {
    const uint8_t *at = text.at, *end = at + text.size;
    while (at < end) {
        if (is_space(*at)) {
            writer->owes_space = 1, at++;
            continue;
        }
        const uint8_t *from = at;
        at = past_words(at, end);
        if (writer->owes_space) put_bytes(writer->out, " ", 1);
        put_bytes(writer->out, from, at - from);
        writer->owes_space = 0;
    }
}

static void write_block(Writer *writer, const Node *block);

static void write_inline(Writer *writer, const Node *node) {
    if (node->tag == TAG_TEXT) {
        put_words(writer, node->text);
    } else if (is_block(node->tag)) {
        write_block(writer, node);
    } else if (is_foreign(node)) {
        writer->is_declined = 1;
    } else if (node->tag == TAG_br) {
        end_line(writer);
    } else if (!is_hidden(node)) {
        for (const Node *child = node->first; child; child = child->after) write_inline(writer, child);
    }
}

/* Blocks, and runs of what is not one: each run begins a line. */
static void write_children(Writer *writer, const Node *block) {
    int is_in_run = 0;
    for (const Node *child = block->first; child; child = child->after) {
        if (child->tag != TAG_TEXT && is_block(child->tag)) {
            is_in_run = 0;
            write_block(writer, child);
            continue;
        }
        if (!is_in_run) {
            if (child->tag == TAG_TEXT ? is_only_space(child->text) : is_hidden(child)) continue;
            begin_block(writer);
            is_in_run = 1;
        }
        write_inline(writer, child);
    }
}

/* The digits an attribute begins with; without any, the number stays. */
static void read_number(Writer *writer, const Node *element, const char *name, int64_t *number) {
    Slice raw = attribute_of(writer->nodes, element, name);
    int64_t digits = 0, value = 0;
    for (; raw.at && digits < raw.size && raw.at[digits] >= '0' && raw.at[digits] <= '9'; digits++) {
        if (digits == LONGEST_NUMBER) {
            writer->is_declined = 1;
            return;
        }
        value = value * 10 + (raw.at[digits] - '0');
    }
    if (digits) *number = value;
}

static void put_number(Out *out, int64_t number) {
    char digits[24];
    int at = (int)sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put_bytes(out, digits + at, (int64_t)sizeof digits - at);
}

static int begins_inline(const Node *item) {
    for (const Node *child = item->first; child; child = child->after) {
        if (child->tag != TAG_TEXT && !is_hidden(child)) return !is_block(child->tag);
        if (child->tag == TAG_TEXT && !is_only_space(child->text)) return 1;
    }
    return 0;
}

/* Items and lists. What else a list holds is not shown. */
static void write_list(Writer *writer, const Node *list) {
    int64_t number = 1;
    int is_numbered = list->tag == TAG_ol;
    if (is_numbered) read_number(writer, list, "start", &number);
    for (const Node *item = list->first; item; item = item->after) {
        if (item->tag == TAG_ul || item->tag == TAG_ol || item->tag == TAG_menu) write_list(writer, item);
        if (item->tag != TAG_li) continue;
        begin_block(writer);
        if (is_numbered) {
            read_number(writer, item, "value", &number);
            put_number(writer->out, number++);
            put_text(writer->out, ". ");
        } else {
            put_text(writer->out, "- ");
        }
        writer->is_joined = begins_inline(item);
        write_children(writer, item);
    }
}

/* A cell's text as part of its row's line. Blocks that it holds know nothing of what was written before it. */
static void write_cell(Writer *writer, const Node *cell) {
    int64_t start = writer->out->size;
    int owes_space = writer->owes_space, is_started = writer->is_started;
    writer->owes_space = 0;
    for (const Node *child = cell->first; child; child = child->after) write_inline(writer, child);
    writer->owes_space = owes_space, writer->is_started = is_started;
    for (int64_t at = start; at < writer->out->size; at++)
        if (writer->out->bytes[at] == '\n') writer->out->bytes[at] = ' ';
}

/* A row a line, a space between cells; says whether there are any. */
static int write_rows(Writer *writer, const Node *part) {
    int has_cells = 0;
    for (const Node *row = part->first; row; row = row->after) {
        if (row->tag == TAG_thead || row->tag == TAG_tbody || row->tag == TAG_tfoot) has_cells |= write_rows(writer, row);
        if (row->tag != TAG_tr) continue;
        put_bytes(writer->out, "\n", 1);
        for (const Node *cell = row->first; cell; cell = cell->after) {
            if (cell->tag != TAG_td && cell->tag != TAG_th) continue;
            put_bytes(writer->out, " ", 1);
            write_cell(writer, cell);
            has_cells = 1;
        }
    }
    return has_cells;
}

/* The cells are written before their table begins its line: what a block within one says of the next block, the table takes. */
static void write_table(Writer *writer, const Node *table) {
    Out *out = writer->out;
    int64_t start = out->size;
    writer->is_declined |= writer->is_in_table; /* tables within tables were taken apart */
    writer->is_in_table = 1;
    int has_cells = write_rows(writer, table);
    writer->is_in_table = 0;
    if (out->is_out) return;
    if (!has_cells) {
        out->size = start;
        return;
    }
    if (writer->is_started && writer->is_joined) {
        int64_t lead = out->bytes[start + 1] == ' ' ? 2 : 1;
        memmove(out->bytes + start, out->bytes + start + lead, (size_t)(out->size - start - lead));
        out->size -= lead, writer->is_joined = 0;
    }
    writer->is_started = 1;
    writer->owes_space = 0;
}

/* All its text as it stands, but for one line end at its very end. */
static void write_listing(Writer *writer, const Node *pre) {
    Out *out = writer->out;
    begin_block(writer);
    int64_t start = out->size;
    for (const Node *node = next_node(pre, pre); node; node = next_node(pre, node))
        if (node->tag == TAG_TEXT) put_bytes(out, node->text.at, node->text.size);
        else writer->is_declined |= is_foreign(node);
    if (!out->is_out && out->size > start && out->bytes[out->size - 1] == '\n') out->size--;
}

static void write_block(Writer *writer, const Node *block) {
    switch (block->tag) {
    case TAG_ul: case TAG_menu: case TAG_ol: write_list(writer, block); return;
    case TAG_pre: write_listing(writer, block); return;
    case TAG_table: write_table(writer, block); return;
    case TAG_blockquote:
        if (writer->is_started) {
            put_bytes(writer->out, "\n", 1);
            writer->is_joined = 1;
        }
    }
    write_children(writer, block);
}

int write_plain_of(Nodes *nodes, Node *node, Out *out) {
    Writer writer = {.nodes = nodes, .out = out};
    if (node->tag != TAG_TEXT && is_block(node->tag)) write_block(&writer, node);
    else write_children(&writer, node);
    return writer.is_declined || out->is_out || is_out(nodes) ? -1 : 0;
}

/* The plain text of an element's HTML, not evened: its size, or -1 where Python has to write it. What was written before in this
 * thread is gone. */
EXPORT int64_t text_of_html(const uint8_t *html, int64_t size, const uint8_t **text) {
    static __thread Out out;
    out.size = out.is_out = 0;
    Nodes *nodes = read_nodes(html, size);
    Node *element = nodes ? top_of(nodes)->first : NULL;
    if (!element || element->tag == TAG_TEXT || element->after || write_plain_of(nodes, element, &out)) return -1;
    *text = out.bytes;
    return out.size;
}

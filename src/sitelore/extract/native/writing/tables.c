/* Tables, as `writing/tables.py` settles them and as the parser's writer spells them in Markdown.
 *
 * What would have to stay HTML (tables or listings within cells) is left to Python, as is what may be a listing with its numbers.
 */
#include "looks.h"
#include "writer.h"

#include <string.h>

enum { MOST_COLUMNS = 200, MOST_CELLS = 4000, MOST_GROWTH = 4, MOST_COPIED = 50000, LONG_CELL = 600, LONGEST_SPAN = 5 };
/* Python sets no bounds to these, but takes what it takes. */
enum { MOST_PLACES = 200000, MOST_COPIES = 100000 };

typedef struct { Node *node; int is_placed; } Cell;
/* `places` are the cells that a row shows, one a column, once spans are spread out. */
typedef struct { Node *node; Cell *cells; int64_t count; Cell **places; int64_t extent, room; } Row;
typedef struct { Node *node; Row *rows; int64_t count, cells, widest; } Table;
/* What may still be copied, in characters and in nodes. */
typedef struct { int64_t characters, nodes; } Allowance;

#define SECTION_TAGS                                                                                                           \
    [TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1, [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1, [TAG_article] = 1, [TAG_section] = 1, \
    [TAG_form] = 1, [TAG_nav] = 1, [TAG_main] = 1, [TAG_aside] = 1, [TAG_header] = 1, [TAG_footer] = 1
#define BLOCK_TAGS                                                                                                     \
    SECTION_TAGS, [TAG_p] = 1, [TAG_div] = 1, [TAG_ul] = 1, [TAG_ol] = 1, [TAG_dl] = 1, [TAG_table] = 1, [TAG_pre] = 1, \
    [TAG_blockquote] = 1, [TAG_hr] = 1
static const Tags SECTIONS = {SECTION_TAGS};
static const Tags TABLE_BLOCKS = {BLOCK_TAGS};
static const Tags SET_APART = {BLOCK_TAGS, [TAG_li] = 1, [TAG_dt] = 1, [TAG_dd] = 1};
static const Tags HEADS = {[TAG_caption] = 1, [TAG_thead] = 1};
static const Tags VERBATIM = {[TAG_table] = 1, [TAG_pre] = 1};
static const Tags PARTS = {[TAG_thead] = 1, [TAG_tbody] = 1, [TAG_tfoot] = 1};
static const Tags CELLS = {[TAG_td] = 1, [TAG_th] = 1};
static const Tags NUMBERED = {[TAG_pre] = 1, [TAG_div] = 1, [TAG_span] = 1};

static int64_t count_children(const Node *node, const Tags tags) {
    int64_t count = 0;
    for (const Node *child = node->first; child; child = child->after) count += tags[child->tag];
    return count;
}

static int add_row(Nodes *nodes, Table *table, Node *node) {
    Row *row = &table->rows[table->count++];
    *row = (Row){.node = node, .count = count_children(node, CELLS)};
    row->cells = take_room(nodes, row->count * (int64_t)sizeof *row->cells);
    if (!row->cells) return -1;
    Cell *cell = row->cells;
    for (Node *child = node->first; child; child = child->after)
        if (CELLS[child->tag]) *cell++ = (Cell){.node = child};
    table->cells += row->count;
    if (table->widest < row->count) table->widest = row->count;
    return 0;
}

/* The rows of this table, not of those within. */
static int find_rows(Nodes *nodes, Table *table) {
    static const Tags ROWS = {[TAG_tr] = 1};
    int64_t count = count_children(table->node, ROWS);
    for (const Node *part = table->node->first; part; part = part->after)
        if (PARTS[part->tag]) count += count_children(part, ROWS);
    table->rows = take_room(nodes, count * (int64_t)sizeof *table->rows);
    if (!table->rows) return -1;
    table->count = table->cells = table->widest = 0;
    for (Node *part = table->node->first; part; part = part->after) {
        if (part->tag == TAG_tr && add_row(nodes, table, part)) return -1;
        if (!PARTS[part->tag]) continue;
        for (Node *row = part->first; row; row = row->after)
            if (row->tag == TAG_tr && add_row(nodes, table, row)) return -1;
    }
    return 0;
}

static int is_numbered(Nodes *nodes, const Node *element) {
    return names_gutter(attribute_of(nodes, element, "class")) || attribute_of(nodes, element, "data-line-number").size;
}

/* Whether this could be a listing with the numbers of its lines. */
static int may_be_listing(Nodes *nodes, const Table *table) {
    for (int64_t y = 0; y < table->count; y++)
        for (int64_t x = 0; x < table->rows[y].count; x++) {
            const Node *cell = table->rows[y].cells[x].node;
            if (is_numbered(nodes, cell)) return 1;
            for (const Node *node = cell; (node = next_node(cell, node));)
                if (NUMBERED[node->tag] && is_numbered(nodes, node)) return 1;
        }
    return 0;
}

static int is_role(Slice role, const char *name) { return role.size == (int64_t)strlen(name) && !find_folded(role, name); }

/* Characters below an element, counted no further than asked. */
static int64_t count_characters(const Node *element, int64_t most) {
    int64_t count = 0;
    for (const Node *node = element; count <= most && (node = next_node(element, node));)
        if (is_text(node))
            for (int64_t at = 0; at < node->text.size; at++) count += (node->text.at[at] & 0xC0) != 0x80;
    return count;
}

static int has_long_cell(const Table *table) {
    for (int64_t y = 0; y < table->count; y++)
        for (int64_t x = 0; x < table->rows[y].count; x++)
            if (count_characters(table->rows[y].cells[x].node, LONG_CELL) > LONG_CELL) return 1;
    return 0;
}

static int has_head_cell(const Table *table) {
    for (int64_t y = 0; y < table->count; y++)
        for (int64_t x = 0; x < table->rows[y].count; x++)
            if (table->rows[y].cells[x].node->tag == TAG_th) return 1;
    return 0;
}

static int has_layout_attribute(Nodes *nodes, const Node *table) {
    static const char *const names[] = {"cellpadding", "cellspacing", "width", "bgcolor", "background", "align"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attribute_of(nodes, table, names[i]).at) return 1;
    return 0;
}

/* Whether a table only lays a page out. */
static int is_layout(Nodes *nodes, const Table *table) {
    Slice role = attribute_of(nodes, table->node, "role");
    if (is_role(role, "presentation") || is_role(role, "none")) return 1;
    /* Some pages put everything into one table, headings in its cells included. */
    if (has_head_cell(table) || holds(table->node, HEADS)) return table->cells == 1;
    if (table->cells == 1 || holds(table->node, SECTIONS)) return 1;
    if (!holds(table->node, TABLE_BLOCKS)) return 0;
    if (holds_tag(table->node, TAG_table)) return table->count == 1 || table->widest == 1 || has_layout_attribute(nodes, table->node);
    return table->widest == 1 || has_long_cell(table);
}

static void take_apart(Table *table) {
    for (Node *part = table->node->first, *next; part; part = next) {
        next = part->after;
        if (part->tag == TAG_caption || PARTS[part->tag]) rename_element(part, TAG_div);
        else if (part->tag == TAG_colgroup) cut(part);
    }
    for (int64_t y = 0; y < table->count; y++) {
        rename_element(table->rows[y].node, TAG_div);
        for (int64_t x = 0; x < table->rows[y].count; x++) rename_element(table->rows[y].cells[x].node, TAG_div);
    }
    rename_element(table->node, TAG_div);
}

static void move_captions(Node *table) {
    for (Node *caption = table->first, *next; caption; caption = next) {
        next = caption->after;
        if (caption->tag != TAG_caption) continue;
        cut(caption);
        if (is_bare(caption)) continue;
        rename_element(caption, holds(caption, TABLE_BLOCKS) ? TAG_div : TAG_p);
        put_before(table, caption);
    }
}

/* A foot is shown last, wherever it is written. */
static int move_feet(Nodes *nodes, Table *table) {
    Node *last = table->node->last;
    int is_moved = 0;
    for (Node *part = table->node->first, *next; part; part = next) {
        next = part == last ? NULL : part->after;
        if (part->tag != TAG_tfoot) continue;
        append(table->node, part);
        is_moved = 1;
    }
    return is_moved ? find_rows(nodes, table) : 0;
}

/* Cells become single lines: their blocks must not run into each other. */
static int set_blocks_apart(Nodes *nodes, Node *table) {
    for (Node *node = table; (node = next_node(table, node));) {
        if (!SET_APART[node->tag]) continue;
        Node *space = make_text(nodes, (Slice){(const uint8_t *)" ", 1});
        if (!space) return -1;
        put_before(node, space);
    }
    return 0;
}

/* How many places a cell takes, 0 for all that are left; -1 where Unicode has to be asked. */
static int64_t span_of(Nodes *nodes, const Node *cell, const char *name) {
    Slice raw = stripped(attribute_of(nodes, cell, name));
    int64_t span = 0;
    for (int64_t at = 0; at < raw.size; at++) {
        if (raw.at[at] >= 0x80) return -1;
        if (raw.at[at] < '0' || raw.at[at] > '9') return 1;
        if (at < LONGEST_SPAN) span = span * 10 + (raw.at[at] - '0');
    }
    return raw.size && raw.size <= LONGEST_SPAN ? span : 1;
}

static int is_spanning(Nodes *nodes, const Table *table) {
    for (int64_t y = 0; y < table->count; y++)
        for (int64_t x = 0; x < table->rows[y].count; x++) {
            const Node *cell = table->rows[y].cells[x].node;
            if (attribute_of(nodes, cell, "colspan").size || attribute_of(nodes, cell, "rowspan").size) return 1;
        }
    return 0;
}

/* Makes a row wide enough; places that nothing covers yet are NULL. */
static int widen(Nodes *nodes, Row *row, int64_t extent, int64_t *places) {
    if (extent <= row->extent) return 0;
    if ((*places += extent - row->extent) > MOST_PLACES) return -1;
    if (extent > row->room) {
        int64_t room = extent * 2;
        Cell **larger = take_room(nodes, room * (int64_t)sizeof *larger);
        if (!larger) return -1;
        if (row->extent) memcpy(larger, row->places, (size_t)row->extent * sizeof *larger);
        row->places = larger, row->room = room;
    }
    while (row->extent < extent) row->places[row->extent++] = NULL;
    return 0;
}

/* Finds which cell each place shows (HTML, "forming a table"). */
static int spread(Nodes *nodes, Table *table, int is_spanned) {
    int64_t budget = MOST_CELLS, places = 0;
    for (int64_t y = 0; y < table->count; y++) {
        Row *row = &table->rows[y];
        int64_t x = 0, below = table->count - y;
        for (int64_t i = 0; i < row->count; i++) {
            Cell *cell = &row->cells[i];
            int64_t wide = is_spanned ? span_of(nodes, cell->node, "colspan") : 1;
            int64_t tall = is_spanned ? span_of(nodes, cell->node, "rowspan") : 1;
            if (wide < 0 || tall < 0) return -1;
            while (x < row->extent && row->places[x]) x++;
            wide = wide < 1 ? 1 : wide > MOST_COLUMNS ? MOST_COLUMNS : wide;
            tall = !tall || tall > below ? below : tall;
            if (is_spanned && (budget -= wide * tall) < 0) wide = tall = 1;
            for (int64_t dy = 0; dy < tall; dy++) {
                if (widen(nodes, row + dy, x + wide, &places)) return -1;
                for (int64_t dx = x; dx < x + wide; dx++)
                    if (!row[dy].places[dx]) row[dy].places[dx] = cell;
            }
            x += wide;
        }
    }
    return 0;
}

static Node *copy_of(Nodes *nodes, const Node *node, Allowance *left) {
    Node *copy = left->nodes-- > 0 ? take_room(nodes, sizeof *copy) : NULL;
    if (!copy) return NULL;
    *copy = *node;
    copy->parent = copy->first = copy->last = copy->before = copy->after = NULL;
    for (const Node *child = node->first; child; child = child->after) {
        Node *inner = copy_of(nodes, child, left);
        if (!inner) return NULL;
        append(copy, inner);
    }
    return copy;
}

/* What stands in one place of a row: a cell, once more what it holds, or nothing. NULL where Python has to tell. */
static Node *shown_at(Nodes *nodes, Cell *cell, Allowance *left) {
    if (!cell) return make_element(nodes, TAG_td);
    drop_attribute(nodes, cell->node, "colspan");
    drop_attribute(nodes, cell->node, "rowspan");
    if (!cell->is_placed) {
        cell->is_placed = 1;
        return cell->node;
    }
    if (left->characters > 0) left->characters -= count_characters(cell->node, MOST_COPIED);
    /* What holds a table is shown once: tables within tables, all with spans, would grow without end. */
    int is_copied = left->characters > 0 && !holds_tag(cell->node, TAG_table);
    return is_copied ? copy_of(nodes, cell->node, left) : make_element(nodes, cell->node->tag);
}

/* Gives every row the same number of cells: 1, 0 where that takes more than any table is worth, or -1. */
static int fill(Nodes *nodes, Table *table) {
    int is_even = 1, is_spanned = is_spanning(nodes, table);
    for (int64_t y = 1; y < table->count; y++) is_even &= table->rows[y].count == table->rows[0].count;
    if (is_even && !is_spanned) return 1;
    if (spread(nodes, table, is_spanned)) return -1;
    Allowance left = {MOST_COPIED, MOST_COPIES};
    int64_t width = 0, worth = MOST_GROWTH * table->cells;
    for (int64_t y = 0; y < table->count; y++)
        if (width < table->rows[y].extent) width = table->rows[y].extent;
    if (width * table->count > (worth > MOST_CELLS ? worth : MOST_CELLS)) return 0;
    for (int64_t y = 0; y < table->count; y++) {
        Row *row = &table->rows[y];
        while (row->node->first) cut(row->node->first);
        for (int64_t x = 0; x < width; x++) {
            Node *shown = x < row->extent ? shown_at(nodes, row->places[x], &left) : make_element(nodes, TAG_td);
            if (!shown) return -1;
            append(row->node, shown);
        }
    }
    return 1;
}

int settle_table_of(Nodes *nodes, Node *node) {
    Table table = {.node = node};
    if (find_rows(nodes, &table)) return -1;
    if (!table.cells) {
        unwrap(node);
        return 0;
    }
    if (may_be_listing(nodes, &table)) return -1;
    if (is_layout(nodes, &table)) {
        take_apart(&table);
        return 0;
    }
    move_captions(node);
    if (move_feet(nodes, &table) || set_blocks_apart(nodes, node)) return -1;
    int is_filled = fill(nodes, &table);
    if (is_filled < 0 || is_out(nodes)) return -1;
    if (!is_filled) take_apart(&table);
    else if (holds(node, VERBATIM)) return -1;
    return 0;
}

static int holds_group(const Node *table) {
    for (const Node *part = table->first; part; part = part->after)
        if (part->tag == TAG_caption || (PARTS[part->tag] && count_children(part, PARTS))) return 1;
    return 0;
}

/* What was written since is one line: white space at its ends goes, within it becomes single spaces. */
static void join_lines(Out *out, int64_t start) {
    int64_t to = start;
    int is_apart = 0;
    if (out->is_out) return;
    for (int64_t at = start; at < out->size; at++) {
        uint8_t byte = out->bytes[at];
        if (byte == ' ' || byte == '\n') {
            is_apart = to > start;
            continue;
        }
        if (is_apart) out->bytes[to++] = ' ';
        is_apart = 0;
        out->bytes[to++] = byte;
    }
    out->size = to;
}

/* Whether a cell's end, or that of a block within it, shapes how the parser's writer spells what stands there: white space beyond ASCII
 * becomes a reference, and underscores are no markers, since what follows is taken for a letter. */
static int has_odd_edge(Slice cell) {
    int size;
    for (int64_t at = 0; at < cell.size; at += size) {
        uint32_t code = code_at(cell.at + at, cell.at + cell.size, &size);
        if (code >= 0x80 && is_space(code) && (!at || at + size == cell.size || cell.at[at + size] == ' ')) return 1;
    }
    return cell.size && cell.at[cell.size - 1] == '_' && (cell.size == 1 || cell.at[cell.size - 2] != '\\');
}

static int write_row(Nodes *nodes, const Row *row, Out *out) {
    put_text(out, "|");
    for (int64_t x = 0; x < row->count; x++) {
        put_text(out, " ");
        int64_t start = out->size;
        if (write_cell_of(nodes, row->cells[x].node, out)) return -1;
        join_lines(out, start);
        if (out->is_out || has_odd_edge((Slice){out->bytes + start, out->size - start})) return -1;
        put_text(out, " |");
    }
    return 0;
}

int write_table_of(Nodes *nodes, Node *node, Out *out) {
    Table table = {.node = node};
    if (holds_group(node) || find_rows(nodes, &table)) return -1; /* settled tables have no such things */
    int64_t written = 0;
    for (int64_t y = 0; y < table.count; y++) {
        const Row *row = &table.rows[y];
        if (!row->count) continue;
        if (row->count != table.widest) return -1;
        for (int64_t x = 0; x < row->count; x++)
            if (attribute_of(nodes, row->cells[x].node, "colspan").at || attribute_of(nodes, row->cells[x].node, "rowspan").at) return -1;
        if (written++) put_text(out, "\n");
        if (write_row(nodes, row, out)) return -1;
        if (written > 1) continue;
        put_text(out, "\n|");
        for (int64_t x = 0; x < row->count; x++) put_text(out, " --- |");
    }
    return out->is_out ? -1 : 0;
}

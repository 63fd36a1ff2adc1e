/* Lists as Markdown, with the numbers and markers of their items, and lists within cells of tables. */
#include "markdown.h"

enum { MOST_DIGITS = 9 };
enum { BULLETED = 1, NUMBERED_LIST, MIXED }; /* the last holds lists directly: what those that follow it have for a marker, nobody knows */

/* What a look at a list item found so far. */
typedef struct {
    Nodes *nodes;
    int last, in_run, has_text, is_loose;
    int is_within;   /* the last block is firm, and one of an element that a line may go on behind */
    int is_doubtful; /* it does: then the item asks for more room behind it than others do */
} Look;
/* Paragraphs need empty lines between them; text behind a lazy block would be read as part of it. */
enum { NONE, TEXT, LAZY, FIRM };

static void look_at(Look *look, const Node *node, int is_inline);

static void look_below(Look *look, const Node *node, int is_inline) {
    for (const Node *child = node->first; child; child = child->after) look_at(look, child, is_inline);
}

static void look_past_run(Look *look) {
    if (look->in_run) look->last = TEXT;
    look->in_run = look->is_within = 0;
}

/* Looks whether blocks of an item have to be parted by empty lines. */
static void look_at(Look *look, const Node *node, int is_inline) {
    if (!is_block_tag(node->tag)) {
        int is_whole = node->tag == TAG_TEXT || is_code_tag(node->tag);
        if (shows_itself(look->nodes, node) || (is_whole && shows(look->nodes, node))) {
            look->is_loose |= !look->in_run && (look->has_text || look->last == LAZY);
            look->is_doubtful |= look->is_within;
            look->in_run = look->has_text = 1;
        } else {
            look_below(look, node, 1);
        }
        return;
    }
    look_past_run(look);
    /* One that shows nothing, within a line, parts what stands on its two sides or does not. */
    look->is_doubtful |= is_inline && !shows(look->nodes, node);
    if (is_heading_tag(node->tag) || node->tag == TAG_hr || node->tag == TAG_pre) look->last = FIRM;
    else if (is_list_tag(node->tag) || node->tag == TAG_blockquote || node->tag == TAG_table) look->last = LAZY;
    else look_below(look, node, 0);
    look_past_run(look);
    look->is_within = is_inline && look->last == FIRM;
}

/* Whether items of a list are parted by empty lines, or those of a list that stands in it directly; -1 where it holds something
 * else than items and, before the first, lists. */
static int is_loose_list(Nodes *nodes, const Node *list) {
    int is_loose = 0, is_doubtful = 0, has_items = 0;
    for (const Node *item = list->first; item; item = item->after) {
        if (item->tag == TAG_TEXT && is_blank_text(item->text)) continue;
        if (is_list_tag(item->tag) && !has_items) {
            int is_inner_loose = is_loose_list(nodes, item);
            if (is_inner_loose < 0) return -1;
            is_loose |= is_inner_loose;
            continue;
        }
        if (item->tag != TAG_li) return -1;
        Look look = {.nodes = nodes};
        look_below(&look, item, 0);
        is_loose |= look.is_loose, is_doubtful |= look.is_doubtful, has_items = 1;
    }
    return is_doubtful && !is_loose ? -1 : is_loose;
}

static int holds_items(const Node *list) {
    for (const Node *item = list->first; item; item = item->after)
        if (item->tag == TAG_li || (is_list_tag(item->tag) && holds_items(item))) return 1;
    return 0;
}

/* The number that an attribute begins with; without any, it stays. -1 for one that is negative or too large. */
static int read_number(Nodes *nodes, const Node *element, const char *name, int64_t *number) {
    Slice text = attribute_of(nodes, element, name);
    int64_t at = 0, from, read = 0;
    while (at < text.size && is_space(text.at[at])) at++;
    if (at < text.size && text.at[at] == '-') return -1;
    at += at < text.size && text.at[at] == '+';
    for (from = at; at < text.size && is_digit(text.at[at]); at++) {
        if (at - from == MOST_DIGITS) return -1;
        read = read * 10 + text.at[at] - '0';
    }
    if (at > from) *number = read;
    return 0;
}

static int write_marker(Writer *writer, int64_t number, int turn) {
    char marker[24];
    int at = sizeof marker;
    marker[--at] = ' ';
    if (number < 0) {
        marker[--at] = turn ? '*' : '-';
    } else {
        marker[--at] = turn ? ')' : '.';
        do marker[--at] = (char)('0' + number % 10);
        while (number /= 10);
    }
    int size = (int)sizeof marker - at;
    put_bytes(writer->out, marker + at, size);
    return push_prefix(writer, NULL, size, 2) ? -1 : size;
}

static int starts_line(Nodes *nodes, const Node *node) {
    return is_heading_tag(node->tag) || shows_itself(nodes, node) || (is_code_tag(node->tag) && shows(nodes, node));
}

/* What an item shows first; NULL where it shows nothing. */
static const Node *first_shown(Nodes *nodes, const Node *item) {
    const Node *first = next_node(item, item);
    while (first && !starts_below(first->tag) && !starts_line(nodes, first)) first = next_node(item, first);
    return first;
}

static int write_item(Writer *writer, const Node *item, int64_t number, int turn, int is_loose) {
    if (how_spaced(writer->nodes, item)) return -1;
    int was_tight = writer->is_tight, size = write_marker(writer, number, turn);
    if (size < 0) return -1;
    writer->is_tight = !is_loose, writer->holds = MARKED, writer->in_items++;
    const Node *first = first_shown(writer->nodes, item);
    if (!first) return -1; /* rules took empty items away */
    if (starts_below(first->tag)) put_line_ends(writer, 1), writer->holds = BELOW;
    if (write_children(writer, item) || end_run(writer)) return -1;
    if (writer->holds != FILLED) return -1;
    writer->in_items--, writer->is_tight = was_tight;
    pop_prefix(writer, size, 2);
    return 0;
}

static int begins_with_list(Nodes *nodes, const Node *item) {
    const Node *first = first_shown(nodes, item);
    return first && is_list_tag(first->tag);
}

/* Whether a list can stand on the line below a paragraph: not where it begins with another number than one, or its first item
 * with an empty line. */
static int may_follow_at_once(Nodes *nodes, const Node *list, const Node *item) {
    int64_t number = 1;
    if (list->tag == TAG_ol && (read_number(nodes, list, "start", &number) || read_number(nodes, item, "value", &number))) return 0;
    const Node *first = first_shown(nodes, item);
    return number == 1 && first && !starts_below(first->tag);
}

/* A list that stands in another where an item should: as far in as what an item holds. */
static int write_inner_list(Writer *writer, const Node *list) {
    int was_tight = writer->is_tight;
    if ((writer->holds == EMPTY && writer->prefix_size) || push_prefix(writer, NULL, 2, 2)) return -1;
    if (writer->holds == EMPTY || writer->holds == BELOW) put_text(writer->out, "  ");
    writer->is_tight = 1, writer->in_items++;
    if (write_list(writer, list)) return -1;
    writer->is_tight = was_tight, writer->in_items--;
    pop_prefix(writer, 2, 2);
    return 0;
}

/* What parts an item from what comes before it. */
static void part_item(Writer *writer, const Node *list, const Node *item, int is_first, int apart) {
    if (!is_first) put_line_ends(writer, writer->is_tight ? 1 : writer->gap > apart ? writer->gap : apart);
    else if (writer->holds == FILLED && writer->emptied != writer->out->size && !may_follow_at_once(writer->nodes, list, item))
        put_line_ends(writer, 2);
    else if (writer->holds == FILLED) put_line_ends(writer, writer->is_tight ? 1 : writer->gap > apart ? writer->gap : apart);
}

int write_list(Writer *writer, const Node *list) {
    int is_loose = is_loose_list(writer->nodes, list), kind = list->tag == TAG_ol ? NUMBERED_LIST : BULLETED;
    int is_first = 1, has_inner = 0;
    int64_t number = kind == NUMBERED_LIST ? 1 : -1;
    if (is_loose < 0 || end_run(writer) || (kind == NUMBERED_LIST && read_number(writer->nodes, list, "start", &number))) return -1;
    if (!holds_items(list)) return writer->inline_from >= 0 || writer->is_hollow ? -1 : 0;
    writer->is_hollow = 0;
    Ended *ended = writer->ended + writer->in_items;
    int follows = ended->kind && ended->written == writer->written, turn = follows && ended->kind == kind && !ended->turn;
    int follows_inner = (ended[1].kind && ended[1].written == writer->written) || writer->quoted == writer->written;
    if (follows && (ended->kind == MIXED || (turn && writer->count))) return -1;
    ended[1].kind = 0; /* lists of this one's items follow none of another's */
    for (const Node *item = list->first; item; item = item->after) {
        if (is_list_tag(item->tag) && holds_items(item)) {
            if (follows || follows_inner || write_inner_list(writer, item)) return -1;
            is_first = follows_inner = 0, has_inner = 1;
        }
        if (item->tag != TAG_li) continue;
        if (has_inner && begins_with_list(writer->nodes, item)) return -1;
        part_item(writer, list, item, is_first, is_loose ? 2 : 1);
        if (kind == NUMBERED_LIST && read_number(writer->nodes, item, "value", &number)) return -1;
        if (write_item(writer, item, number, turn, is_loose)) return -1;
        number += kind == NUMBERED_LIST, is_first = 0;
    }
    *ended = (Ended){has_inner ? MIXED : kind, turn, writer->written};
    return 0;
}

/* Whether something is around a list that a line may go through: then its markers are but text. */
static int is_in_line(const Node *list) {
    for (const Node *at = list->parent; at && at->parent; at = at->parent)
        if (!is_block_tag(at->tag) && !(at->tag == TAG_td || at->tag == TAG_th || at->tag == TAG_tr || at->tag == TAG_tbody ||
                                        at->tag == TAG_thead || at->tag == TAG_tfoot)) return 1;
    return 0;
}

int write_list_in_cell(Writer *writer, const Node *list) {
    int64_t number = 1;
    if (is_in_line(list) || !holds_items(list) || (list->tag == TAG_ol && read_number(writer->nodes, list, "start", &number))) return -1;
    for (const Node *item = list->first; item; item = item->after) {
        if (item->tag == TAG_TEXT && is_blank_text(item->text)) continue;
        if (item->tag != TAG_li || how_spaced(writer->nodes, item)) return -1;
        if (list->tag == TAG_ol && read_number(writer->nodes, item, "value", &number)) return -1;
        writer->has_space = 1;
        if (begin_other(writer)) return -1;
        if (list->tag == TAG_ol) put_number(writer->out, number++), put_text(writer->out, ".");
        else put_text(writer->out, "*");
        writer->has_space = 1;
        if (write_children(writer, item)) return -1;
    }
    return 0;
}

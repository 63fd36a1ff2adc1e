/* Cuts the nodes of a page down to what was chosen, as `trimming.trim` cuts its tree, and asks what is left for the signs of text
 * that nobody sees. */
#include "looks.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* The elements that were read, by their places, of so many; NULL for those that were not. */
static Node **by_place(Nodes *nodes, int64_t all) {
    Node *top = top_of(nodes), **elements = take_room(nodes, all * (int64_t)sizeof *elements);
    if (!elements) return NULL;
    memset(elements, 0, (size_t)all * sizeof *elements);
    for (Node *at = next_node(top, top); at; at = next_node(top, at))
        if (at->tag != TAG_TEXT) elements[at->place] = at;
    return elements;
}

void put_text_below(Out *out, const Node *node) {
    if (node->tag == TAG_TEXT) put_bytes(out, node->text.at, node->text.size);
    for (const Node *at = next_node(node, node); at; at = next_node(node, at))
        if (at->tag == TAG_TEXT) put_bytes(out, at->text.at, at->text.size);
}

static int64_t replaced(uint8_t *text, int64_t size, const char *written, uint8_t meant) {
    int64_t length = (int64_t)strlen(written), kept = 0;
    for (int64_t at = 0; at < size; kept++) {
        int is_it = text[at] == '&' && size - at >= length && !memcmp(text + at, written, (size_t)length);
        text[kept] = is_it ? meant : text[at];
        at += is_it ? length : 1;
    }
    return kept;
}

/* Text as both the serialisation and the tree have it: no references, no white space. The same as `trimming._plain`. */
static int64_t plain(uint8_t *text, int64_t size) {
    if (size && memchr(text, '&', (size_t)size)) {
        size = replaced(text, size, "&lt;", '<');
        size = replaced(text, size, "&gt;", '>');
        size = replaced(text, size, "&amp;", '&');
    }
    int64_t kept = 0;
    for (int64_t at = 0; at < size;) {
        int taken;
        if (!is_space(code_at(text + at, text + size, &taken))) memmove(text + kept, text + at, (size_t)taken), kept += taken;
        at += taken;
    }
    return kept;
}

enum { PLACE, BEGINS, ENDS, COLUMNS };

/* Texts that go, and the places of the elements in which they stand; found by their hashes. */
typedef struct { const int64_t *rows; const uint8_t *text; int64_t *slots; uint64_t mask; } Loose;

static uint64_t hash_of(const uint8_t *text, int64_t size, int64_t place) {
    uint64_t hash = 14695981039346656037u ^ (uint64_t)place * 0x9E3779B97F4A7C15u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ text[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot of a text, which is empty (-1) where it is none of these. */
static int64_t *slot_of(const Loose *loose, int64_t place, const uint8_t *text, int64_t size) {
    for (uint64_t at = hash_of(text, size, place);; at++) {
        int64_t *slot = &loose->slots[at & loose->mask];
        const int64_t *row = loose->rows + *slot * COLUMNS;
        if (*slot < 0 || (row[PLACE] == place && row[ENDS] - row[BEGINS] == size && !memcmp(loose->text + row[BEGINS], text, (size_t)size))) return slot;
    }
}

/* Nodes next to each other that break no line go where together they say what goes. */
static void cut_loose(Node *element, int64_t place, const Loose *loose, Out *run) {
    Node *first = NULL;
    for (Node *at = element->first;; at = at->after) {
        if (at && (at->tag == TAG_TEXT || is_inline_tag(at->name.at, at->name.size))) {
            if (!first) first = at, run->size = 0;
            put_text_below(run, at);
            continue;
        }
        if (first && run->size) {
            run->size = plain(run->bytes, run->size);
            if (*slot_of(loose, place, run->bytes, run->size) >= 0)
                while (first != at) {
                    Node *after = first->after;
                    cut(first);
                    first = after;
                }
        }
        first = NULL;
        if (!at) break;
    }
}

static int fill_loose(Nodes *nodes, Loose *loose, const int64_t *rows, int64_t count, uint8_t *text) {
    uint64_t size = 16;
    while (size < (uint64_t)count * 2) size *= 2;
    int64_t *settled = take_room(nodes, count * COLUMNS * (int64_t)sizeof *settled), *slots = take_room(nodes, (int64_t)(size * sizeof *slots));
    if (!settled || !slots) return -1;
    memset(slots, 255, size * sizeof *slots);
    *loose = (Loose){settled, text, slots, size - 1};
    for (int64_t i = 0; i < count; i++) {
        const int64_t *row = rows + i * COLUMNS;
        int64_t *own = settled + i * COLUMNS;
        own[PLACE] = row[PLACE], own[BEGINS] = row[BEGINS], own[ENDS] = row[BEGINS] + plain(text + row[BEGINS], row[ENDS] - row[BEGINS]);
        *slot_of(loose, own[PLACE], text + own[BEGINS], own[ENDS] - own[BEGINS]) = i;
    }
    return 0;
}

int cut_nodes(Nodes *nodes, int64_t all, const Going *going) {
    if (!going->count && !going->row_count) return 0;
    Loose loose;
    Node **elements = by_place(nodes, all);
    if (!elements || fill_loose(nodes, &loose, going->rows, going->row_count, going->text)) return -1;
    Out run = {0};
    for (int64_t i = 0, last = -1; i < going->row_count; i++) {
        int64_t place = going->rows[i * COLUMNS + PLACE];
        if (place != last && place >= 0 && place < all && elements[place]) cut_loose(elements[place], place, &loose, &run);
        last = place;
    }
    int is_lost = run.is_out;
    free(run.bytes);
    for (int64_t i = 0; i < going->count; i++)
        if (going->places[i] >= 0 && going->places[i] < all && elements[going->places[i]]) cut(elements[going->places[i]]);
    return is_lost ? -1 : 0;
}

void put_telling_styles(Nodes *nodes, Out *out) {
    const Node *top = top_of(nodes);
    for (const Node *at = next_node(top, top); at; at = next_node(top, at)) {
        if (at->tag == TAG_TEXT || !at->attributes.size) continue;
        Slice style = attribute_of(nodes, at, "style");
        if (!style.at || (find_folded(style, "overflow") < 0 && find_folded(style, "text-indent") < 0)) continue;
        put_bytes(out, at->name.at, at->name.size), put_bytes(out, "", 1);
        put_bytes(out, style.at, style.size), put_bytes(out, "", 1);
    }
}

static int is_like(const uint8_t *one, const uint8_t *other, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if ((one[i] | 0x20) != (other[i] | 0x20)) return 0;
    return 1;
}

/* Whatever their case: on some pages it does not matter. */
static int is_one_of(Slice name, const uint8_t *names, int64_t size) {
    for (const uint8_t *at = names, *end = names + size; at < end;) {
        const uint8_t *close = memchr(at, 0, (size_t)(end - at));
        if (!close) close = end;
        if (close - at == name.size && is_like(at, name.at, name.size)) return 1;
        at = close + 1;
    }
    return 0;
}

int has_one_of(Nodes *nodes, const Node *element, const uint8_t *names, int64_t size) {
    if (element->tag == TAG_TEXT || !element->attributes.size) return 0;
    Slice id = attribute_of(nodes, element, "id"), classes = attribute_of(nodes, element, "class");
    if (id.at && is_one_of(id, names, size)) return 1;
    for (int64_t from = 0, to; from < classes.size; from = to + 1) {
        for (to = from; to < classes.size && !is_blank_byte(classes.at[to]); to++) {}
        if (to > from && is_one_of((Slice){classes.at + from, to - from}, names, size)) return 1;
    }
    return 0;
}

int holds_name(Nodes *nodes, const uint8_t *names, int64_t size) {
    const Node *top = top_of(nodes);
    for (const Node *at = size ? next_node(top, top) : NULL; at; at = next_node(top, at))
        if (has_one_of(nodes, at, names, size)) return 1;
    return 0;
}

/* The list of active formatting elements (§13.2.4.3), and what is done about elements that end in the wrong order (§13.2.6.4.7). */
#include "parsing.h"

#include <string.h>

enum { ROUNDS = 8, KEPT_CLONES = 3, MOST_LIKE = 3 };

static int place_of(const Parser *parser, const Node *element) {
    for (int i = parser->formatting_count - 1; i >= 0; i--)
        if (parser->formatting[i] == element) return i;
    return -1;
}

static int stack_place_of(const Parser *parser, const Node *element) {
    for (int i = parser->open_count - 1; i >= 0; i--)
        if (parser->open[i] == element) return i;
    return -1;
}

static void remove_at(Parser *parser, int at) {
    memmove(parser->formatting + at, parser->formatting + at + 1, sizeof *parser->formatting * (size_t)(parser->formatting_count - at - 1));
    parser->formatting_count--;
}

static void insert_at(Parser *parser, int at, Node *element) {
    if (parser->formatting_count == MOST_FORMATTING) {
        decline(parser, TOO_DEEP);
        return;
    }
    memmove(parser->formatting + at + 1, parser->formatting + at, sizeof *parser->formatting * (size_t)(parser->formatting_count - at));
    parser->formatting[at] = element;
    parser->formatting_count++;
}

static int are_like(const Node *one, const Node *other) {
    return one->tag == other->tag && one->attributes.size == other->attributes.size &&
           (!one->attributes.size || !memcmp(one->attributes.at, other->attributes.at, (size_t)one->attributes.size));
}

/* Of those that are alike, no more than three are kept. */
void remember(Parser *parser, Node *element) {
    int like = 0, earliest = 0;
    for (int i = parser->formatting_count - 1; i >= 0 && parser->formatting[i]; i--)
        if (are_like(parser->formatting[i], element)) like++, earliest = i;
    if (like >= MOST_LIKE) remove_at(parser, earliest);
    insert_at(parser, parser->formatting_count, element);
}

void set_marker(Parser *parser) { insert_at(parser, parser->formatting_count, NULL); }

void clear_to_marker(Parser *parser) {
    while (parser->formatting_count && parser->formatting[--parser->formatting_count]) {}
}

Node *formatting_of(const Parser *parser, int tag) {
    for (int i = parser->formatting_count - 1; i >= 0 && parser->formatting[i]; i--)
        if (parser->formatting[i]->tag == tag) return parser->formatting[i];
    return NULL;
}

void forget_formatting(Parser *parser, const Node *element) {
    int at = place_of(parser, element);
    if (at >= 0) remove_at(parser, at);
}

static Tag tag_of(const Node *element) { return (Tag){.name = element->name, .attributes = element->attributes, .tag = element->tag}; }

void reconstruct(Parser *parser) {
    int at = parser->formatting_count;
    while (at && parser->formatting[at - 1] && !parser->formatting[at - 1]->is_open) at--;
    for (; at < parser->formatting_count && !parser->why; at++) {
        Tag tag = tag_of(parser->formatting[at]);
        open_element(parser, &tag);
        parser->formatting[at] = current(parser);
    }
}

/* A formatting element's like, part of no tree. */
static Node *clone_of(Parser *parser, const Node *element) {
    Node *clone = ++parser->opened < parser->most_opened ? make_element(parser->nodes, element->tag) : NULL;
    if (clone) clone->attributes = element->attributes;
    else decline(parser, TOO_LARGE);
    return clone;
}

static void replace_open(Parser *parser, int at, Node *element) {
    parser->open[at]->is_open = 0;
    parser->open[at] = element;
    element->is_open = 1;
}

/* Clones all formatting elements between the one that ends and the block that goes furthest, which is at `block` of the stack. Gives
 * the outermost clone, or that block; `bookmark` is where the clone of the one that ends goes in the list. NULL where memory is out. */
static Node *clone_between(Parser *parser, const Node *ending, int block, int *bookmark) {
    Node *last = parser->open[block];
    const Node *furthest = last;
    for (int inner = 1, at = block - 1; parser->open[at] != ending; inner++, at--) {
        Node *node = parser->open[at];
        int listed = place_of(parser, node);
        if (listed >= 0 && inner > KEPT_CLONES) {
            remove_at(parser, listed);
            if (listed < *bookmark) --*bookmark;
            listed = -1;
        }
        if (listed < 0) {
            remove_open(parser, node);
            continue;
        }
        Node *clone = clone_of(parser, node);
        if (!clone) return NULL;
        parser->formatting[listed] = clone;
        replace_open(parser, at, clone);
        if (last == furthest) *bookmark = listed + 1;
        append(clone, last);
        last = clone;
    }
    return last;
}

/* One round for a formatting element at `at` of the stack, with the block at `block` within it. */
static void adopt_once(Parser *parser, Node *ending, int at, int block) {
    Node *ancestor = parser->open[at - 1], *furthest = parser->open[block];
    int bookmark = place_of(parser, ending);
    parser->is_moved = 1;
    Node *last = clone_between(parser, ending, block, &bookmark);
    Node *clone = last ? clone_of(parser, ending) : NULL;
    if (!clone) return;
    Node *after = place_for(parser, &ancestor);
    if (after) put_before(after, last);
    else append(ancestor, last);
    wrap_children(furthest, clone);
    int listed = place_of(parser, ending);
    remove_at(parser, listed);
    insert_at(parser, listed < bookmark ? bookmark - 1 : bookmark, clone);
    remove_open(parser, ending);
    block = stack_place_of(parser, furthest);
    if (parser->open_count == MOST_OPEN) {
        decline(parser, TOO_DEEP);
        return;
    }
    memmove(parser->open + block + 2, parser->open + block + 1, sizeof *parser->open * (size_t)(parser->open_count - block - 1));
    parser->open[block + 1] = clone;
    clone->is_open = 1;
    parser->open_count++;
    parser->open_of[clone->tag]++;
}

int adopt(Parser *parser, int tag) {
    if (is_current(parser, tag) && place_of(parser, current(parser)) < 0) {
        pop_open(parser);
        return 1;
    }
    for (int round = 0; round < ROUNDS && !parser->why; round++) {
        Node *ending = formatting_of(parser, tag);
        if (!ending) return 0;
        if (!ending->is_open) {
            forget_formatting(parser, ending);
            return 1;
        }
        int at = stack_place_of(parser, ending), block = at + 1;
        for (int i = parser->open_count - 1; i > at; i--)
            if (ends_any_scope(parser->open[i])) return 1;
        while (block < parser->open_count && !is_special(parser->open[block])) block++;
        if (block == parser->open_count) {
            while (parser->open_count > at) pop_open(parser);
            forget_formatting(parser, ending);
            return 1;
        }
        adopt_once(parser, ending, at, block);
    }
    return 1;
}

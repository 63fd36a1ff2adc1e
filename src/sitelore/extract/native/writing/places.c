/* Links to places of the page that they stand on: notes, and lists of what is on the page. */
#include <string.h>

#include "rewriting.h"

enum { MOST_MARKS = 2000, LONGEST_MARK = 11, MOST_LISTS = 100, FEW_NAMES = 64 };

static const Tags RAISED = {[TAG_sup] = 1};

/* A kind of characters that a note's mark may consist of. What is beyond ASCII may be of any kind. */
static int is_all(Slice text, const char *low, const char *high, int most) {
    int count = 0, taken;
    for (const uint8_t *at = text.at, *end = at + text.size; at < end; at += taken, count++) {
        uint32_t code = code_at(at, end, &taken);
        uint8_t small = code >= 'A' && code <= 'Z' ? (uint8_t)(code | 0x20) : (uint8_t)code;
        if (code < 0x80 && (small < (uint8_t)*low || small > (uint8_t)*high)) return 0;
    }
    return count > 0 && count <= most;
}

static int is_core(Slice text) { return is_all(text, "a", "z", 2) || is_all(text, "0", "9", 4) || is_all(text, "*", "*", 3); }

static Slice without_first(Slice text, int64_t count) { return stripped((Slice){text.at + count, text.size - count}); }

/* Whether a text may be a note's mark: a letter or two, a number, signs; in brackets, or with `note` before it. */
static int may_mark(Slice text) {
    static const char *const words[] = {"note", "nb", "n."};
    text = stripped(text);
    if (text.size && (text.at[0] == '[' || text.at[0] == '(')) text = without_first(text, 1);
    if (text.size && (text.at[text.size - 1] == ']' || text.at[text.size - 1] == ')')) text = stripped((Slice){text.at, text.size - 1});
    if (!text.size) return 0;
    if (is_core(text)) return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int64_t size = (int64_t)strlen(words[i]);
        if (find_folded(text, words[i]) == 0 && text.size > size && is_core(without_first(text, size))) return 1;
    }
    return 0;
}

/* All that stands below an element, where that is no longer than a mark can be; -1 where it is. */
static int short_text(const Node *element, uint8_t *text, int64_t room, Slice *out) {
    *out = (Slice){text, 0};
    for (const Node *at = element; (at = next_node(element, at));) {
        if (!is_text(at)) continue;
        if (out->size + at->text.size > room) return -1;
        memcpy(text + out->size, at->text.at, (size_t)at->text.size);
        out->size += at->text.size;
    }
    return 0;
}

static int says_reference(Slice words) {
    static const char *const said[] = {"footnote", "fn", "noteref", "endnote", "reference", "sup", "citation"};
    for (size_t i = 0; words.size && i < sizeof said / sizeof *said; i++)
        if (find_folded(words, said[i]) >= 0) return 1;
    return 0;
}

static int may_refer(Nodes *nodes, Node *link) {
    return closest(link, RAISED) || holds(link, RAISED) || says_reference(attribute_of(nodes, link, "role")) ||
           says_reference(attribute_of(nodes, link, "epub:type")) || says_reference(attribute_of(nodes, link, "class")) ||
           says_reference(attribute_of(nodes, link, "rel"));
}

static int may_be_mark(Nodes *nodes, Node *link, Slice href) {
    uint8_t room[4 * LONGEST_MARK];
    Slice text;
    return href.size > 1 && !short_text(link, room, sizeof room, &text) && may_mark(text) && may_refer(nodes, link);
}

/* Whether anything on the page has one of these names. */
static int is_named(Draft *draft, const Slice *names, int count) {
    for (Node *at = draft->root; (at = next_node(draft->root, at));) {
        if (is_text(at) || !at->attributes.size) continue;
        Slice own[] = {attribute_of(draft->nodes, at, "id"), attribute_of(draft->nodes, at, "name")};
        for (int i = 0; i < count; i++)
            for (int j = 0; j < 2; j++)
                if (own[j].at && is_same(own[j], names[i])) return 1;
    }
    return 0;
}

static Slice place_of(Draft *draft, const Picked *picked) {
    Slice href = picked->node->tag == TAG_a ? attribute_of(draft->nodes, picked->node, "href") : (Slice){NULL, 0};
    return href.size && href.at[0] == '#' ? href : (Slice){NULL, 0};
}

/* Whether Python may find a note that a mark leads to. */
static int may_hold_notes(Draft *draft) {
    Slice names[FEW_NAMES];
    int count = 0, seen = 0;
    for (int64_t i = 0; i < draft->count && seen < MOST_MARKS; i++) {
        Slice href = place_of(draft, draft->picked + i);
        if (!href.at) continue;
        seen++;
        if (!may_be_mark(draft->nodes, draft->picked[i].node, href)) continue;
        if (count == FEW_NAMES || memchr(href.at, '%', (size_t)href.size)) return 1;
        names[count++] = (Slice){href.at + 1, href.size - 1};
    }
    return count && is_named(draft, names, count);
}

static Node *outermost_list(Node *link) {
    Node *holder = NULL;
    for (Node *at = link; (at = closest(at, LISTS)); at = at->parent) holder = at;
    return holder;
}

/* The lists that links to places stand in, each once, in the order they are met. */
static int find_lists(Draft *draft, Node **lists) {
    int count = 0;
    for (int64_t i = 0; i < draft->count && count <= MOST_LISTS; i++) {
        if (!place_of(draft, draft->picked + i).at) continue;
        Node *holder = outermost_list(draft->picked[i].node);
        int known = count - 1; /* most often the newest */
        while (known >= 0 && lists[known] != holder) known--;
        if (holder && known < 0) lists[count++] = holder;
    }
    return count;
}

/* Whether a list holds two links or more, all to places of this page, and no other text. */
static int is_contents(Draft *draft, const Node *list, int64_t size) {
    int64_t links = 0, linked = 0;
    for (Node *at = (Node *)list; (at = next_node(list, at));) {
        if (at->tag != TAG_a) continue;
        if (!place_of(draft, &(Picked){at, -1}).at) return 0;
        links++, linked += count_shown(at);
    }
    return links > 1 && linked == size;
}

static void drop_contents_lists(Draft *draft) {
    Node *lists[MOST_LISTS + 1];
    int count = find_lists(draft, lists);
    int64_t whole = count ? count_shown(draft->root) : 0;
    for (int i = 0; i < count; i++) {
        int64_t size = count_shown(lists[i]);
        if (size >= whole || !is_contents(draft, lists[i], size)) continue;
        cut(lists[i]);
        whole -= size;
    }
}

int settle_places(Draft *draft) {
    if (!draft->links_within) return 0;
    if (may_hold_notes(draft)) return -1;
    drop_contents_lists(draft);
    return 0;
}

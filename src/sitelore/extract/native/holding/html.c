/* Nodes as HTML again, as the parser writes its tree (`dom.serialised`). */
#include "page.h"

#include <string.h>

/* As a text, or as a value between double quotes. */
static void put_escaped(Out *out, Slice text, int is_value) {
    const uint8_t *at = text.at, *end = at + text.size, *from = at;
    for (; at < end; at++) {
        const char *written = NULL;
        int size = 1;
        switch (*at) {
        case '&': written = "&amp;"; break;
        case '<': written = "&lt;"; break;
        case '>': written = "&gt;"; break;
        case '"': written = is_value ? "&quot;" : NULL; break;
        case 0xC2: if (end - at > 1 && at[1] == 0xA0) written = "&nbsp;", size = 2; break;
        default: break;
        }
        if (!written) continue;
        put_bytes(out, from, at - from);
        put_text(out, written);
        from = at + size, at = from - 1;
    }
    put_bytes(out, from, end - from);
}

static void put_attribute(Out *out, const char *name, Slice value) {
    put_text(out, " ");
    put_text(out, name);
    put_text(out, "=\"");
    put_escaped(out, value, 1);
    put_text(out, "\"");
}

static void put_start(Out *out, const Node *element) {
    put_bytes(out, "<", 1);
    put_bytes(out, element->name.at, element->name.size);
    put_bytes(out, element->attributes.at, element->attributes.size);
    put_bytes(out, ">", 1);
    const Node *first = element->first;
    if (is_told_twice(element) && first && first->tag == TAG_TEXT && first->text.size && *first->text.at == '\n') put_bytes(out, "\n", 1);
}

static void put_end(Out *out, const Node *element) {
    if (is_void_tag(element->tag) && !element->is_foreign) return;
    put_bytes(out, "</", 2);
    put_bytes(out, element->name.at, element->name.size);
    put_bytes(out, ">", 1);
}

int64_t write_html_of(Node *root, Out *out) {
    int64_t opened = 0;
    for (Node *at = root;;) {
        if (at->tag == TAG_TEXT) {
            const Node *parent = at->parent;
            if (holds_raw_text(parent->tag) && !parent->is_foreign) put_bytes(out, at->text.at, at->text.size);
            else put_escaped(out, at->text, 0);
        } else {
            at->place = (int32_t)opened++;
            put_start(out, at);
            if (at->first) { at = at->first; continue; }
            put_end(out, at);
        }
        while (at != root && !at->after) put_end(out, at = at->parent);
        if (at == root) return opened;
        at = at->after;
    }
}

void respell_attribute(Nodes *nodes, Node *element, const char *name, Slice value) {
    static __thread Out spelt;
    const uint8_t *at = element->attributes.at, *end = at + element->attributes.size;
    int64_t size = (int64_t)strlen(name);
    int is_told = 0;
    spelt.size = spelt.is_out = 0;
    for (const uint8_t *name_end, *next; at < end && (next = end_of_attribute(at, end, &name_end)); at = next) {
        int is_it = name_end - at - 1 == size && !memcmp(at + 1, name, (size_t)size);
        if (is_it) put_attribute(&spelt, name, value);
        else put_bytes(&spelt, at, next - at);
        is_told |= is_it;
    }
    if (!is_told) put_attribute(&spelt, name, value);
    uint8_t *room = spelt.is_out ? NULL : take_room(nodes, spelt.size);
    if (!room) return;
    memcpy(room, spelt.bytes, (size_t)spelt.size);
    element->attributes = (Slice){room, spelt.size}, element->named = 0;
}

/* Nodes as HTML again, as the parser writes its tree (`dom.serialised`). */
#include "page.h"

#include <string.h>

static void put_escaped(Out *out, Slice text) {
    const uint8_t *at = text.at, *end = at + text.size, *from = at;
    for (; at < end; at++) {
        const char *written = *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : NULL;
        int size = 1;
        if (*at == 0xC2 && end - at > 1 && at[1] == 0xA0) written = "&nbsp;", size = 2;
        if (!written) continue;
        put_bytes(out, from, at - from);
        put_text(out, written);
        from = at + size, at = from - 1;
    }
    put_bytes(out, from, end - from);
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
            else put_escaped(out, at->text);
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

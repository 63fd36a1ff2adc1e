#include "page.h"
#include "parsing.h"

#include <stdio.h>

static __thread Out html;
static __thread Parser parser;

/* Reads a whole page as `dom.serialised` writes its `html`. -1 where the tree has to be read. `source` has to outlive the page. */
EXPORT int64_t read_page(const uint8_t *source, int64_t size) { return read_page_nodes(source, size) ? 0 : -1; }

/* Makes the same page of its source: UTF-8 without a byte order mark. -1 where the tree has to be read. `source` has to outlive it. */
EXPORT int64_t parse_page(const uint8_t *source, int64_t size) {
    if (parse_nodes(&parser, source, size)) return 0;
    forget_page();
    return -1;
}

/* The page that was read last as HTML, until the next call in this thread; gives its size, -1 where there is none. */
EXPORT int64_t page_as_html(const uint8_t **told) {
    Nodes *nodes = page_nodes();
    html.size = html.is_out = 0;
    if (nodes && top_of(nodes)->first) write_html_of(top_of(nodes)->first, &html);
    *told = html.bytes;
    return nodes && !html.is_out ? html.size : -1;
}

static void put_row(Out *out, const Node *node) {
    char facts[120];
    if (node->tag == TAG_TEXT) {
        put_text(out, "text ");
        put_bytes(out, node->text.at, node->text.size);
    } else {
        snprintf(facts, sizeof facts, "%d deep %d line %d foreign %d tag %d ", (int)node->place, node->depth, node->is_in_line, node->is_foreign, node->tag);
        put_text(out, facts);
        put_bytes(out, node->name.at, node->name.size);
        put_bytes(out, node->attributes.at, node->attributes.size);
    }
    put_bytes(out, "", 1);
}

/* All that is known of the page's nodes, each with a NUL behind it, for who compares the ways to make them. */
EXPORT int64_t page_as_rows(const uint8_t **told) {
    Nodes *nodes = page_nodes();
    html.size = html.is_out = 0;
    for (Node *at = nodes ? top_of(nodes)->first : NULL; at; at = next_node(top_of(nodes), at)) put_row(&html, at);
    char opened[40];
    snprintf(opened, sizeof opened, "%lld", nodes ? (long long)opened_in(nodes) : 0);
    put_text(&html, opened);
    *told = html.bytes;
    return nodes && !html.is_out ? html.size : -1;
}

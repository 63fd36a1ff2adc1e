#include "page.h"

static __thread Out html;

/* Reads a whole page as `dom.serialised` writes its `html`. -1 where the tree has to be read. `source` has to outlive the page. */
EXPORT int64_t read_page(const uint8_t *source, int64_t size) { return read_page_nodes(source, size) ? 0 : -1; }

/* The page that was read last as HTML, until the next call in this thread; gives its size, -1 where there is none. */
EXPORT int64_t page_as_html(const uint8_t **told) {
    Nodes *nodes = page_nodes();
    html.size = html.is_out = 0;
    if (nodes && top_of(nodes)->first) write_html_of(top_of(nodes)->first, &html);
    *told = html.bytes;
    return nodes && !html.is_out ? html.size : -1;
}

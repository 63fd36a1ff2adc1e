/* A page's chosen content as Markdown and as plain text, in two steps: what Python has to answer first, then both texts. */
#include "page.h"
#include "texts.h"

/* The Markdown and the plain text; which signs are left to look at in the one, and whether the other is even. */
typedef struct { Told told; int64_t signs, is_even; } Written;

static __thread Draft *draft;
static __thread Out first, second, spare;

static int64_t tell(Told *told) {
    *told = (Told){first.bytes, second.bytes, first.size, second.size};
    return first.is_out || second.is_out ? -1 : 0;
}

static void begin(void) {
    first.size = second.size = 0;
    first.is_out = second.is_out = 0;
    draft = NULL;
}

static int64_t gather(Nodes *nodes, Told *told) {
    draft = gather_addresses(nodes, &second);
    return draft ? tell(told) : -1;
}

/* Looks at HTML without what goes from it; it holds `opened` elements, where that is known. Tells the tags and styles that may hide text,
 * then the addresses that have to be resolved. -1 where the tree has to be written: for one, where an element has one of `names`, which
 * style sheets hide. `html` has to outlive `write_page`. */
EXPORT int64_t look_at_html(const uint8_t *html, int64_t size, int64_t opened, const Going *going, const uint8_t *names, int64_t names_size, Told *told) {
    begin();
    Nodes *nodes = read_most_nodes(html, size, going->places, going->count);
    if (!nodes || (opened >= 0 && opened_in(nodes) != opened) || cut_nodes(nodes, opened_in(nodes), going)) return -1;
    if (holds_name(nodes, names, names_size)) return -1;
    put_telling_styles(nodes, &first);
    return gather(nodes, told);
}

/* The same of what was chosen of the page that was read last, which holds `opened` elements, in two steps: its styles first. */
EXPORT int64_t cut_chosen(int64_t opened, const Going *going, Told *told) {
    begin();
    Nodes *nodes = page_nodes();
    if (!nodes || cut_nodes(nodes, opened, going)) return -1;
    put_telling_styles(nodes, &first);
    return tell(told);
}

EXPORT int64_t look_at_chosen(Told *told) {
    begin();
    Nodes *nodes = page_nodes();
    forget_page(); /* writing makes something else of it */
    return nodes ? gather(nodes, told) : -1;
}

/* Evens a text where its white space is plain. */
static int is_evened(Out *text) {
    spare.size = 0;
    int64_t size = has_room(&spare, text->size + 1) ? even(text->bytes, text->size, spare.bytes) : -1;
    if (size < 0) return 0;
    spare.size = size;
    Out evened = spare;
    spare = *text, *text = evened;
    return 1;
}

/* The Markdown and the plain text of the page that was looked at last. -1 where the tree has to be written. */
EXPORT int64_t write_page(const uint8_t *answers, int64_t size, Written *written) {
    Draft *looked_at = draft;
    begin();
    spare.is_out = 0;
    if (!looked_at || rewrite(looked_at, answers, size)) return -1;
    Nodes *nodes = nodes_of(looked_at);
    Node *root = root_of(looked_at);
    if (write_markdown_of(nodes, root, &first)) return -1;
    int64_t signs = signs_in(first.bytes, first.size);
    if (is_crowded(signs)) {
        first.size = 0;
        flatten_marks(root);
        if (write_markdown_of(nodes, root, &first)) return -1;
        signs = signs_in(first.bytes, first.size);
    }
    if (write_plain_of(nodes, root, &second)) return -1;
    written->signs = tidy(&first, &spare, signs);
    written->is_even = is_evened(&second);
    return tell(&written->told);
}

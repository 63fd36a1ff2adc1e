/* Elements of what was chosen that a page's own style sheets speak of, as `content/style_sheets.py` asks about them. */
#include "unseen.h"

#include "looks.h"

#include <string.h>

static const char *const told_of_named[] = {"id", "class", "role", "aria-labelledby", NULL};

enum { MOST_CHARS = 300000, LONG_SHEET = 16000, IS_THERE = 0, SIZE, HOLDS_HEADING };

static __thread Listed named;
static __thread Out out;

static int64_t tell(Told *told) {
    *told = (Told){out.bytes, NULL, out.size, 0};
    return out.is_out ? -1 : 0;
}

static Node *chosen(void) { return scene_of_page() ? top_of(page_nodes())->first : NULL; }

/* Tells the elements below the chosen one that have one of these names, a NUL between them, in whatever case: their tags and what Python
 * asks of them. Gives how many; -1 where nothing was chosen. */
EXPORT int64_t tell_named(const uint8_t *names, int64_t size, Told *told) {
    Node *root = chosen();
    if (!root) return -1;
    Nodes *nodes = page_nodes();
    out.size = out.is_out = 0;
    named = (Listed){NULL, 0, 0};
    for (Node *at = root; (at = next_node(root, at));) {
        if (!has_one_of(nodes, at, names, size)) continue;
        list_element(nodes, &named, at);
        put_bytes(&out, at->name.at, at->name.size);
        put_bytes(&out, "", 1);
        put_told(nodes, &out, at, told_of_named);
    }
    return is_out(nodes) || tell(told) ? -1 : named.count;
}

/* Of one of them: whether it is still there, how many characters `text.strip()` has, whether it holds a heading. */
EXPORT int64_t ask_named(int64_t number, int64_t question) {
    Node *root = chosen();
    if (!root || number < 0 || number >= named.count) return -1;
    Node *element = named.elements[number];
    if (question == IS_THERE) return is_attached(page_nodes(), element);
    return question == SIZE ? size_of_text(element) : holds(element, HEADINGS);
}

/* The text of one of them. */
EXPORT int64_t tell_named_text(int64_t number, Told *told) {
    if (!chosen() || number < 0 || number >= named.count) return -1;
    out.size = out.is_out = 0;
    put_text_below(&out, named.elements[number]);
    return tell(told);
}

EXPORT int64_t drop_named(int64_t number) {
    if (!chosen() || number < 0 || number >= named.count) return -1;
    cut(named.elements[number]);
    return 0;
}

/* How many characters what was chosen has; -1 where nothing was. */
EXPORT int64_t size_of_chosen(void) {
    Node *root = chosen();
    int64_t size = 0;
    if (!root) return -1;
    for (const Node *at = root; (at = next_node(root, at));)
        if (is_text(at)) size += count_characters(at->text);
    return size;
}

/* Whether what was chosen is the page's body. */
EXPORT int64_t is_body_chosen(void) { return chosen() && chosen() == scene_of_page()->body; }

static int holds_word(const uint8_t *at, const uint8_t *end, const uint8_t *word, int64_t size) {
    while (end - at >= size && (at = memchr(at, *word, (size_t)(end - at - size + 1)))) {
        if (!memcmp(at, word, (size_t)size)) return 1;
        at++;
    }
    return 0;
}

/* Whether scripts of the page, or style sheets that nobody read for being long, speak of a name. */
EXPORT int64_t is_spoken_of(const uint8_t *name, int64_t size) {
    const Scene *scene = scene_of_page();
    if (!scene || !size) return -1;
    for (int64_t i = 0; i < scene->never.count; i++) {
        const Node *element = scene->never.elements[i];
        if (element->tag != TAG_script && element->tag != TAG_style) continue;
        out.size = out.is_out = 0;
        put_text_below(&out, element);
        int64_t chars = count_characters((Slice){out.bytes, out.size});
        if (out.is_out) return -1;
        if (!chars || (element->tag == TAG_style && chars <= LONG_SHEET)) continue;
        const uint8_t *end = out.bytes;
        for (int64_t left = MOST_CHARS; end < out.bytes + out.size && (left -= (*end & 0xC0) != 0x80) >= 0;) end++;
        if (holds_word(out.bytes, end, name, size)) return 1;
    }
    return 0;
}

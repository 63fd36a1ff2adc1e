/* The nodes as HTML again, the way the parser writes it: how a test sees what the rules have done. */
#include <string.h>

#include "writer.h"

#define EXPORT __attribute__((visibility("default")))

static void put_escaped(Out *out, Slice text, int is_value) {
    int64_t done = 0;
    for (int64_t at = 0; at < text.size; at++) {
        uint8_t byte = text.at[at];
        int is_fixed = byte == 0xC2 && at + 1 < text.size && text.at[at + 1] == 0xA0;
        const char *reference = byte == '&' ? "&amp;" : byte == '<' ? "&lt;" : byte == '>' ? "&gt;" : is_fixed ? "&nbsp;"
                                : byte == '"' && is_value ? "&quot;" : NULL;
        if (!reference) continue;
        put_bytes(out, text.at + done, at - done);
        put_text(out, reference);
        done = at + 1 + is_fixed;
    }
    put_bytes(out, text.at + done, text.size - done);
}

static void put_attribute(Out *out, Slice name, Slice value) {
    put_text(out, " ");
    put_bytes(out, name.at, name.size);
    put_text(out, "=\"");
    put_escaped(out, value, 1);
    put_text(out, "\"");
}

/* The attribute ` name="value"` that begins at `at`, as the page has it; gives where the next begins. */
static const uint8_t *take_attribute(const uint8_t *at, const uint8_t *end, Slice *name, Slice *value) {
    const uint8_t *equals = memchr(at + 2, '=', (size_t)(end - at - 2)); /* may be a name's first character */
    const uint8_t *close = memchr(equals + 2, '"', (size_t)(end - equals - 2));
    *name = (Slice){at + 1, equals - at - 1}, *value = (Slice){equals + 2, close - equals - 2};
    return close + 1;
}

static int is_named(Slice name, const char *wanted) { return (int64_t)strlen(wanted) == name.size && !memcmp(name.at, wanted, (size_t)name.size); }

/* Whether rules gave an attribute before this time, or the page did. */
static int is_older(const Node *element, const Given *given) {
    for (const Given *other = given->next; other; other = other->next)
        if (!strcmp(other->name, given->name)) return 1;
    Slice name, value;
    for (const uint8_t *at = element->attributes.at, *end = at + element->attributes.size; at < end;) {
        at = take_attribute(at, end, &name, &value);
        if (is_named(name, given->name)) return 1;
    }
    return 0;
}

/* What rules have added, oldest first: the newest stands first in its chain. */
static void put_given(Nodes *nodes, Out *out, const Node *element, const Given *given) {
    if (!given) return;
    put_given(nodes, out, element, given->next);
    Slice value = attribute_of(nodes, element, given->name);
    if (value.at && !is_older(element, given)) put_attribute(out, (Slice){(const uint8_t *)given->name, (int64_t)strlen(given->name)}, value);
}

static void put_attributes(Nodes *nodes, Out *out, const Node *element) {
    Slice name, value;
    for (const uint8_t *at = element->attributes.at, *end = at + element->attributes.size; at < end;) {
        at = take_attribute(at, end, &name, &value);
        const Given *given = element->given;
        while (given && !is_named(name, given->name)) given = given->next;
        if (!given) put_bytes(out, name.at - 1, at - name.at + 1);
        else if (given->is_there) put_attribute(out, name, given->value);
    }
    put_given(nodes, out, element, element->given);
}

static void put_node(Nodes *nodes, Out *out, const Node *node) {
    if (node->tag == TAG_TEXT) {
        put_escaped(out, node->text, 0);
        return;
    }
    put_text(out, "<");
    put_bytes(out, node->name.at, node->name.size);
    put_attributes(nodes, out, node);
    put_text(out, ">");
    if (is_void_tag(node->tag)) return;
    for (const Node *child = node->first; child; child = child->after) put_node(nodes, out, child);
    put_text(out, "</");
    put_bytes(out, node->name.at, node->name.size);
    put_text(out, ">");
}

static __thread Draft *draft;
static __thread Out out;

/* The raw addresses of a stretch, which is looked at; their size, or -1 where the Python way has to do it. */
EXPORT int64_t addresses_in_html(const uint8_t *html, int64_t size, const uint8_t **addresses) {
    out.size = out.is_out = 0;
    Nodes *nodes = read_nodes(html, size);
    draft = nodes ? gather_addresses(nodes, &out) : NULL;
    *addresses = out.bytes;
    return draft ? out.size : -1;
}

/* The stretch that was looked at last, rewritten; its size, or -1 likewise. */
EXPORT int64_t rewritten_html(const uint8_t *answers, int64_t size, const uint8_t **html) {
    out.size = out.is_out = 0;
    int is_left = !draft || rewrite(draft, answers, size);
    if (!is_left) put_node(nodes_of(draft), &out, root_of(draft));
    draft = NULL;
    *html = out.bytes;
    return is_left || out.is_out ? -1 : out.size;
}

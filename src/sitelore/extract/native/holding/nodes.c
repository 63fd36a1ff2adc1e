#include "nodes.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 18, KEPT_ROOM = 1 << 20, SLOTS = 512, LONGEST_NAME = 10 };

/* Rooms that were filled hang on one another; the newest, which is the largest, is kept for the next stretch. */
typedef struct Room { struct Room *older; int64_t size, used; _Alignas(16) uint8_t bytes[]; } Room;

struct Nodes {
    Room *room;
    Node *top;
    const int64_t *gone; /* the next place that goes */
    int64_t gone_count, opened;
    int is_out, is_page;
};

static const char *const names[TAG_COUNT] = {
    "", "",
#define NAMED(name) #name,
    KNOWN_TAGS(NAMED)
#undef NAMED
};
static const uint8_t name_sizes[TAG_COUNT] = {
    0, 0,
#define SIZED(name) sizeof #name - 1,
    KNOWN_TAGS(SIZED)
#undef SIZED
};

/* By a name's hash; 0 is nobody's, since TAG_TEXT has no name. Two threads that fill it write the same. */
static uint8_t slots[SLOTS];
static int is_filled;

static uint32_t slot_of(const uint8_t *name, int64_t size) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ name[i]) * 16777619u;
    return (hash ^ hash >> 15) % SLOTS;
}

static void fill_slots(void) {
    for (int tag = TAG_OTHER + 1; tag < TAG_COUNT; tag++) {
        uint32_t slot = slot_of((const uint8_t *)names[tag], name_sizes[tag]);
        while (slots[slot] && slots[slot] != tag) slot = (slot + 1) % SLOTS;
        slots[slot] = (uint8_t)tag;
    }
    is_filled = 1;
}

int tag_named(const uint8_t *name, int64_t size) {
    if (size > LONGEST_NAME) return TAG_OTHER;
    if (!is_filled) fill_slots();
    for (uint32_t slot = slot_of(name, size); slots[slot]; slot = (slot + 1) % SLOTS)
        if (name_sizes[slots[slot]] == size && !memcmp(names[slots[slot]], name, (size_t)size)) return slots[slot];
    return TAG_OTHER;
}

const char *name_of_tag(int tag) { return names[tag]; }

int is_void_tag(int tag) {
    switch (tag) {
    case TAG_area: case TAG_base: case TAG_br: case TAG_col: case TAG_embed: case TAG_frame: case TAG_hr: case TAG_img: case TAG_input:
    case TAG_link: case TAG_meta: case TAG_param: case TAG_source: case TAG_track: case TAG_wbr: return 1;
    default: return 0;
    }
}

int holds_raw_text(int tag) {
    switch (tag) {
    case TAG_iframe: case TAG_noembed: case TAG_noframes: case TAG_plaintext: case TAG_script: case TAG_style: case TAG_xmp: return 1;
    default: return 0;
    }
}

void *take_room(Nodes *nodes, int64_t size) {
    Room *room = nodes->room;
    size = (size + 15) & ~(int64_t)15;
    if (!room || room->size - room->used < size) {
        int64_t next = room ? room->size * 2 : FIRST_ROOM;
        while (next < size) next *= 2;
        Room *larger = malloc(sizeof *larger + (size_t)next);
        if (!larger) {
            nodes->is_out = 1;
            return NULL;
        }
        *larger = (Room){.older = room, .size = next};
        nodes->room = room = larger;
    }
    void *taken = room->bytes + room->used;
    room->used += size;
    return taken;
}

int is_out(const Nodes *nodes) { return nodes->is_out; }
Node *top_of(Nodes *nodes) { return nodes->top; }

static void forget(Nodes *nodes) {
    Room *room = nodes->room, *kept = room && room->size <= KEPT_ROOM ? room : NULL;
    for (room = kept ? room->older : room; room;) {
        Room *older = room->older;
        free(room);
        room = older;
    }
    if (kept) kept->older = NULL, kept->used = 0;
    *nodes = (Nodes){.room = kept};
}

static Node *make_node(Nodes *nodes, int tag) {
    Node *node = take_room(nodes, sizeof *node);
    if (node) *node = (Node){.tag = (uint16_t)tag};
    return node;
}

Node *make_element(Nodes *nodes, int tag) {
    Node *node = make_node(nodes, tag);
    if (node) node->name = (Slice){(const uint8_t *)names[tag], name_sizes[tag]};
    return node;
}

Node *make_text(Nodes *nodes, Slice text) {
    Node *node = make_node(nodes, TAG_TEXT);
    if (node) node->text = text;
    return node;
}

static int begins(Slice text, int64_t at, const char *what) {
    int64_t size = (int64_t)strlen(what);
    return text.size - at >= size && !memcmp(text.at + at, what, (size_t)size);
}

Slice without_references(Nodes *nodes, Slice text) {
    static const struct { const char *written, *meant; } known[] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\xC2\xA0"}, {"&quot;", "\""}};
    const uint8_t *first = text.size ? memchr(text.at, '&', (size_t)text.size) : NULL;
    if (!first) return text;
    uint8_t *out = take_room(nodes, text.size);
    if (!out) return text;
    int64_t size = first - text.at, at = size;
    memcpy(out, text.at, (size_t)size);
    while (at < text.size) {
        size_t which = 0;
        if (text.at[at] == '&')
            while (which < 5 && !begins(text, at, known[which].written)) which++;
        if (text.at[at] != '&' || which == 5) {
            out[size++] = text.at[at++];
            continue;
        }
        for (const char *meant = known[which].meant; *meant; meant++) out[size++] = (uint8_t)*meant;
        at += (int64_t)strlen(known[which].written);
    }
    return (Slice){out, size};
}

static int add_text(Nodes *nodes, Node *parent, const uint8_t *from, const uint8_t *to) {
    if (from == to) return 1;
    Node *text = make_text(nodes, without_references(nodes, (Slice){from, to - from}));
    if (text) append(parent, text);
    return text != NULL;
}

const uint8_t *end_of_attribute(const uint8_t *at, const uint8_t *end, const uint8_t **name_end) {
    const uint8_t *equals = end - at > 2 && *at == ' ' ? memchr(at + 2, '=', (size_t)(end - at - 2)) : NULL;
    if (!equals || end - equals < 3 || equals[1] != '"') return NULL;
    const uint8_t *close = memchr(equals + 2, '"', (size_t)(end - equals - 2));
    *name_end = equals;
    return close ? close + 1 : NULL;
}

static int are_plain(const uint8_t *at, const uint8_t *end) {
    const uint8_t *name_end;
    while (at && at < end) at = end_of_attribute(at, end, &name_end);
    return at != NULL;
}

int is_told_twice(const Node *element) {
    return element->tag == TAG_pre || element->tag == TAG_listing || element->tag == TAG_textarea;
}

int breaks_line(int tag) {
    switch (tag) {
    case TAG_address: case TAG_article: case TAG_aside: case TAG_blockquote: case TAG_body: case TAG_center: case TAG_dd: case TAG_details:
    case TAG_div: case TAG_dl: case TAG_dt: case TAG_fieldset: case TAG_figcaption: case TAG_figure: case TAG_footer: case TAG_form:
    case TAG_header: case TAG_hgroup: case TAG_html: case TAG_li: case TAG_main: case TAG_menu: case TAG_nav: case TAG_ol: case TAG_p:
    case TAG_search: case TAG_section: case TAG_summary: case TAG_table: case TAG_tbody: case TAG_td: case TAG_tfoot: case TAG_th:
    case TAG_thead: case TAG_tr: case TAG_ul: return 1;
    default: return 0;
    }
}

int holds_html(const Node *element) {
    const Slice name = element->name;
    return element->tag == TAG_title || (name.size == 4 && !memcmp(name.at, "desc", 4)) || (name.size == 13 && !memcmp(name.at, "foreignObject", 13));
}

/* Whether an element is of SVG or MathML: 1, 0, or -1 where only the parser knows. */
static int is_foreign(const Node *element, const Node *parent) {
    if (element->tag == TAG_svg || element->tag == TAG_math) return 1;
    if (!parent->is_foreign || holds_html(parent)) return 0;
    if (!is_void_tag(element->tag) && !holds_raw_text(element->tag)) return 1;
    for (; parent->is_foreign; parent = parent->parent)
        if (parent->tag == TAG_math) return -1; /* some of its elements hold HTML */
    return 1;
}

/* Adds the text of an element that is written as it is; gives where its end tag begins, or NULL. */
static const uint8_t *add_raw_text(Nodes *nodes, Node *element, const uint8_t *at, const uint8_t *end) {
    const uint8_t *from = at;
    int64_t size = element->name.size;
    for (; (at = memchr(at, '<', (size_t)(end - at))); at++)
        if (end - at > size + 2 && at[1] == '/' && !memcmp(at + 2, element->name.at, (size_t)size) && at[size + 2] == '>') break;
    if (!at) return NULL;
    Node *text = at > from ? make_text(nodes, (Slice){from, at - from}) : NULL;
    if (text) append(element, text);
    return text || at == from ? at : NULL;
}

/* Adds an element that begins at `at`, behind the `<`; gives where its tag ends, or NULL. `parent` becomes the one to go on in. */
static const uint8_t *add_element(Nodes *nodes, Node **parent, const uint8_t *at, const uint8_t *end) {
    const uint8_t *name = at;
    while (at < end && *at != ' ' && *at != '>') at++;
    const uint8_t *close = at < end ? memchr(at, '>', (size_t)(end - at)) : NULL; /* within values it is a reference */
    Node *element = close && at > name && are_plain(at, close) ? make_node(nodes, tag_named(name, at - name)) : NULL;
    if (!element || (*parent)->depth >= MOST_DEEP) return NULL;
    element->name = (Slice){name, at - name}, element->attributes = (Slice){at, close - at};
    int foreign = is_foreign(element, *parent), is_raw = !foreign && holds_raw_text(element->tag);
    if (foreign < 0 || (is_raw && element->tag == TAG_plaintext)) return NULL; /* a parser opens marks anew in it, though it is raw */
    element->is_foreign = (uint8_t)foreign;
    element->depth = (uint16_t)((*parent)->depth + 1), element->place = (int32_t)nodes->opened++;
    element->is_in_line = (*parent)->is_in_line || !breaks_line(element->tag);
    append(*parent, element);
    if (!is_void_tag(element->tag) || foreign) *parent = element;
    if (is_raw) return (at = add_raw_text(nodes, element, close + 1, end)) ? at - 1 : NULL;
    if (!is_told_twice(element) || close + 1 == end || close[1] != '\n') return close;
    return close + 2 < end && close[2] == '\n' ? close + 1 : NULL;
}

/* Whether the element that is opened next goes, and can be left unread. */
static int goes_next(Nodes *nodes, const Node *parent) {
    while (nodes->gone_count && *nodes->gone < nodes->opened) nodes->gone++, nodes->gone_count--;
    return nodes->gone_count && *nodes->gone == nodes->opened && !parent->is_in_line;
}

/* Adds an element that goes, with nothing in it, and goes past what it holds; NULL where it does not end. It still parts the texts on
 * its two sides. */
static const uint8_t *skip_element(Nodes *nodes, Node *parent, const uint8_t *at, const uint8_t *end) {
    const uint8_t *name = at;
    while (at < end && *at != ' ' && *at != '>') at++;
    int64_t size = at - name, open = 1;
    int tag = tag_named(name, size);
    Node *element = size ? make_node(nodes, tag) : NULL;
    if (!element) return NULL;
    element->name = (Slice){name, size}, element->place = (int32_t)nodes->opened++;
    append(parent, element);
    if (is_void_tag(tag) || holds_raw_text(tag)) return is_void_tag(tag) ? memchr(at, '>', (size_t)(end - at)) : NULL;
    while ((at = memchr(at, '<', (size_t)(end - at)))) {
        int is_end = ++at < end && *at == '/';
        at += is_end;
        nodes->opened += !is_end;
        int is_like = end - at > size && !memcmp(at, name, (size_t)size) && (at[size] == '>' || at[size] == ' ');
        if (!is_like) continue;
        open += is_end ? -1 : 1;
        if (!open) return memchr(at, '>', (size_t)(end - at));
    }
    return NULL;
}

static int fill(Nodes *nodes, const uint8_t *at, const uint8_t *end) {
    Node *parent = nodes->top;
    while (at < end) {
        const uint8_t *open = memchr(at, '<', (size_t)(end - at));
        if (!add_text(nodes, parent, at, open ? open : end)) return 0;
        if (!open) break;
        at = open + 1;
        if (at < end && *at == '/') {
            const uint8_t *close = memchr(at, '>', (size_t)(end - at));
            int64_t size = close ? close - at - 1 : -1;
            if (size != parent->name.size || !parent->parent || memcmp(at + 1, parent->name.at, (size_t)size)) return 0;
            parent = parent->parent, at = close + 1;
        } else {
            const uint8_t *close = goes_next(nodes, parent) ? skip_element(nodes, parent, at, end) : add_element(nodes, &parent, at, end);
            if (!close) return 0;
            at = close + 1;
        }
    }
    return parent == nodes->top;
}

static __thread Nodes kept;

static int begin(void) {
    if (!is_filled) fill_slots();
    forget(&kept);
    kept.top = make_node(&kept, TAG_OTHER);
    return kept.top != NULL;
}

Nodes *read_nodes(const uint8_t *html, int64_t size) { return read_most_nodes(html, size, NULL, 0); }

int64_t opened_in(const Nodes *nodes) { return nodes->opened; }

Nodes *read_most_nodes(const uint8_t *html, int64_t size, const int64_t *gone, int64_t count) {
    if (!begin()) return NULL;
    kept.gone = gone, kept.gone_count = count;
    return fill(&kept, html, html + size) && !kept.is_out ? &kept : NULL;
}

Nodes *read_page_nodes(const uint8_t *html, int64_t size) {
    if (!begin()) return NULL;
    kept.is_page = 1;
    if (fill(&kept, html, html + size) && !kept.is_out) return &kept;
    kept.is_page = 0;
    return NULL;
}

Nodes *empty_page(void) {
    if (!begin()) return NULL;
    kept.is_page = 1;
    return &kept;
}

void set_opened(Nodes *nodes, int64_t opened) { nodes->opened = opened; }
Nodes *page_nodes(void) { return kept.is_page && !kept.is_out ? &kept : NULL; }
void forget_page(void) { kept.is_page = 0; }

static uint64_t bit_of(const uint8_t *name, int64_t size) { return (uint64_t)1 << ((name[size - 1] * 5u + (uint32_t)size) & 63); }

/* Most questions are about attributes that are not there, and this is answered once for all of them. */
static void note_names(Node *element) {
    const uint8_t *at = element->attributes.at, *end = at + element->attributes.size;
    for (const uint8_t *name_end, *next; at < end && (next = end_of_attribute(at, end, &name_end)); at = next)
        element->named |= bit_of(at + 1, name_end - at - 1);
}

Slice attribute_of(Nodes *nodes, const Node *element, const char *name) {
    for (const Given *given = element->given; given; given = given->next)
        if (!strcmp(given->name, name)) return given->is_there ? given->value : (Slice){NULL, 0};
    if (!element->attributes.size) return (Slice){NULL, 0};
    const uint8_t *at = element->attributes.at, *end = at + element->attributes.size;
    int64_t wanted = (int64_t)strlen(name);
    if (!element->named) note_names((Node *)element);
    if (!(element->named & bit_of((const uint8_t *)name, wanted))) return (Slice){NULL, 0};
    for (const uint8_t *name_end, *next; at < end && (next = end_of_attribute(at, end, &name_end)); at = next)
        if (name_end - at - 1 == wanted && !memcmp(at + 1, name, (size_t)wanted))
            return without_references(nodes, (Slice){name_end + 2, next - name_end - 3});
    return (Slice){NULL, 0};
}

int next_attribute(const Node *element, const uint8_t **at, Slice *name, Slice *written) {
    const uint8_t *begin = *at ? *at : element->attributes.at, *end = element->attributes.at + element->attributes.size;
    if (!begin || end - begin < 4) return 0;
    const uint8_t *equals = begin + 2; /* names are short, so that a search costs more than a look */
    while (end - equals > 2 && *equals != '=') equals++;
    const uint8_t *close = end - equals > 2 ? memchr(equals + 2, '"', (size_t)(end - equals - 2)) : NULL;
    if (!close) return 0;
    *name = (Slice){begin + 1, equals - begin - 1}, *written = (Slice){equals + 2, close - equals - 2}, *at = close + 1;
    return 1;
}

static void give(Nodes *nodes, Node *element, const char *name, Slice value, int is_there) {
    Given *given = take_room(nodes, sizeof *given);
    if (!given) return;
    *given = (Given){element->given, name, value, is_there};
    element->given = given;
}

void set_attribute(Nodes *nodes, Node *element, const char *name, Slice value) { give(nodes, element, name, value, 1); }
void drop_attribute(Nodes *nodes, Node *element, const char *name) { give(nodes, element, name, (Slice){NULL, 0}, 0); }

void cut(Node *node) {
    if (!node->parent) return;
    *(node->before ? &node->before->after : &node->parent->first) = node->after;
    *(node->after ? &node->after->before : &node->parent->last) = node->before;
    node->parent = node->before = node->after = NULL;
}

/* Between two neighbours, either of which may be NULL. */
static void put(Node *parent, Node *before, Node *node, Node *after) {
    node->parent = parent, node->before = before, node->after = after;
    *(before ? &before->after : &parent->first) = node;
    *(after ? &after->before : &parent->last) = node;
}

void append(Node *parent, Node *node) {
    cut(node);
    put(parent, parent->last, node, NULL);
}

void put_before(Node *place, Node *node) {
    cut(node);
    put(place->parent, place->before, node, place);
}

void put_after(Node *place, Node *node) {
    cut(node);
    put(place->parent, place, node, place->after);
}

void unwrap(Node *element) {
    while (element->first) put_before(element, element->first);
    cut(element);
}

void wrap_children(Node *element, Node *wrapper) {
    while (element->first) append(wrapper, element->first);
    append(element, wrapper);
}

/* A page, or a stretch of one, as nodes that rules may move about: what compiled code reads, cuts and writes.
 *
 * The HTML is what the parser writes of a tree (`dom.serialised`): every element is closed, attributes stand in double quotes,
 * there are no comments. Nodes and all they own live in one arena, which the next page uses again.
 */
#ifndef SITELORE_NODES_H
#define SITELORE_NODES_H

#include <stddef.h>
#include <stdint.h>

typedef struct { const uint8_t *at; int64_t size; } Slice;

/* Tags that some rule is about. Names are told apart by these numbers alone. */
#define KNOWN_TAGS(TAG)                                                                                                       \
    TAG(a) TAG(abbr) TAG(acronym) TAG(address) TAG(applet) TAG(area) TAG(article) TAG(aside) TAG(audio) TAG(b) TAG(base)      \
    TAG(basefont) TAG(bdi) TAG(bdo) TAG(bgsound) TAG(big) TAG(blockquote) TAG(body) TAG(br) TAG(button) TAG(canvas)           \
    TAG(caption) TAG(center) TAG(cite) TAG(code) TAG(col) TAG(colgroup) TAG(data) TAG(datalist) TAG(dd) TAG(del)              \
    TAG(details) TAG(dfn) TAG(dialog) TAG(dir) TAG(div) TAG(dl) TAG(dt) TAG(em) TAG(embed) TAG(fieldset) TAG(figcaption)      \
    TAG(figure) TAG(font) TAG(footer) TAG(form) TAG(frame) TAG(frameset) TAG(h1) TAG(h2) TAG(h3) TAG(h4) TAG(h5) TAG(h6)      \
    TAG(head) TAG(header) TAG(hgroup) TAG(hr) TAG(html) TAG(i) TAG(iframe) TAG(image) TAG(img) TAG(input) TAG(ins) TAG(kbd)   \
    TAG(keygen) TAG(label) TAG(legend) TAG(li) TAG(link) TAG(listing) TAG(main) TAG(map) TAG(mark) TAG(marquee) TAG(math)     \
    TAG(menu) TAG(meta) TAG(meter) TAG(nav) TAG(nobr) TAG(noembed) TAG(noframes) TAG(noscript) TAG(object) TAG(ol)            \
    TAG(optgroup) TAG(option) TAG(output) TAG(p) TAG(param) TAG(picture) TAG(plaintext) TAG(pre) TAG(progress) TAG(q)         \
    TAG(rb) TAG(rp) TAG(rt) TAG(rtc) TAG(ruby) TAG(s) TAG(samp) TAG(script) TAG(search) TAG(section) TAG(select) TAG(slot)    \
    TAG(small) TAG(source) TAG(span) TAG(strike) TAG(strong) TAG(style) TAG(sub) TAG(summary) TAG(sup) TAG(svg) TAG(table)    \
    TAG(tbody) TAG(td) TAG(template) TAG(textarea) TAG(tfoot) TAG(th) TAG(thead) TAG(time) TAG(title) TAG(tr) TAG(track)      \
    TAG(tt) TAG(u) TAG(ul) TAG(var) TAG(video) TAG(wbr) TAG(xmp)
#define NUMBERED(name) TAG_##name,
enum { TAG_TEXT, TAG_OTHER, KNOWN_TAGS(NUMBERED) TAG_COUNT };
#undef NUMBERED

typedef struct Given {
    struct Given *next;
    const char *name;
    Slice value;
    int is_there;
} Given;

typedef struct Node {
    struct Node *parent, *first, *last, *before, *after;
    Slice name;       /* of an element */
    Slice attributes; /* of an element, as they stand in the HTML */
    Slice text;       /* of a text, without references; of one in a script or a style sheet as it stands */
    uint64_t named;   /* what its attributes may be called, a bit each; 0 as long as nobody asked */
    Given *given;     /* attributes that a rule set or took away */
    int32_t place;    /* of an element that was read: among all elements of the HTML */
    uint16_t tag;     /* TAG_TEXT for text */
    uint16_t depth;   /* as it was read */
    uint8_t is_in_line; /* as it was read: whether all that is around it may be part of a line */
    uint8_t is_foreign; /* part of SVG or MathML, as their outermost elements are */
    uint8_t is_open;    /* while its page is parsed: on the stack of open elements */
} Node;

typedef struct Nodes Nodes;

enum { MOST_DEEP = 300 };

/* The nodes of a stretch, below one that stands for the stretch itself (TAG_OTHER, no name). NULL where it is not well formed,
 * nests deeper than MOST_DEEP, or memory is out. The HTML has to outlive them. What was read before in this thread is gone. */
Nodes *read_nodes(const uint8_t *html, int64_t size);
/* The same without what elements hold that go, given by their places in ascending order. Those within a line are read whole. */
Nodes *read_most_nodes(const uint8_t *html, int64_t size, const int64_t *gone, int64_t count);
/* The nodes of a whole page, its `html` below the one that stands for the page: there scripts, style sheets and the like hold text as
 * it stands. */
Nodes *read_page_nodes(const uint8_t *html, int64_t size);
/* The page that was read last in this thread, NULL where that was none. */
Nodes *page_nodes(void);
/* None yet but the one that stands for the page: for who fills it otherwise. It becomes the page that was read last. NULL where memory is
 * out. */
Nodes *empty_page(void);
/* No page was read. */
void forget_page(void);
/* Whether a tag's text stands in HTML as it is, with no references. */
int holds_raw_text(int tag);
/* Whether the parser writes a line end that an element's text begins with twice: readers of HTML leave the first one out. */
int is_told_twice(const Node *element);
/* Those that no line goes through: what goes out of one of these is part of no text around it. */
int breaks_line(int tag);
/* Whether elements are HTML's own again within one of SVG. */
int holds_html(const Node *element);
/* The number of a tag, TAG_OTHER where no rule is about it. */
int tag_named(const uint8_t *name, int64_t size);
/* How many elements the HTML holds, read or not. */
int64_t opened_in(const Nodes *nodes);
/* For who fills an empty page. */
void set_opened(Nodes *nodes, int64_t opened);
Node *top_of(Nodes *nodes);

/* Room that lasts as long as the nodes. NULL where memory is out: then `is_out` says so for good. */
void *take_room(Nodes *nodes, int64_t size);
int is_out(const Nodes *nodes);

/* Where the attribute ` name="value"` that begins here ends, and where its name does; NULL where it is none. A name may hold quotes,
 * but past its first character no equals sign. */
const uint8_t *end_of_attribute(const uint8_t *at, const uint8_t *end, const uint8_t **name_end);
/* An attribute's value without references; `at` is NULL where there is none. */
Slice attribute_of(Nodes *nodes, const Node *element, const char *name);
/* An element's next attribute, of those that were read, its value as it is written; 0 past the last. `at` begins as NULL. */
int next_attribute(const Node *element, const uint8_t **at, Slice *name, Slice *written);
/* Text without the five references that the parser writes. */
Slice without_references(Nodes *nodes, Slice text);
void set_attribute(Nodes *nodes, Node *element, const char *name, Slice value);
void drop_attribute(Nodes *nodes, Node *element, const char *name);

/* New nodes, part of no tree; NULL where memory is out. */
Node *make_element(Nodes *nodes, int tag);
Node *make_text(Nodes *nodes, Slice text);

/* Nodes that are put somewhere are first taken from where they were. */
void cut(Node *node);
void append(Node *parent, Node *node);
void put_before(Node *place, Node *node);
void put_after(Node *place, Node *node);
/* An element goes and what it holds stays in its place. */
void unwrap(Node *element);
/* A new element takes in all that another holds. */
void wrap_children(Node *element, Node *wrapper);

/* The next node in document order below `top`, NULL past the last; `past` leaves out what is below `at`. */
static inline Node *next_past(const Node *top, const Node *at) {
    while (at != top && !at->after) at = at->parent;
    return at != top ? at->after : NULL;
}
static inline Node *next_node(const Node *top, const Node *at) { return at->first ? at->first : next_past(top, at); }

const char *name_of_tag(int tag);
int is_void_tag(int tag);
/* What `str.isspace` says of ASCII. */
static inline int is_blank_byte(uint8_t byte) { return byte == 32 || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31); }

#endif

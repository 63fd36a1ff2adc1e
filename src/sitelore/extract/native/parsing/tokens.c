/* Tags, comments and doctypes (§13.2.5). A NUL or a return is nowhere in the source: pages with one were declined, or made without. */
#include "parsing.h"

#include <string.h>

enum { MOST_ATTRIBUTES = 200, SHORT_NAME = 32 };
enum { ENDS_NAME = 1, IS_UPPER = 2, IS_PLAIN = 4, NEEDS_LOOK = 8 };

/* IS_PLAIN may be in a name that stands as it is written; NEEDS_LOOK may have to be written otherwise in a value, or ends it. */
static const uint8_t kinds[256] = {
    ['\t'] = ENDS_NAME, ['\n'] = ENDS_NAME, ['\f'] = ENDS_NAME, [' '] = ENDS_NAME, ['/'] = ENDS_NAME, ['>'] = ENDS_NAME | NEEDS_LOOK,
    ['A' ... 'Z'] = IS_UPPER, ['a' ... 'z'] = IS_PLAIN, ['0' ... '9'] = IS_PLAIN, ['-'] = IS_PLAIN, ['_'] = IS_PLAIN, [':'] = IS_PLAIN,
    ['.'] = IS_PLAIN, ['@'] = IS_PLAIN, ['<'] = NEEDS_LOOK, ['&'] = NEEDS_LOOK, ['"'] = NEEDS_LOOK, [0xC2] = NEEDS_LOOK,
};

/* The names of a tag's attributes so far. */
typedef struct { Slice names[MOST_ATTRIBUTES]; int count; uint64_t seen; } Named;

/* Whether a name is a new one; it is remembered. */
static int is_new(Named *named, Slice name) {
    uint64_t mark = UINT64_C(1) << ((name.at[0] + name.at[name.size - 1] * 5 + name.size * 11) & 63);
    if (named->seen & mark)
        for (int i = 0; i < named->count; i++)
            if (named->names[i].size == name.size && !memcmp(named->names[i].at, name.at, (size_t)name.size)) return 0;
    named->seen |= mark;
    if (named->count < MOST_ATTRIBUTES) named->names[named->count] = name;
    named->count++;
    return 1;
}

static int begins(const uint8_t *at, const uint8_t *end, const char *what) {
    int64_t size = (int64_t)strlen(what);
    return end - at >= size && !memcmp(at, what, (size_t)size);
}

/* Whether one of the references stands here that attributes are written with. */
static int is_written(const uint8_t *at, const uint8_t *end) {
    return begins(at, end, "&amp;") || begins(at, end, "&quot;") || begins(at, end, "&lt;") || begins(at, end, "&gt;") || begins(at, end, "&nbsp;");
}

/* The next byte that has to be looked at, among many at a time. */
static inline const uint8_t *next_look(const uint8_t *at, const uint8_t *end) {
    typedef uint8_t Bytes __attribute__((vector_size(16)));
    for (; end - at >= 16; at += 16) {
        Bytes some;
        memcpy(&some, at, sizeof some);
        uint64_t found[2];
        Bytes looks = (Bytes)((some == '"') | (some == '&') | (some == '<') | (some == '>') | (some == 0xC2));
        memcpy(found, &looks, sizeof found);
        if (found[0] | found[1]) break;
    }
    while (at < end && !(kinds[*at] & NEEDS_LOOK)) at++;
    return at;
}

/* Where a value in double quotes ends that stands as it is written; NULL where it does not. */
static const uint8_t *end_of_plain_value(const uint8_t *at, const uint8_t *end) {
    for (;; at++) {
        at = next_look(at, end);
        if (at == end) return NULL;
        if (*at == '"') return at;
        if (*at == 0xC2 ? end - at > 1 && at[1] == 0xA0 : *at != '&' || !is_written(at, end)) return NULL;
    }
}

/* Whether a name of SVG's own stands as it is written. */
static int is_well_spelled(Slice name) {
    const char *like = svg_attribute_like(name.at, name.size);
    return like ? !memcmp(like, name.at, (size_t)name.size) : 1;
}

/* Reads attributes that stand in the source as they are written; gives what is behind the tag, NULL where some do not. */
static const uint8_t *read_plain(const uint8_t *at, const uint8_t *end, Tag *tag) {
    const uint8_t *from = at;
    Named named;
    named.count = 0, named.seen = 0;
    while (end - at > 1 && *at == ' ' && kinds[at[1]] & (tag->is_svg ? IS_PLAIN | IS_UPPER : IS_PLAIN)) {
        const uint8_t *name = ++at;
        int seen = 0;
        while (at < end && kinds[*at] & (IS_PLAIN | IS_UPPER)) seen |= kinds[*at++];
        if (end - at < 3 || *at != '=' || at[1] != '"') return NULL;
        Slice called = {name, at - name};
        if (tag->is_svg ? !is_well_spelled(called) || ((seen & IS_UPPER) && !svg_attribute_like(name, called.size)) : seen & IS_UPPER) return NULL;
        if (!is_new(&named, called) || named.count > MOST_ATTRIBUTES) return NULL;
        if (!(at = end_of_plain_value(at + 2, end))) return NULL;
        at++;
    }
    tag->attributes = (Slice){from, at - from};
    while (at < end && (kinds[*at] & ENDS_NAME) && *at != '>') at++;
    if (at == end || *at != '>') return NULL;
    tag->is_closed = at[-1] == '/';
    return at + 1;
}

static void put_escaped(Out *out, const uint8_t *at, const uint8_t *end) {
    const uint8_t *from = at;
    for (; at < end; at++) {
        if (!(kinds[*at] & NEEDS_LOOK)) continue;
        const char *written = *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : *at == '"' ? "&quot;" : NULL;
        if (*at == 0xC2 && end - at > 1 && at[1] == 0xA0) written = "&nbsp;";
        if (!written) continue;
        put_bytes(out, from, at - from);
        put_text(out, written);
        at += *at == 0xC2, from = at + 1;
    }
    put_bytes(out, from, end - from);
}

static void put_value(Out *out, const uint8_t *at, const uint8_t *end) {
    uint8_t meant[REFERENCE_BYTES];
    while (at < end) {
        const uint8_t *next = memchr(at, '&', (size_t)(end - at));
        put_escaped(out, at, next ? next : end);
        if (!next) return;
        at = next;
        int size = reference_at(&at, end, 1, meant);
        if (size) put_escaped(out, meant, meant + size);
        else put_text(out, "&amp;"), at++;
    }
}

/* An attribute's name as it is written, in the parser's room. */
static Slice written_name(Parser *parser, const Tag *tag, const uint8_t *at, int64_t size) {
    uint8_t *name = take_room(parser->nodes, size);
    if (!name) return decline(parser, IS_OUT), (Slice){NULL, 0};
    for (int64_t i = 0; i < size; i++) name[i] = lowered(at[i]);
    const char *like = tag->is_svg ? svg_attribute_like(name, size) : NULL;
    return (Slice){like ? (const uint8_t *)like : name, size};
}

/* Goes past an attribute's value, if it has one, and tells where that is. NULL where the source ends within. */
static const uint8_t *past_value(const uint8_t *at, const uint8_t *end, Slice *value) {
    const uint8_t *behind_name = at;
    while (at < end && is_space(*at)) at++;
    *value = (Slice){at, 0};
    if (at == end || *at != '=') return behind_name;
    do at++;
    while (at < end && is_space(*at));
    if (at == end) return NULL;
    if (*at == '"' || *at == '\'') {
        const uint8_t *close = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (close) *value = (Slice){at + 1, close - at - 1};
        return close ? close + 1 : NULL;
    }
    value->at = at;
    while (at < end && !is_space(*at) && *at != '>') at++;
    value->size = at - value->at;
    return at;
}

/* Reads attributes in any spelling; gives what is behind the tag, NULL where the source ends within. */
static const uint8_t *read_any(Parser *parser, const uint8_t *at, Tag *tag) {
    const uint8_t *end = parser->end;
    Out *out = &parser->scratch;
    Named named;
    named.count = 0, named.seen = 0, out->size = 0;
    while (1) {
        const uint8_t *from = at;
        while (at < end && (kinds[*at] & ENDS_NAME) && *at != '>') at++;
        if (at == end) return NULL;
        if (*at == '>') {
            tag->is_closed = at > from && at[-1] == '/';
            break;
        }
        const uint8_t *start = at++;
        while (at < end && !(kinds[*at] & ENDS_NAME) && *at != '=') at++;
        Slice value, name = {start, at - start};
        if (!(at = past_value(at, end, &value))) return NULL;
        if (tag->is_end) continue;
        name = written_name(parser, tag, start, name.size);
        if (!name.at || !is_new(&named, name)) continue;
        if (named.count > MOST_ATTRIBUTES) return decline(parser, TOO_MANY_ATTRIBUTES), end;
        put_bytes(out, " ", 1), put_bytes(out, name.at, name.size), put_bytes(out, "=\"", 2);
        put_value(out, value.at, value.at + value.size);
        put_bytes(out, "\"", 1);
    }
    uint8_t *kept = out->size ? take_room(parser->nodes, out->size) : NULL;
    if (out->is_out || (out->size && !kept)) return decline(parser, IS_OUT), end;
    if (kept) memcpy(kept, out->bytes, (size_t)out->size);
    tag->attributes = (Slice){kept, kept ? out->size : 0};
    return at + 1;
}

/* A tag's name as it is written, and its number. */
static void name_tag(Parser *parser, Tag *tag, int seen) {
    const Node *open = parser->open_count ? current(parser) : NULL;
    uint8_t *lower;
    if (seen & IS_UPPER) {
        if (!(lower = take_room(parser->nodes, tag->name.size))) {
            decline(parser, IS_OUT);
            return;
        }
        for (int64_t i = 0; i < tag->name.size; i++) lower[i] = lowered(tag->name.at[i]);
        tag->name.at = lower;
    } else if (tag->is_end && open && open->name.size == tag->name.size && !memcmp(open->name.at, tag->name.at, (size_t)tag->name.size)) {
        tag->tag = open->tag;
        return;
    }
    tag->tag = tag_named(tag->name.at, tag->name.size);
}

/* Whether a start tag opens an element of SVG. */
static int is_of_svg(const Parser *parser, const Tag *tag) {
    if (tag->tag == TAG_svg) return 1;
    const Node *open = parser->open_count ? current(parser) : NULL;
    return open && open->is_foreign && !holds_html(open) && !breaks_out(tag->tag);
}

const uint8_t *read_tag(Parser *parser, const uint8_t *at, Tag *tag) {
    const uint8_t *end = parser->end;
    int seen = 0;
    tag->name.at = at;
    while (at < end && !(kinds[*at] & ENDS_NAME)) seen |= kinds[*at++];
    if (at == end) return NULL;
    tag->name.size = at - tag->name.at, tag->attributes = (Slice){at, 0}, tag->is_closed = 0;
    name_tag(parser, tag, seen);
    tag->is_svg = !tag->is_end && is_of_svg(parser, tag);
    if (*at == '>') return at + 1;
    const uint8_t *plain = tag->is_end ? NULL : read_plain(at, end, tag);
    return plain ? plain : read_any(parser, at, tag);
}

Slice value_in(Parser *parser, const Tag *tag, const char *name) {
    Node element = {.attributes = tag->attributes};
    return attribute_of(parser->nodes, &element, name);
}

/* Whether the end tag of such an element stands here, in any spelling. */
static int is_end_of(const uint8_t *at, const uint8_t *end, const char *name) {
    for (; *name; name++, at++)
        if (at == end || lowered(*at) != (uint8_t)*name) return 0;
    return at < end && (kinds[*at] & ENDS_NAME);
}

static int holds_comment_end(const uint8_t *at, const uint8_t *end) {
    for (; (at = memchr(at, '-', (size_t)(end - at))); at++)
        if (begins(at, end, "-->")) return 1;
    return 0;
}

const uint8_t *end_of_raw_text(Parser *parser, const uint8_t *at, int tag) {
    const uint8_t *end = parser->end, *comment = NULL;
    const char *name = name_of_tag(tag);
    for (; at < end && (at = memchr(at, '<', (size_t)(end - at))); at++) {
        if (end - at > 1 && at[1] == '/' && is_end_of(at + 2, end, name)) return at;
        if (tag != TAG_script) continue;
        int is_comment = begins(at, end, "<!--"), is_script = !is_comment && comment && is_end_of(at + 1, end, name);
        if (comment && (is_comment || is_script)) comment = holds_comment_end(comment, at) ? NULL : at - 2;
        if (comment && is_script) return decline(parser, SCRIPT_IN_SCRIPT), end; /* the next end tag is that one's */
        if (is_comment && !comment) comment = at + 2;
    }
    return end;
}

const uint8_t *past_comment(const uint8_t *at, const uint8_t *end) {
    for (const uint8_t *from = at; at < end && (at = memchr(at, '>', (size_t)(end - at))); at++) {
        int64_t size = at - from;
        if (!size || (size == 1 && *from == '-')) return at + 1;
        if (size >= 2 && at[-1] == '-' && at[-2] == '-') return at + 1;
        if (size >= 3 && at[-1] == '!' && at[-2] == '-' && at[-3] == '-') return at + 1;
    }
    return end;
}

static int begins_in_any_case(const uint8_t *at, const uint8_t *end, const char *what) {
    for (; *what; what++, at++)
        if (at == end || lowered(*at) != lowered((uint8_t)*what)) return 0;
    return 1;
}

int quirks_of(const uint8_t *at, const uint8_t *end) {
    static const char *const plain[] = {"xhtml 1.0 strict//", "xhtml 1.0 transitional//", "xhtml 1.1//", "html 4.01//", "html 4.01 transitional//"};
    while (at < end && is_space(*at)) at++;
    if (!begins_in_any_case(at, end, "html")) return -1;
    at += 4;
    if (at < end && !is_space(*at)) return -1;
    while (at < end && is_space(*at)) at++;
    if (at == end) return 0;
    if (begins_in_any_case(at, end, "system \"about:legacy-compat\"")) return 0;
    if (!begins_in_any_case(at, end, "public \"-//w3c//dtd ")) return -1;
    at += strlen("public \"-//w3c//dtd ");
    const uint8_t *close = memchr(at, '"', (size_t)(end - at));
    if (!close) return -1;
    const uint8_t *system = close + 1;
    while (system < end && is_space(*system)) system++;
    if (!begins_in_any_case(system, end, "\"http://www.w3.org/") || end[-1] != '"') return -1;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (begins_in_any_case(at, close, plain[i])) return 0;
    return -1;
}

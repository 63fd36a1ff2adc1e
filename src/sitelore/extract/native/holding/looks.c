#include "looks.h"
#include "writer.h"

#include <string.h>

const Tags HEADINGS = {[TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1, [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1};
const Tags LISTS = {[TAG_ul] = 1, [TAG_ol] = 1};
const Tags CODE = {[TAG_pre] = 1, [TAG_code] = 1};
const Tags INLINE = {[TAG_b] = 1, [TAG_strong] = 1, [TAG_i] = 1, [TAG_em] = 1, [TAG_span] = 1, [TAG_font] = 1, [TAG_u] = 1,
                     [TAG_small] = 1, [TAG_s] = 1, [TAG_del] = 1, [TAG_a] = 1};
const Tags BLOCKS = {
    [TAG_p] = 1, [TAG_div] = 1, [TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1, [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1, [TAG_ul] = 1,
    [TAG_ol] = 1, [TAG_li] = 1, [TAG_table] = 1, [TAG_section] = 1, [TAG_article] = 1, [TAG_header] = 1, [TAG_footer] = 1,
    [TAG_figure] = 1, [TAG_figcaption] = 1, [TAG_blockquote] = 1, [TAG_pre] = 1, [TAG_dl] = 1, [TAG_dt] = 1, [TAG_dd] = 1,
    [TAG_hr] = 1, [TAG_aside] = 1, [TAG_main] = 1, [TAG_address] = 1, [TAG_form] = 1, [TAG_fieldset] = 1, [TAG_details] = 1,
    [TAG_summary] = 1};

/* Stretches in which every character is a letter or digit, or none is, in every version of Unicode that Python may know. Of what is
 * in none of them nothing is said. */
static const struct { uint32_t low, high; int is_letter; } sure[] = {
    {0x80, 0xA9, 0}, {0xAA, 0xAA, 1}, {0xAB, 0xB1, 0}, {0xB2, 0xB3, 1}, {0xB4, 0xB4, 0}, {0xB5, 0xB5, 1}, {0xB6, 0xB8, 0},
    {0xB9, 0xBA, 1}, {0xBB, 0xBB, 0}, {0xBC, 0xBE, 1}, {0xBF, 0xBF, 0}, {0xC0, 0xD6, 1}, {0xD7, 0xD7, 0}, {0xD8, 0xF6, 1},
    {0xF7, 0xF7, 0}, {0xF8, 0x2C1, 1}, {0x300, 0x36F, 0}, {0x388, 0x38A, 1}, {0x38E, 0x3A1, 1}, {0x3A3, 0x3F5, 1},
    {0x400, 0x481, 1}, {0x48A, 0x52F, 1}, {0x531, 0x556, 1}, {0x561, 0x587, 1}, {0x5D0, 0x5EA, 1}, {0x620, 0x64A, 1},
    {0x660, 0x669, 1}, {0x671, 0x6D3, 1}, {0x904, 0x939, 1}, {0xE01, 0xE30, 1}, {0x10D0, 0x10FA, 1}, {0x1E00, 0x1F15, 1},
    {0x2000, 0x2027, 0}, {0x202F, 0x205F, 0}, {0x20A0, 0x20BF, 0}, {0x2190, 0x2426, 0}, {0x2500, 0x2775, 0}, {0x2794, 0x2B73, 0},
    {0x3000, 0x3004, 0}, {0x3005, 0x3007, 1}, {0x3008, 0x3020, 0}, {0x3041, 0x3096, 1}, {0x30A1, 0x30FA, 1}, {0x30FC, 0x30FE, 1},
    {0x3400, 0x4DB5, 1}, {0x4E00, 0x9FEA, 1}, {0xAC00, 0xD7A3, 1}, {0xE000, 0xF8FF, 0}, {0xFE00, 0xFE0F, 0}, {0xFF01, 0xFF0F, 0},
    {0xFF10, 0xFF19, 1}, {0xFF21, 0xFF3A, 1}, {0xFF41, 0xFF5A, 1}, {0x1F300, 0x1F64F, 0}, {0x1F680, 0x1F6C5, 0},
    {0x1F900, 0x1F90B, 0}, {0x1F910, 0x1F93E, 0}};

uint32_t code_at(const uint8_t *at, const uint8_t *end, int *size) {
    int more = *at < 0xC2 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : *at < 0xF5 ? 3 : 0;
    uint32_t code = more ? *at & (0x3Fu >> more) : *at;
    *size = 1;
    if (end - at <= more) return *at;
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80) return *at;
        code = code << 6 | (at[i] & 0x3Fu);
    }
    *size = more + 1;
    return code;
}

int is_space(uint32_t code) {
    if (code < 0x80) return is_blank_byte((uint8_t)code);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
           code == 0x202F || code == 0x205F || code == 0x3000;
}

int space_at(const uint8_t *at, const uint8_t *end) {
    if (*at < 0x80) return is_blank_byte(*at);
    if (*at != 0xC2 && *at != 0xE1 && *at != 0xE2 && *at != 0xE3) return 0;
    int size;
    return is_space(code_at(at, end, &size)) ? size : 0;
}

Slice stripped(Slice text) {
    if (!text.size) return text;
    const uint8_t *at = text.at, *end = at + text.size, *last = at;
    int size;
    while (at < end && (size = space_at(at, end))) at += size;
    for (const uint8_t *seen = last = at; seen < end;) {
        if ((size = space_at(seen, end))) { seen += size; continue; }
        code_at(seen, end, &size);
        last = seen += size;
    }
    return (Slice){at, last - at};
}

Slice on_one_line(Nodes *nodes, Slice text) {
    uint8_t *out = take_room(nodes, text.size + 1), *to = out;
    if (!out) return text;
    const uint8_t *at = text.at, *end = at + text.size;
    int is_apart = 0;
    while (at < end) {
        int size = space_at(at, end);
        if (size) { is_apart = to > out, at += size; continue; }
        if (is_apart) *to++ = ' ';
        is_apart = 0;
        code_at(at, end, &size);
        memcpy(to, at, (size_t)size);
        to += size, at += size;
    }
    return (Slice){out, to - out};
}

int is_blank(Slice text) {
    int size;
    if (!text.size) return 1;
    for (const uint8_t *at = text.at, *end = at + text.size; at < end; at += size)
        if (!(size = space_at(at, end))) return 0;
    return 1;
}

int is_same(Slice one, Slice other) { return one.size == other.size && (!one.size || !memcmp(one.at, other.at, (size_t)one.size)); }

int starts_with(Slice text, const char *with) {
    int64_t size = (int64_t)strlen(with);
    return text.size >= size && !memcmp(text.at, with, (size_t)size);
}

static uint8_t folded(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

int64_t find_folded(Slice text, const char *what) {
    int64_t size = (int64_t)strlen(what);
    for (int64_t at = 0; at + size <= text.size; at++) {
        int64_t same = 0;
        while (same < size && folded(text.at[at + same]) == (uint8_t)what[same]) same++;
        if (same == size) return at;
    }
    return -1;
}

static int64_t past_blank(Slice text, int64_t at) {
    while (at < text.size && is_blank_byte(text.at[at])) at++;
    return at;
}

int keeps_lines(Nodes *nodes, const Node *element) {
    static const char *const values[] = {"pre-wrap", "pre-line", "break-spaces"};
    Slice style = attribute_of(nodes, element, "style");
    for (int64_t found; (found = find_folded(style, "white-space")) >= 0;) {
        int64_t at = past_blank(style, found + 11);
        if (at < style.size && style.at[at] == ':') {
            at = past_blank(style, at + 1);
            Slice value = {style.at + at, style.size - at};
            for (int i = 0; i < 3; i++) {
                int64_t size = (int64_t)strlen(values[i]);
                if (value.size >= size && !find_folded((Slice){value.at, size}, values[i])) return 1;
            }
        }
        style.at += found + 11, style.size -= found + 11;
    }
    return 0;
}

int has_token(Slice text, const char *token) {
    const uint8_t *at = text.at, *end = at + text.size;
    int size;
    while (at < end) {
        if ((size = space_at(at, end))) { at += size; continue; }
        const uint8_t *begin = at;
        while (at < end && !space_at(at, end)) code_at(at, end, &size), at += size;
        if (at - begin == (int64_t)strlen(token) && !memcmp(begin, token, (size_t)(at - begin))) return 1;
    }
    return 0;
}

Node *closest(Node *node, const Tags tags) {
    while (node && !tags[node->tag]) node = node->parent;
    return node;
}

int holds(const Node *element, const Tags tags) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (tags[at->tag]) return 1;
    return 0;
}

int holds_tag(const Node *element, int tag) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (at->tag == tag) return 1;
    return 0;
}

int holds_element(const Node *element) {
    for (const Node *at = element->first; at; at = at->after)
        if (!is_text(at)) return 1;
    return 0;
}

static int64_t count_in(Slice text) {
    int64_t count = 0;
    for (const uint8_t *at = text.at, *end = at + text.size; at < end;) {
        int size = space_at(at, end);
        if (!size) count++, code_at(at, end, &size);
        at += size;
    }
    return count;
}

int64_t count_shown(const Node *node) {
    if (is_text(node)) return count_in(node->text);
    int64_t count = 0;
    for (const Node *at = node; (at = next_node(node, at));)
        if (is_text(at)) count += count_in(at->text);
    return count;
}

int shows_text(const Node *node) {
    if (is_text(node)) return !is_blank(node->text);
    for (const Node *at = node; (at = next_node(node, at));)
        if (is_text(at) && !is_blank(at->text)) return 1;
    return 0;
}

int is_letter_or_digit(uint32_t code) {
    if (code < 0x80) return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
    for (size_t i = 0; i < sizeof sure / sizeof *sure && sure[i].low <= code; i++)
        if (code <= sure[i].high) return sure[i].is_letter;
    return -1;
}

int has_letter(const Node *element) {
    int is_unsure = 0, size;
    for (const Node *node = element; (node = next_node(element, node));) {
        if (!is_text(node)) continue;
        for (const uint8_t *at = node->text.at, *end = at + node->text.size; at < end; at += size) {
            int found = is_letter_or_digit(code_at(at, end, &size));
            if (found > 0) return 1;
            is_unsure |= found < 0;
        }
    }
    return is_unsure ? -1 : 0;
}

int is_bare(const Node *element) {
    for (const Node *node = element; (node = next_node(element, node));) {
        if (node->tag == TAG_img) return 0;
        if (!is_text(node)) continue;
        for (int64_t i = 0; i < node->text.size; i++) {
            uint8_t byte = node->text.at[i];
            if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r' && byte != '\f') return 0;
        }
    }
    return 1;
}

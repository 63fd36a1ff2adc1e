#include "parsing.h"

#include <string.h>

#include "named_references.h"

enum { NAMES = sizeof reference_starts / sizeof *reference_starts, SHORTEST_LEGACY = 2, LONGEST_LEGACY = 6, LONGEST_NAME = 32 };

/* What numbers from 0x80 to 0x9F mean: windows-1252. */
static const uint16_t windows[32] = {0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D, 0x8F,
    0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D, 0x17E, 0x178};

static int put_character(uint8_t *out, uint32_t code) {
    if (code < 0x80) return out[0] = (uint8_t)code, 1;
    if (code < 0x800) return out[0] = (uint8_t)(0xC0 | code >> 6), out[1] = (uint8_t)(0x80 | (code & 63)), 2;
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12), out[1] = (uint8_t)(0x80 | (code >> 6 & 63)), out[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18), out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 63)), out[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

static int digit_of(uint8_t byte, int is_hex) {
    if ((uint8_t)(byte - '0') < 10) return byte - '0';
    return is_hex && (uint8_t)((byte | 32) - 'a') < 6 ? (byte | 32) - 'a' + 10 : -1;
}

static int numbered_at(const uint8_t **at, const uint8_t *end, uint8_t *meant) {
    const uint8_t *digit = *at + 2;
    int is_hex = digit < end && (*digit | 32) == 'x', value;
    uint32_t code = 0;
    const uint8_t *first = digit += is_hex;
    for (; digit < end && (value = digit_of(*digit, is_hex)) >= 0; digit++)
        if (code < 0x110000) code = code * (is_hex ? 16 : 10) + (uint32_t)value;
    if (digit == first) return 0;
    *at = digit + (digit < end && *digit == ';');
    if (code >= 0x80 && code < 0xA0) code = windows[code - 0x80];
    if (!code || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    return put_character(meant, code);
}

/* What a name means, its semicolon part of it; NULL where nothing has it. */
static const char *meaning_of(const uint8_t *name, int64_t size) {
    int low = 0, high = NAMES;
    while (low < high) {
        int middle = (low + high) / 2;
        const char *known = named_references + reference_starts[middle];
        int order = strncmp((const char *)name, known, (size_t)size);
        if (!order && known[size] == ' ') return known + size + 1;
        /* A longer one that begins the same comes behind. */
        if (order > 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

static int named_at(const uint8_t **at, const uint8_t *end, int is_in_attribute, uint8_t *meant) {
    const uint8_t *name = *at + 1, *behind = name;
    while (behind < end && behind - name < LONGEST_NAME && (is_letter(*behind) || digit_of(*behind, 0) >= 0)) behind++;
    const char *means = behind < end && *behind == ';' ? meaning_of(name, behind + 1 - name) : NULL;
    if (means) behind++;
    int64_t size = behind - name < LONGEST_LEGACY ? behind - name : LONGEST_LEGACY;
    for (; !means && size >= SHORTEST_LEGACY; size--)
        if ((means = meaning_of(name, size))) behind = name + size;
    if (!means) return 0;
    if (is_in_attribute && behind[-1] != ';' && behind < end && (*behind == '=' || is_letter(*behind) || digit_of(*behind, 0) >= 0)) return 0;
    *at = behind;
    size_t bytes = strlen(means);
    memcpy(meant, means, bytes);
    return (int)bytes;
}

int reference_at(const uint8_t **at, const uint8_t *end, int is_in_attribute, uint8_t *meant) {
    static const struct { const char *written; int64_t size; const char *meant; } common[] = {
        {"&nbsp;", 6, "\xC2\xA0"}, {"&amp;", 5, "&"}, {"&quot;", 6, "\""}, {"&lt;", 4, "<"}, {"&gt;", 4, ">"}};
    if (end - *at > 1 && (*at)[1] == '#') return numbered_at(at, end, meant);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (end - *at >= common[i].size && !memcmp(*at, common[i].written, (size_t)common[i].size)) {
            *at += common[i].size;
            int size = (int)strlen(common[i].meant);
            memcpy(meant, common[i].meant, (size_t)size);
            return size;
        }
    return named_at(at, end, is_in_attribute, meant);
}

Slice resolved(Parser *parser, const uint8_t *from, const uint8_t *to) {
    if (parser->ampersand < from) {
        const uint8_t *next = memchr(from, '&', (size_t)(parser->end - from));
        parser->ampersand = next ? next : parser->end;
    }
    const uint8_t *at = parser->ampersand;
    if (at >= to) return (Slice){from, to - from};
    uint8_t *out = take_room(parser->nodes, (to - from) + (to - from) / 4 + REFERENCE_BYTES);
    if (!out) return decline(parser, IS_OUT), (Slice){from, 0};
    int64_t size = 0;
    while (at < to) {
        memcpy(out + size, from, (size_t)(at - from));
        size += at - from, from = at;
        int meant = reference_at(&at, to, 0, out + size);
        if (meant) size += meant, from = at;
        else at++;
        const uint8_t *next = at < to ? memchr(at, '&', (size_t)(to - at)) : NULL;
        at = next ? next : to;
    }
    memcpy(out + size, from, (size_t)(to - from));
    return (Slice){out, size + (to - from)};
}

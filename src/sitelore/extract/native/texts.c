/* Looks at whole texts, in UTF-8, that Python would take many passes for. `texts.py` says in Python what each one means, and does
 * it where this was not compiled.
 */
#include "texts.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { STRETCH = 64, EVEN_STRETCH = 32 };

/* The code point that begins here, and how many bytes it takes; 0 bytes where it is cut off. */
static int64_t code_at(const uint8_t *at, const uint8_t *end, int *size) {
    int more = *at < 0x80 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
    int64_t code = more == 0 ? *at : *at & (0x3F >> more);
    *size = end - at > more ? more + 1 : 0;
    for (int i = 1; i <= more && *size; i++) code = code << 6 | (at[i] & 0x3F);
    return code;
}

/* Whether bytes may be, or begin, anything but plain ASCII text. */
static int is_odd(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < STRETCH; i++)
        odd |= ((uint8_t)(at[i] - 32) >= 95) & (at[i] != '\n') & (at[i] != '\t') & (at[i] != '\r');
    return odd;
}

static int is_within(int64_t code, const uint8_t *plane, const int64_t *ranges, int64_t count) {
    if (code < 0x10000) return plane[code >> 3] >> (code & 7) & 1;
    for (int64_t i = 0; i < count && ranges[2 * i] <= code; i++)
        if (code <= ranges[2 * i + 1]) return 1;
    return 0;
}

/* Which characters of a text have a code in one of these ranges, each once, in the order they are met: how many, `room` at most.
 * Codes of two bytes have a bit each in `plane`; those beyond are given as ranges (low, high, in order). White space of plain text
 * is in none. */
EXPORT int64_t all_within(const uint8_t *text, int64_t length, const uint8_t *plane, const int64_t *ranges, int64_t count, int64_t *found, int64_t room) {
    const uint8_t *at = text, *end = text + length;
    int64_t met = 0;
    while (at < end) {
        if (end - at >= STRETCH && !is_odd(at)) { at += STRETCH; continue; }
        for (const uint8_t *stop = end - at >= STRETCH ? at + STRETCH : end; at < stop;) {
            if (*at >= 32 && *at < 127) { at++; continue; }
            int size;
            int64_t code = code_at(at, end, &size), i = 0;
            if (!size) return met;
            at += size;
            if (!is_within(code, plane, ranges, count)) continue;
            while (i < met && found[i] != code) i++;
            if (i < met) continue;
            if (met == room) return met;
            found[met++] = code;
        }
    }
    return met;
}

/* 1 for a space, tab or one that does not break, 2 for white space that is not plain, 0 for all else; and its size. */
static int space_at(const uint8_t *at, const uint8_t *end, int *size) {
    *size = 1;
    if (*at < 0x80) return *at == ' ' || *at == '\t' ? 1 : *at == '\r' || *at == 11 || *at == 12 || (*at >= 0x1C && *at < 0x20) ? 2 : 0;
    if (*at != 0xC2 && *at != 0xE1 && *at != 0xE2 && *at != 0xE3) return 0;
    int64_t code = code_at(at, end, size);
    if (!*size) return *size = 1, 0;
    if (code == 0xA0 || code == 0x202F) return 1;
    return code == 0x85 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x205F ||
           code == 0x3000 ? 2 : 0;
}

/* Whether the bytes of a stretch, and the two behind it, have nothing to even out: a line end or a space stands alone. */
static int is_even(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < EVEN_STRETCH; i++) {
        uint8_t byte = at[i], next = at[i + 1], third = at[i + 2];
        odd |= (byte <= ' ') & (next <= ' ');
        odd |= (byte < ' ') & (byte != '\n');
        odd |= (byte == 0xC2) & ((next == 0xA0) | (next == 0x85));
        odd |= (byte == 0xE1) & (next == 0x9A);
        odd |= (byte == 0xE2) & (((next == 0x80) & ((third <= 0x8A) | (third >= 0xA8))) | (next == 0x81));
        odd |= (byte == 0xE3) & (next == 0x80) & (third == 0x80);
    }
    return !odd;
}

EXPORT int64_t even(const uint8_t *text, int64_t length, uint8_t *out) {
    const uint8_t *at = text, *end = text + length, *looked_at = text;
    uint8_t *to = out;
    int has_line = 0, has_space = 0, is_new_line = 1;
    while (at < end) {
        if (*at == '\n') { is_new_line = 1, has_space = 0, at++; continue; }
        int size, space = space_at(at, end, &size);
        if (space == 2) return -1;
        if (space) { has_space = 1, at += size; continue; }
        if (is_new_line) {
            if (has_line) *to++ = '\n';
            has_line = 1, is_new_line = 0;
        } else if (has_space) *to++ = ' ';
        has_space = 0;
        if (at >= looked_at) {
            while (end - at >= EVEN_STRETCH + 2 && is_even(at)) {
                memcpy(to, at, EVEN_STRETCH);
                at += EVEN_STRETCH, to += EVEN_STRETCH;
            }
            looked_at = at + EVEN_STRETCH;
            continue;
        }
        for (int i = 0; i < size; i++) *to++ = *at++;
        while (at < end && *at > ' ' && *at < 0x80) *to++ = *at++;
    }
    return to - out;
}

static int is_same(const uint8_t *one, const uint8_t *one_end, const uint8_t *other, const uint8_t *other_end) {
    return one_end - one == other_end - other && !memcmp(one, other, (size_t)(one_end - one));
}

/* Whether a line says what the line before it says, empty ones aside, or a block between empty lines what the block before it does. */
static int repeats(const uint8_t *text, int64_t length) {
    const uint8_t *end = text + length, *last = 0, *last_end = 0;
    for (const uint8_t *at = text; at < end;) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (stop > at) {
            if (last && is_same(last, last_end, at, stop)) return 1;
            last = at, last_end = stop;
        }
        at = stop + 1;
    }
    last = 0;
    for (const uint8_t *at = text;;) {
        const uint8_t *stop = at;
        while (stop < end && (stop = memchr(stop, '\n', (size_t)(end - stop))) && !(stop + 1 < end && stop[1] == '\n')) stop++;
        if (!stop || stop >= end) stop = end;
        if (last && is_same(last, last_end, at, stop)) return 1;
        last = at, last_end = stop;
        if (stop == end) return 0;
        at = stop + 2;
    }
}

static int says(const uint8_t *at, const uint8_t *end, const char *what) {
    size_t size = strlen(what);
    return (size_t)(end - at) >= size && !memcmp(at, what, size);
}

/* Whether a character that markers are made of follows, on the same line and before another tag. */
static int meets_marker(const uint8_t *at, const uint8_t *end) {
    while (at < end && *at != '<' && *at != '\n' && *at != '*' && *at != '_' && *at != '~') at++;
    return at < end && *at != '<' && *at != '\n';
}

static int64_t signs_of_tag(const uint8_t *text, const uint8_t *at, const uint8_t *end) {
    static const char *const names[] = {"strong>", "em>", "s>", "del>"};
    if (says(at, end, "<br>")) return BROKEN;
    int is_end = says(at, end, "</");
    int64_t signs = is_end ? ENDS : 0;
    if (is_end && says(at + 2, end, "code>")) return signs | CODE_ENDS;
    for (int i = 0; i < 4; i++) {
        if (!says(at + 1 + is_end, end, names[i])) continue;
        if (at > text && at[-1] == '\\') return signs;
        if (is_end) return signs | CLOSES;
        return signs | OPENS | (meets_marker(at + 1 + strlen(names[i]), end) ? CROWDED : 0);
    }
    return signs;
}

/* Whether nothing within a stretch, which has a byte before it, can be a sign. */
static int is_signless(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < STRETCH; i++)
        odd |= (at[i] == '\\') | (at[i] == '<') | (at[i] == '*') | (at[i] == 0xEF) | ((at[i] == '\n') & (at[i - 1] == ' '));
    return !odd;
}

EXPORT int64_t signs_in(const uint8_t *text, int64_t length) {
    const uint8_t *at = text, *end = text + length;
    int64_t signs = repeats(text, length) ? REPEATED : 0;
    while (at < end) {
        if (at > text && end - at >= STRETCH && is_signless(at)) { at += STRETCH; continue; }
        for (const uint8_t *stop = end - at >= STRETCH ? at + STRETCH : end; at < stop; at++) {
            if (*at == '\\') signs |= says(at, end, "\\_") ? ESCAPED : 0;
            else if (*at == '<') signs |= signs_of_tag(text, at, end);
            else if (*at == '*') signs |= says(at, end, "**__") ? DOUBLED : 0;
            else if (*at == 0xEF) signs |= says(at, end, "\xEF\xB7\x90") ? JOINED : 0;
            else if (*at == '\n' && at - text >= 2 && at[-1] == ' ' && at[-2] == ' ') {
                const uint8_t *next = at + 1;
                while (next < end && (*next == ' ' || *next == '>')) next++;
                signs |= next < end && (*next == '|' || *next == ':') ? RULED : 0;
            }
        }
    }
    return signs;
}

/* Whether a character keeps a marker beside it from being read; what it is, is only told of ASCII and of General Punctuation. */
static int is_clear(const uint8_t *at, const uint8_t *end, const char *others) {
    if (*at >= 0x80) return end - at >= 3 && at[0] == 0xE2 && at[1] == 0x80;
    int is_word = (*at >= '0' && *at <= '9') || ((*at | 32) >= 'a' && (*at | 32) <= 'z');
    return !is_word && !(*at && strchr(others, *at));
}

static const uint8_t *last_char(const uint8_t *start, const uint8_t *end) {
    const uint8_t *at = end - 1;
    while (at > start && end - at < 4 && (*at & 0xC0) == 0x80) at--;
    return at;
}

/* A line with markers in place of its tags, where all of these are emphasis that can be read as such beyond doubt: where the copy
 * ends, or 0. */
static uint8_t *spell_line(const uint8_t *line, const uint8_t *end, uint8_t *to) {
    static const char *const opens[] = {"<strong>", "<em>"}, *const closes[] = {"</strong>", "</em>"}, *const markers[] = {"**", "*"};
    if (memchr(line, '`', (size_t)(end - line))) return 0;
    for (const uint8_t *at = line; at < end;) {
        const uint8_t *tag = memchr(at, '<', (size_t)(end - at));
        if (!tag) tag = end;
        memcpy(to, at, (size_t)(tag - at));
        to += tag - at, at = tag;
        if (tag == end) break;
        int kind = says(tag, end, opens[0]) ? 0 : 1, size;
        if (!says(tag, end, opens[kind])) return 0;
        if (tag > line && !is_clear(last_char(line, tag), tag, "*_~\\>")) return 0;
        const uint8_t *inner = tag + strlen(opens[kind]), *close = memchr(inner, '<', (size_t)(end - inner));
        if (!close || close == inner || !says(close, end, closes[kind]) || memchr(inner, '>', (size_t)(close - inner))) return 0;
        if (space_at(inner, close, &size) || space_at(last_char(inner, close), close, &size)) return 0;
        at = close + strlen(closes[kind]);
        if (at < end && !is_clear(at, end, "*_~<")) return 0;
        size_t marker = strlen(markers[kind]), length = (size_t)(close - inner);
        memcpy(to, markers[kind], marker);
        memcpy(to + marker, inner, length);
        memcpy(to + marker + length, markers[kind], marker);
        to += 2 * marker + length;
    }
    return to;
}

EXPORT int64_t spell(const uint8_t *text, int64_t length, uint8_t *out) {
    const uint8_t *done = text, *end = text + length, *tag;
    uint8_t *to = out;
    while (done < end && (tag = memchr(done, '<', (size_t)(end - done)))) {
        const uint8_t *line = tag, *stop = memchr(tag, '\n', (size_t)(end - tag));
        if (!stop) stop = end;
        while (line > done && line[-1] != '\n') line--;
        memcpy(to, done, (size_t)(line - done));
        to += line - done;
        uint8_t *spelled = spell_line(line, stop, to);
        if (!spelled) memcpy(to, line, (size_t)(stop - line));
        to = spelled ? spelled : to + (stop - line);
        done = stop;
    }
    memcpy(to, done, (size_t)(end - done));
    return to + (end - done) - out;
}

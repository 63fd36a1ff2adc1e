/* The last look at Markdown, as far as a line tells by itself what has to be done. `tidying.py` says in Python what that is, and does
 * the rest.
 */
#include <string.h>

#include "looks.h"
#include "page.h"
#include "texts.h"

/* Signs that are looked at before those that are dealt with here, or between them. */
enum { FIRST_OF_ALL = JOINED | RULED | BROKEN, TAGS = CODE_ENDS | OPENS | CLOSES };

static int holds_fence(const Out *markdown) {
    const uint8_t *at = markdown->bytes, *end = at + markdown->size;
    for (; end - at >= 3 && (at = memchr(at, '`', (size_t)(end - at))); at++)
        if (end - at >= 3 && at[1] == '`' && at[2] == '`') return 1;
    return 0;
}

/* Whether a letter or digit ends before a place of a line: 1, 0, or -1 where Unicode has to be asked. */
static int follows_letter(const uint8_t *line, const uint8_t *at) {
    const uint8_t *from = at;
    int size;
    if (at == line) return 0;
    do from--;
    while (from > line && at - from < 4 && (*from & 0xC0) == 0x80);
    return is_letter_or_digit(code_at(from, at, &size));
}

/* An underscore between letters is never emphasis: it needs no backslash. Gives where the copy ends, which is never past the line;
 * NULL where nobody knows, and then nothing was copied. */
static uint8_t *without_escapes(const uint8_t *line, const uint8_t *end, uint8_t *to) {
    enum { SURE, COPIED };
    uint8_t *out = to;
    for (int turn = SURE; turn <= COPIED; turn++) {
        for (const uint8_t *at = line; at < end;) {
            const uint8_t *from = at;
            while (end - at >= 2 && at[0] == '\\' && at[1] == '_') at += 2;
            int size, is_between = 0;
            /* What stood before it is copied already: its place may hold something else. */
            if (at > from && at < end) is_between = turn == SURE ? follows_letter(line, from) : follows_letter(to, out);
            if (is_between > 0) is_between = is_letter_or_digit(code_at(at, end, &size));
            if (is_between < 0) return NULL;
            if (at == from) at++;
            if (turn == SURE) continue;
            for (; from < at; from++)
                if (!is_between || *from != '\\') *out++ = *from;
        }
    }
    return out;
}

/* Whether all lines with such underscores could be done. */
static int unescape(Out *markdown) {
    uint8_t *at = markdown->bytes, *end = at + markdown->size, *to = at;
    int is_done = 1;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        else stop++;
        size_t size = (size_t)(stop - at);
        const uint8_t *escape = memchr(at, '\\', size);
        while (escape && escape + 1 < stop && escape[1] != '_') escape = memchr(escape + 1, '\\', (size_t)(stop - escape - 1));
        uint8_t *copied = NULL;
        if (escape && escape + 1 < stop) {
            copied = memchr(at, '`', size) ? NULL : without_escapes(at, stop, to);
            is_done &= copied != NULL;
        }
        if (!copied) {
            if (to != at) memmove(to, at, size);
            copied = to + size;
        }
        to = copied, at += size;
    }
    markdown->size = to - markdown->bytes;
    return is_done;
}

/* Whether markers could be put in place of all tags. */
static int spell_all(Out *markdown, Out *spare) {
    spare->size = 0;
    if (!has_room(spare, markdown->size + 1)) return 0;
    spare->size = spell(markdown->bytes, markdown->size, spare->bytes);
    if (memchr(spare->bytes, '<', (size_t)spare->size)) return 0;
    Out spelled = *spare;
    *spare = *markdown, *markdown = spelled;
    return 1;
}

int64_t tidy(Out *markdown, Out *spare, int64_t signs) {
    int64_t left = signs & (REPEATED | FIRST_OF_ALL | ESCAPED);
    if (signs & ENDS && signs & TAGS) left |= signs & (ENDS | TAGS);
    if (!(left & ~REPEATED) || left & FIRST_OF_ALL || holds_fence(markdown)) return left;
    if (left & ESCAPED && unescape(markdown)) left &= ~ESCAPED;
    if (left & ENDS && !(left & ESCAPED) && spell_all(markdown, spare)) left &= ~(ENDS | TAGS);
    return left;
}

/* For tests: Markdown of which the plain lines are done, until the next call in this thread, and the signs that are left. */
EXPORT int64_t tidied(const uint8_t *text, int64_t size, const uint8_t **told, int64_t *left) {
    static __thread Out markdown, spare;
    markdown.size = spare.size = 0, markdown.is_out = spare.is_out = 0;
    put_bytes(&markdown, text, size);
    *left = tidy(&markdown, &spare, signs_in(text, size));
    *told = markdown.bytes;
    return markdown.size;
}

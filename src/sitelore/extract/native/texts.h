/* Looks at whole texts, in UTF-8. `texts.py` says in Python what each one means. */
#ifndef SITELORE_TEXTS_H
#define SITELORE_TEXTS_H

#include <stdint.h>

/* What Markdown may hold that needs a second look, as `texts.Sign` numbers it. */
enum {
    ESCAPED = 1, RULED = 2, ENDS = 4, OPENS = 8, CLOSES = 16, CODE_ENDS = 32, BROKEN = 64, DOUBLED = 128, JOINED = 256, CROWDED = 512,
    REPEATED = 1024
};

/* Which of these are in a text, as bits. */
int64_t signs_in(const uint8_t *text, int64_t length);
/* The text with single spaces, without empty lines and without spaces around line ends. Its size, or -1 where it has white space
 * that is not plain. */
int64_t even(const uint8_t *text, int64_t length, uint8_t *out);
/* Markdown with markers in place of tags on every line where that is plain; other lines stay as they are. Its size, which is never
 * more. */
int64_t spell(const uint8_t *text, int64_t length, uint8_t *out);

/* Whether emphasis may hold its like, as `emphasis.is_crowded` tells by the signs. */
static inline int is_crowded(int64_t signs) { return signs & DOUBLED || (signs & ENDS && signs & CROWDED); }

#endif

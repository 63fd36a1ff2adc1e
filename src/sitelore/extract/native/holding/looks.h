/* What the rules of rewriting ask of texts and of what stands below or around an element. */
#ifndef SITELORE_LOOKS_H
#define SITELORE_LOOKS_H

#include "nodes.h"

/* Tags by number, 1 for those that belong. */
typedef uint8_t Tags[TAG_COUNT];

/* `INLINE`: those that a break at an edge leaves. `CODE`: those whose text stands as it is. */
extern const Tags HEADINGS, BLOCKS, LISTS, INLINE, CODE;

/* The code point that begins here, and how many bytes it takes. Bytes that are no UTF-8 are one character each. */
uint32_t code_at(const uint8_t *at, const uint8_t *end, int *size);
/* What `str.isspace` says. */
int is_space(uint32_t code);
/* What `str.isalnum` says: 1, 0, or -1 where Unicode has to be asked. */
int is_letter_or_digit(uint32_t code);
/* How many bytes of white space begin here; 0 where none does. */
int space_at(const uint8_t *at, const uint8_t *end);

/* As `str.strip` leaves it. */
Slice stripped(Slice text);
/* As `" ".join(text.split())` gives it; the same where memory is out. */
Slice on_one_line(Nodes *nodes, Slice text);
/* Whether there is nothing but what `str.isspace` knows. */
int is_blank(Slice text);
int is_same(Slice one, Slice other);
int starts_with(Slice text, const char *with);
/* Where something stands in a text, ASCII letters of either case taken for one another; -1 where it does not. `what` is in small
 * letters. */
int64_t find_folded(Slice text, const char *what);
/* Whether a token of a text that is split at white space is this one. */
int has_token(Slice text, const char *token);

static inline int is_text(const Node *node) { return node->tag == TAG_TEXT; }
/* Text that shows nothing. */
static inline int is_gap(const Node *node) { return is_text(node) && is_blank(node->text); }

/* The element itself, or the nearest around it, that is one of these. NULL where there is none. */
Node *closest(Node *node, const Tags tags);
/* Whether one of these is below an element. */
int holds(const Node *element, const Tags tags);
int holds_tag(const Node *element, int tag);
int holds_element(const Node *element);

/* How many characters below a node are no white space; of a text, its own. */
int64_t count_shown(const Node *node);
/* Whether `text.strip()` of a node leaves anything. */
int shows_text(const Node *node);
/* Whether a letter or digit is below: 1, 0, or -1 where there is a character of which Unicode has to be asked. */
int has_letter(const Node *element);
/* Whether there is neither text nor a picture below an element. A space that does not break is text here. */
int is_bare(const Node *element);

#endif

/* What the parts of the Markdown writer share: blocks (markdown.c), lists (markdown_lists.c), what stands in their lines
 * (markdown_inline.c), emphasis (markdown_marks.c). */
#ifndef SITELORE_MARKDOWN_H
#define SITELORE_MARKDOWN_H

#include "writer.h"

/* The writer of old loses count of containers that nest deeper than this, where an item weighs two. */
enum { MOST_NESTING = 16 };
enum { MOST_MARKS = 16, LONGEST_PREFIX = MOST_NESTING * 12 };

/* How much of a line is there: digits at its start may become the number of a list item. */
enum { AT_START, IN_DIGITS, WITHIN };

/* What a container has so far: something, nothing, the marker of a list item alone, or that and the end of its line. */
enum { FILLED, EMPTY, MARKED, BELOW };

enum { LINK, EMPHASIS, STRONG, STRUCK };

/* A link or emphasis whose end is still to come. Its opening is written with the first thing it holds, so that white space and
 * breaks at its start come out before it. */
typedef struct {
    const Node *node;
    int64_t at, inner; /* where the opening begins, and what follows it */
    int kind;
    uint8_t marker;  /* `[`, `*`, `_`, `~`, or `<` for emphasis that is spelled as HTML */
    int is_second;   /* the second kind of marker: next to the first it would be read as one with it */
    int follows_word, follows_sign;
    int is_broken;   /* holds more than one break */
} Opening;

/* The list that ended last at some depth. One of the same kind that follows at once needs another marker. */
typedef struct { int kind, turn; int64_t written; } Ended;

typedef struct {
    Nodes *nodes;
    Out *out;
    const Node *top;

    /* blocks */
    int gap;      /* line ends that the block before wants behind it */
    int holds;    /* FILLED, EMPTY or MARKED */
    int is_tight; /* in an item of a list without empty lines */
    int in_items;
    int nesting;  /* what quotes and items weigh that are around */
    int64_t written; /* how often something was written that shows */
    int64_t quoted;  /* what was, when a quote ended last */
    int prefix_size;

    /* the run of text that becomes a paragraph */
    int is_open;
    int is_hollow;        /* a block came first in an inline element that is empty so far */
    int64_t inline_from;  /* what was written when that began */
    int64_t doubt_from;   /* or when one within its blocks did, for which nobody knows */
    int has_inline;       /* an element that is no block came since the last that is one */
    int is_begun;         /* something stands in the line */
    int line;             /* AT_START, IN_DIGITS or WITHIN */
    int has_space;        /* white space to come before the next word */
    int breaks;           /* line breaks to come before it */
    int is_flat;          /* in a link, a heading or a cell, where blocks are but spaces */
    int is_one_line;      /* in a heading or a cell, where breaks are spaces too */
    int is_cell;
    int in_raised;        /* in a `sup` or `sub` */
    int is_tagged;        /* emphasis is HTML */
    int64_t text_from;    /* where the text that was written last begins */
    int64_t star, underscore, tilde; /* where such a marker ended last */
    int64_t bang, tagged_break;      /* or a `!`, or a break as HTML */
    int64_t emptied;                 /* or a line that nothing stands on */

    Opening openings[MOST_MARKS];
    int count, opened; /* of the openings, those that are written come first */
    uint8_t prefix[LONGEST_PREFIX];
    Ended ended[MOST_NESTING]; /* by depth */
} Writer;

/* Functions named as orders give 0, or -1 where the Python way has to do the page. */

/* markdown.c */
int write_children(Writer *writer, const Node *node);
void open_paragraph(Writer *writer);
void end_line(Writer *writer);
/* Ends the run of text before a block, if there is one. Breaks and white space at its end are nothing. */
int end_run(Writer *writer);
/* Ends a line that a paragraph of nothing stands on. */
void leave_line_empty(Writer *writer);
/* Line ends, and before each line what its containers want there; on an empty one without the white space at its end. */
void put_line_ends(Writer *writer, int count);
/* What lines begin with from now on: spaces where there is no text. */
int push_prefix(Writer *writer, const char *text, int size, int weight);
void pop_prefix(Writer *writer, int size, int weight);
int is_block_tag(int tag);
int is_heading_tag(int tag);
int is_list_tag(int tag);
int is_blank_text(Slice text);
/* What cannot stand on the line of an item's marker. */
int starts_below(int tag);
/* Whether a node shows something by itself, whatever it holds. */
int shows_itself(Nodes *nodes, const Node *node);
/* Whether anything below would show in a line. */
int shows(Nodes *nodes, const Node *node);
/* Whether an element has to be left to the Python way: it holds no text as others do. */
int is_odd(const Node *node);
/* How an element's style has its white space: COLLAPSED as usual, KEPT as in a `pre`, or otherwise. */
enum { COLLAPSED, KEPT, OTHERWISE };
int how_spaced(Nodes *nodes, const Node *node);

/* markdown_lists.c */
int write_list(Writer *writer, const Node *list);
int write_list_in_cell(Writer *writer, const Node *list);

/* markdown_inline.c */
/* Everything that was to come before the next thing that shows, which is no text. */
int begin_other(Writer *writer);
void put_number(Out *out, int64_t number);
int write_inline(Writer *writer, const Node *node);
int write_text(Writer *writer, const Node *node);
/* Spells white space that a reader of Markdown would strip from the end of a paragraph as references. */
int keep_end(Writer *writer);
/* Text of a `pre` or of code: breaks as `line_end`, nothing of pictures. */
int gather_verbatim(const Node *node, uint8_t line_end, Out *out);
int is_code_tag(int tag);
Opening *push(Writer *writer, const Node *node, int kind);
/* How many bytes a white space character takes that is not ASCII; 0 where none begins here. */
int wide_space(const uint8_t *at, const uint8_t *end, int *code);
/* The same for white space that parts words in the eyes of whoever reads emphasis. */
int wide_gap(const uint8_t *at, const uint8_t *end);
int ends_with_gap(const uint8_t *at, const uint8_t *end);
/* Puts bytes in the place of others that are written already. */
void put_within(Out *out, int64_t at, int64_t old, const void *bytes, int64_t size);

/* markdown_marks.c */
int write_mark(Writer *writer, const Node *mark);
int open_mark(Writer *writer, Opening *opening, const Opening *around);
/* Writes the ends of all emphasis that is begun; the next block begins it anew. */
int close_marks(Writer *writer);
int is_in_mark(const Writer *writer);
int is_mark_tag(int tag);
/* Whether emphasis all over the tree is to be HTML, since letters beyond ASCII meet its markers somewhere. Of the node, `marks`
 * is how many are around it, with itself. */
int needs_tags(const Node *node, int marks);

static inline int is_text(const Node *node) { return node && node->tag == TAG_TEXT; }
static inline int is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f';
}

static inline int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }
static inline int is_letter(uint8_t byte) { return (byte | 32) >= 'a' && (byte | 32) <= 'z'; }
static inline int is_punctuation(uint8_t byte) { return byte > 32 && byte < 127 && !is_digit(byte) && !is_letter(byte); }

static inline void put_byte(Out *out, uint8_t byte) {
    if (out->size < out->room && !out->is_out) out->bytes[out->size++] = byte;
    else put_bytes(out, &byte, 1);
}

#endif

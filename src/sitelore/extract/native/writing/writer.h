/* The parts of the compiled writer, which call one another. Each gives 0, or -1 where the Python way has to do the page. */
#ifndef SITELORE_WRITER_H
#define SITELORE_WRITER_H

#include "nodes.h"

/* Bytes that grow. Once memory is out nothing more is put, and `is_out` says so. */
typedef struct { uint8_t *bytes; int64_t size, room; int is_out; } Out;
void put_bytes(Out *out, const void *bytes, int64_t size);
void put_text(Out *out, const char *text);
/* All text of a node. */
void put_text_below(Out *out, const Node *node);
/* Whether there is room for so many bytes more. */
int has_room(Out *out, int64_t size);

/* Cutting. */

/* What goes from a page: elements, by their places in ascending order, and loose texts: rows of the place they stand in and where they
 * are in `text`, those of one place together. `text` is written in. */
typedef struct { const int64_t *places; int64_t count; const int64_t *rows; int64_t row_count; uint8_t *text; } Going;
/* Cuts it from nodes whose places are below `all`. */
int cut_nodes(Nodes *nodes, int64_t all, const Going *going);
/* The tag and style, each NUL behind it, of every element whose style may cut it down to nothing or move it away. */
void put_telling_styles(Nodes *nodes, Out *out);
/* Whether an element has one of these names, a NUL between them, as its id or as one of its classes, in whatever case. */
int has_one_of(Nodes *nodes, const Node *element, const uint8_t *names, int64_t size);
/* Whether any does. */
int holds_name(Nodes *nodes, const uint8_t *names, int64_t size);
/* Whether a tag breaks no line, as `walk.c` was told. */
int is_inline_tag(const uint8_t *name, int64_t size);

/* Rewriting. */

/* A stretch that was looked at: one chosen element, and which addresses its links and pictures have. */
typedef struct Draft Draft;

/* The first look. Puts the raw addresses that have to be resolved, a NUL behind each; NULL where the Python way has to do the
 * page. */
Draft *gather_addresses(Nodes *nodes, Out *addresses);
/* The second: rewrites what was chosen. `answers` are the addresses as Markdown spells them, a NUL behind each, with a byte 1 before
 * one that is no page's (a mail address). They have to outlive the nodes. */
int rewrite(Draft *draft, const uint8_t *answers, int64_t size);
/* Takes emphasis within its like away. */
void flatten_marks(Node *root);
/* The chosen element, which writers begin at. */
Nodes *nodes_of(Draft *draft);
Node *root_of(Draft *draft);

/* Whether an element's style keeps line ends, without making it a listing (`kept_lines.py`). */
int keeps_lines(Nodes *nodes, const Node *element);

/* Markdown. */
/* The Markdown of an element and all it holds, into what is empty so far. */
int write_markdown_of(Nodes *nodes, Node *element, Out *out);
/* What a cell of a table holds, on one line, each `|` escaped. */
int write_cell_of(Nodes *nodes, Node *cell, Out *out);

/* Does to Markdown what `tidying.py` does, on lines where nothing is in doubt. Gives the signs that are left to look at, of those that
 * are in it. */
int64_t tidy(Out *markdown, Out *spare, int64_t signs);

/* Plain text, tables, listings. */
/* The plain text of an element. Who takes it evens its white space (`texts.even`). */
int write_plain_of(Nodes *nodes, Node *element, Out *out);
/* What `listings.py` does to a `code`, and to a `pre`; either may be gone afterwards, or something else in its place. */
int settle_inline_code(Nodes *nodes, Node *code);
int settle_listing_of(Nodes *nodes, Node *pre);
/* What `tables.py` does to a table; it may be gone afterwards, or be none any more. */
int settle_table_of(Nodes *nodes, Node *table);
/* The Markdown of a table that was settled, without a line end at its end. */
int write_table_of(Nodes *nodes, Node *table, Out *out);
/* Whether a class says that an element holds the numbers of lines: 1, 0, or -1 where Unicode has to be asked. */
int names_gutter(Slice class_);
void rename_element(Node *element, int tag);

#endif

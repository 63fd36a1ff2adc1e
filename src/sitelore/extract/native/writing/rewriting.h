/* What the parts of rewriting tell one another. */
#ifndef SITELORE_REWRITING_H
#define SITELORE_REWRITING_H

#include "looks.h"
#include "writer.h"

/* An element that a rule is for, and which of the addresses is its own: -1 for none. */
typedef struct { Node *node; int64_t address; } Picked;

/* What the first look at a stretch has found. */
struct Draft {
    Nodes *nodes;
    Node *root;     /* the chosen element */
    Picked *picked; /* in document order */
    int64_t count, room;
    int64_t addresses;
    int links_within; /* whether a link leads to a place of the page */
    Slice *written;   /* the addresses, as they are to be written; empty for those that lead nowhere */
};

/* Plain spaces and nothing invisible in a text, whether or not within a `pre`. 0, or -1 where Python has to do it. */
int clear_text(Nodes *nodes, Node *text, int is_listing);

/* What links to places of the page bring about: lists of nothing else go. 0, or -1 where there may be footnotes. */
int settle_places(Draft *draft);

/* Puts the raised or lowered number that a `sup` or `sub` is in its place. */
int shift(Nodes *nodes, Node *element);

#endif

/* The page that compiled code reads: made once, then asked one thing after another in the same thread. */
#ifndef SITELORE_PAGE_H
#define SITELORE_PAGE_H

#include "writer.h"

#define EXPORT __attribute__((visibility("default")))

/* Two texts, and where they are until the next call in this thread. */
typedef struct { const uint8_t *first, *second; int64_t first_size, second_size; } Told;

/* Puts the HTML of an element and all it holds, as `dom.serialised` writes it; rules must have given it no attributes. Gives how many
 * elements that holds: their places are now those in it. */
int64_t write_html_of(Node *root, Out *out);
/* An element's attributes with this one as it is now, as they stand in HTML; the same where memory is out. */
void respell_attribute(Nodes *nodes, Node *element, const char *name, Slice value);

#endif

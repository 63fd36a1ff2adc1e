/* Which address a picture really has, as `writing/images.py` tells it. */
#ifndef SITELORE_IMAGES_H
#define SITELORE_IMAGES_H

#include "nodes.h"

/* The raw address of an `img`, empty where it has none. 0, or -1 where Python has to tell. */
int find_source(Nodes *nodes, Node *image, Slice *source);
/* Whether an element is there to be loaded, not to be seen: 1, 0, or -1 likewise. */
int is_pixel(Nodes *nodes, const Node *element);
/* Whether a picture is to become the formula that it shows. */
int shows_formula(Nodes *nodes, const Node *image);

#endif

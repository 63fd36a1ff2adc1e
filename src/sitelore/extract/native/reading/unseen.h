/* What no reader of a page sees, as `content/visibility.py` drops it. Which elements are hidden is Python's to say. */
#ifndef SITELORE_UNSEEN_H
#define SITELORE_UNSEEN_H

#include "page.h"

typedef struct { Node **elements; int64_t count, room; } Listed;

/* The elements of a page that something is asked of, each kind in page order, found by one walk. Some may have been cut since. */
typedef struct {
    Listed players;  /* `iframe`, `video` and `audio`, within no other */
    Listed telling;  /* those that may be hidden */
    Listed never;    /* those that are never text */
    Listed buttons;
    Listed spare;    /* `noscript` */
    Listed around;   /* what stands around content, by its tag or its role */
    Listed marked;   /* what is called content */
    Node *head, *body;
} Scene;

/* Looks at a page; NULL where only the tree's way will do. */
Scene *look_around(Nodes *nodes);
/* What was seen of the page that was read last in this thread; NULL where nobody looked. */
Scene *scene_of_page(void);
/* Leaves nothing of the page but an element and what it holds. */
void choose(Nodes *nodes, Node *root);
/* Whether an element is called content, by its tag or otherwise. */
int is_mark(Nodes *nodes, const Node *element);
/* Whether an element's role says that it is the content. */
int is_main_by_role(Nodes *nodes, const Node *element);

/* Adds an element; where memory is out, who takes room is told in the end. */
void list_element(Nodes *nodes, Listed *listed, Node *element);
/* Puts these attributes of an element, a NUL behind each: one that is not there as nothing, others behind a 1. */
void put_told(Nodes *nodes, Out *out, const Node *element, const char *const *names);
int64_t count_characters(Slice text);
/* How many characters `text.strip()` of a node has. */
int64_t size_of_text(const Node *node);
/* The text up to the next NUL; 0 where there is none. */
int next_part(const uint8_t **at, const uint8_t *end, Slice *part);
/* Whether a node was not cut, nor anything around it. */
int is_attached(Nodes *nodes, const Node *node);
/* Whether an attribute's value is one of these, in small letters, whatever its case. */
int says_one_of(Nodes *nodes, const Node *element, const char *name, const char *const *values);

/* Links in place of players: for each its address, empty where it stays, and its name, a NUL behind both. */
int replace_players(Nodes *nodes, Listed players, const uint8_t *answers, int64_t size);
/* Gives how many pictures stand elsewhere now; -1 where only the tree's way will do. */
int64_t keep_spare_images(Nodes *nodes, Listed spare);

#endif

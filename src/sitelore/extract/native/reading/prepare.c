/* Saves from pruning what only looks like machinery, as `writing/embeds.py` does: frames and players that show something become links, pictures
 * for readers without scripts take the place of empty ones. What else `prepare` saves is
 * left to the tree (see `scene.c`). */
#include "images.h"
#include "looks.h"
#include "unseen.h"

#include <string.h>

enum { MOST_EMBEDS = 500, MOST_SPARE_CHARS = 200 };

/* The picture that `noscript` stands in for: its neighbour on the left, or the last one within that. */
static Node *image_before(Node *spare) {
    Node *before = spare->before, *last = NULL;
    while (before && is_gap(before)) before = before->before;
    if (!before || before->tag == TAG_img) return before;
    for (Node *at = before; (at = next_node(before, at));)
        if (at->tag == TAG_img) last = at;
    return last;
}

static int fill_image(Nodes *nodes, Node *empty, Node *image, Slice source) {
    Slice own;
    if (find_source(nodes, empty, &own)) return -1;
    if (own.size) return 0;
    respell_attribute(nodes, empty, "src", source);
    if (!attribute_of(nodes, empty, "alt").size) respell_attribute(nodes, empty, "alt", attribute_of(nodes, image, "alt"));
    return 0;
}

static int keep_spare_image(Nodes *nodes, Node *spare) {
    Node *image = spare;
    while ((image = next_node(spare, image)) && image->tag != TAG_img);
    int pixel = image ? is_pixel(nodes, image) : 1;
    if (pixel || size_of_text(spare) > MOST_SPARE_CHARS) return pixel < 0 ? -1 : 0;
    Slice source;
    if (find_source(nodes, image, &source)) return -1;
    if (!source.size) return 0;
    Node *empty = image_before(spare);
    if (empty && fill_image(nodes, empty, image, source)) return -1;
    if (empty) cut(image);
    else put_before(spare, image);
    return 1;
}

int64_t keep_spare_images(Nodes *nodes, Listed spare) {
    int64_t moved = 0;
    for (int64_t i = 0; i < spare.count && i < MOST_EMBEDS; i++) {
        int done = keep_spare_image(nodes, spare.elements[i]);
        if (done < 0) return -1;
        moved += done;
    }
    return moved;
}

int replace_players(Nodes *nodes, Listed players, const uint8_t *answers, int64_t size) {
    const uint8_t *end = answers + size;
    if (players.count > MOST_EMBEDS) return -1;
    for (int64_t i = 0; i < players.count; i++) {
        Slice address, name;
        if (!next_part(&answers, end, &address) || !next_part(&answers, end, &name)) return -1;
        if (!address.size) continue;
        uint8_t *kept = take_room(nodes, name.size);
        Node *box = make_element(nodes, TAG_div), *link = make_element(nodes, TAG_a);
        Node *text = kept ? make_text(nodes, (Slice){kept, name.size}) : NULL;
        if (!box || !link || !text) return -1;
        memcpy(kept, name.at, (size_t)name.size);
        respell_attribute(nodes, link, "href", address);
        append(link, text);
        append(box, link);
        put_before(players.elements[i], box);
        cut(players.elements[i]);
    }
    return 0;
}

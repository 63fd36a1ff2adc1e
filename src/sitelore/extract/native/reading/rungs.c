/* What a page's own markup calls its content, by tags and roles alone, as `content/rungs.py: plain_content` finds it. */
#include "unseen.h"

#include "looks.h"

static const Tags SECTIONS = {[TAG_main] = 1, [TAG_article] = 1, [TAG_section] = 1};
/* Rules of writing look for these around an element, past the chosen one: then the tree is written. */
static const Tags LOOKED_FOR = {
    [TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1, [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1, [TAG_ul] = 1, [TAG_ol] = 1, [TAG_pre] = 1,
    [TAG_code] = 1, [TAG_picture] = 1, [TAG_sup] = 1, [TAG_table] = 1, [TAG_b] = 1, [TAG_strong] = 1, [TAG_i] = 1, [TAG_em] = 1,
    [TAG_del] = 1, [TAG_s] = 1};

enum { MOST_LOOKS = 300, ARTICLE = 1, MAIN, BODY };

static int holds_mark(Nodes *nodes, const Node *element) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (!is_text(at) && is_mark(nodes, at)) return 1;
    return 0;
}

static int is_in_section(Nodes *nodes, const Node *element) {
    while (element && !SECTIONS[element->tag] && !is_main_by_role(nodes, element)) element = element->parent;
    return element != NULL;
}

static int is_below(const Node *top, const Node *node) {
    while (node && node != top) node = node->parent;
    return node != NULL;
}

/* Those of the listed elements that are still within another. */
static int64_t keep_below(const Node *top, Listed *listed) {
    int64_t count = 0;
    for (int64_t i = 0; i < listed->count; i++)
        if (listed->elements[i] != top && is_below(top, listed->elements[i])) listed->elements[count++] = listed->elements[i];
    return listed->count = count;
}

static void drop_frame(Nodes *nodes, Scene *scene) {
    int any = keep_below(scene->body, &scene->marked) > 0;
    keep_below(scene->body, &scene->around);
    for (int64_t i = 0; i < scene->around.count; i++) {
        Node *element = scene->around.elements[i];
        /* The header of an article or a section holds its title. */
        int stays = i < MOST_LOOKS && ((element->tag == TAG_header && is_in_section(nodes, element)) || (any && holds_mark(nodes, element)));
        if (!stays) cut(element);
    }
}

/* The one element that says it is the content, when it holds a fair share of the text; else the body. */
static Node *find_marked(Nodes *nodes, Scene *scene, int64_t whole, int64_t *rung) {
    Node *largest = NULL;
    int64_t size = 0, sum = 0, looks = 0;
    keep_below(scene->body, &scene->marked);
    for (int64_t i = 0; i < scene->marked.count && looks < MOST_LOOKS; i++) {
        Node *element = scene->marked.elements[i];
        if (element->tag != TAG_article) continue;
        int64_t own = size_of_text(element);
        looks++, sum += own;
        if (!largest || own > size) largest = element, size = own;
    }
    *rung = ARTICLE;
    if (largest && (double)size >= 0.6 * (double)sum && (double)size >= (double)whole * 0.25) return largest;
    *rung = MAIN, looks = 0;
    for (int64_t i = 0; i < scene->marked.count && looks < MOST_LOOKS; i++) {
        Node *element = scene->marked.elements[i];
        if (element->tag != TAG_main && !is_main_by_role(nodes, element)) continue;
        looks++;
        if ((double)size_of_text(element) >= (double)whole * 0.25) return element;
    }
    *rung = BODY;
    return scene->body;
}

/* Chooses what the page's markup calls its content. Gives the rung that found it; -1 where only the tree's way will do. */
EXPORT int64_t choose_plainly(void) {
    Nodes *nodes = page_nodes();
    Scene *scene = scene_of_page();
    int64_t rung;
    if (!scene) return -1;
    drop_frame(nodes, scene);
    int64_t whole = size_of_text(scene->body);
    Node *found = whole ? find_marked(nodes, scene, whole, &rung) : NULL;
    if (!found || closest(found->parent, LOOKED_FOR)) return -1;
    choose(nodes, found);
    return is_out(nodes) ? -1 : rung;
}

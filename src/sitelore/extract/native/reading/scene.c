/* One walk over a page that finds what later steps ask about. */
#include "unseen.h"

#include "looks.h"

#include <string.h>

enum { NEVER = 1, PLAYER = 2, BUTTON = 4, SPARE = 8, AROUND = 16, MARKED = 32 };

static const uint8_t kinds[TAG_COUNT] = {
    [TAG_script] = NEVER, [TAG_style] = NEVER, [TAG_template] = NEVER, [TAG_svg] = NEVER, [TAG_iframe] = NEVER | PLAYER,
    [TAG_canvas] = NEVER, [TAG_map] = NEVER, [TAG_select] = NEVER, [TAG_datalist] = NEVER, [TAG_textarea] = NEVER, [TAG_input] = NEVER,
    [TAG_progress] = NEVER, [TAG_meter] = NEVER, [TAG_head] = NEVER, [TAG_link] = NEVER, [TAG_meta] = NEVER, [TAG_frameset] = NEVER,
    [TAG_video] = NEVER | PLAYER, [TAG_audio] = NEVER | PLAYER, [TAG_button] = BUTTON,
    [TAG_noscript] = SPARE, [TAG_nav] = AROUND, [TAG_aside] = AROUND, [TAG_menu] = AROUND, [TAG_header] = AROUND, [TAG_footer] = AROUND,
    [TAG_main] = MARKED, [TAG_article] = MARKED};
static const char *const never_named[] = {"annotation", "annotation-xml", NULL};
static const char *const roles_around[] = {
    "navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu", "menubar", "toolbar", NULL};
static const char *const main_role[] = {"main", NULL};
static const char *const body_property[] = {"articlebody", NULL};
static const char *const box_type[] = {"checkbox", NULL};

int says_one_of(Nodes *nodes, const Node *element, const char *name, const char *const *values) {
    Slice value = element->attributes.size ? attribute_of(nodes, element, name) : (Slice){NULL, 0};
    for (; value.size && *values; values++)
        if (value.size == (int64_t)strlen(*values) && !find_folded(value, *values)) return 1;
    return 0;
}

int is_attached(Nodes *nodes, const Node *node) {
    while (node->parent) node = node->parent;
    return node == top_of(nodes);
}

void list_element(Nodes *nodes, Listed *listed, Node *element) {
    if (listed->count == listed->room) {
        int64_t room = listed->room ? listed->room * 2 : 32;
        Node **larger = take_room(nodes, room * (int64_t)sizeof *larger);
        if (!larger) return; /* who takes room is told in the end */
        if (listed->count) memcpy(larger, listed->elements, (size_t)listed->count * sizeof *larger);
        listed->elements = larger, listed->room = room;
    }
    listed->elements[listed->count++] = element;
}

/* Whether a colon is followed by a number of four digits below zero; any byte past ASCII may be part of a digit. */
static int moves_far(Slice style) {
    const uint8_t *at = style.at, *end = at + style.size;
    while (at < end && (at = memchr(at, ':', (size_t)(end - at)))) {
        int size = 1, digits = 0;
        for (at++; at < end && is_space(code_at(at, end, &size)); at += size);
        if (end - at < 5 || *at != '-') continue;
        while (digits < 4 && (at[digits + 1] >= 0x80 || (at[digits + 1] >= '0' && at[digits + 1] <= '9'))) digits++;
        if (digits == 4) return 1;
    }
    return 0;
}

static int has_both(Slice style, const char *one, const char *other) { return find_folded(style, one) >= 0 && find_folded(style, other) >= 0; }

/* Whether a style holds the words of one way to hide something. Python says whether it does. */
static int may_hide(Slice style) {
    return has_both(style, "none", "display") || find_folded(style, "visibility") >= 0 || find_folded(style, "font-size") >= 0 ||
           find_folded(style, "clip") >= 0 || has_both(style, "color", "background") || find_folded(style, "transparent") >= 0 || moves_far(style);
}

static int may_be_hidden(Nodes *nodes, const Node *element) {
    if (element->tag == TAG_dialog) return 1;
    if (!element->attributes.size) return 0;
    Slice style = attribute_of(nodes, element, "style");
    return (style.size && may_hide(style)) || attribute_of(nodes, element, "hidden").at || attribute_of(nodes, element, "aria-hidden").at;
}

/* A box that a list item may begin with: a form's boxes are questions, not tasks. */
static int is_task_box(Nodes *nodes, Node *input) {
    static const Tags items = {[TAG_li] = 1}, forms = {[TAG_form] = 1};
    if (!says_one_of(nodes, input, "type", box_type) || !closest(input, items)) return 0;
    return !closest(input, forms) || attribute_of(nodes, input, "disabled").at;
}

/* Whether only the tree's way can save from pruning what only looks like machinery. */
static int needs_tree(Nodes *nodes, Node *element) {
    switch (element->tag) {
    case TAG_math: case TAG_object: case TAG_embed: return 1;
    case TAG_script: return element->attributes.size && find_folded(attribute_of(nodes, element, "type"), "math/tex") == 0;
    case TAG_input: return is_task_box(nodes, element);
    default: return 0;
    }
}

/* What stands within a player is for readers who cannot have the player. */
static int is_in_player(Node *element) {
    static const Tags players = {[TAG_video] = 1, [TAG_audio] = 1};
    return closest(element->parent, players) != NULL;
}

static int is_never_named(const Node *element) {
    for (const char *const *name = never_named; *name; name++)
        if (element->name.size == (int64_t)strlen(*name) && !memcmp(element->name.at, *name, (size_t)element->name.size)) return 1;
    return 0;
}

int is_main_by_role(Nodes *nodes, const Node *element) { return says_one_of(nodes, element, "role", main_role); }

int is_mark(Nodes *nodes, const Node *element) {
    return kinds[element->tag] & MARKED || is_main_by_role(nodes, element) || says_one_of(nodes, element, "itemprop", body_property);
}

static void list_by_kind(Nodes *nodes, Scene *scene, Node *element) {
    int kind = kinds[element->tag];
    if (element->tag == TAG_OTHER && is_never_named(element)) kind = NEVER;
    if (kind & NEVER) list_element(nodes, &scene->never, element);
    if (kind & PLAYER && !is_in_player(element)) list_element(nodes, &scene->players, element);
    if (kind & BUTTON) list_element(nodes, &scene->buttons, element);
    if (kind & SPARE) list_element(nodes, &scene->spare, element);
    if (kind & AROUND || says_one_of(nodes, element, "role", roles_around)) list_element(nodes, &scene->around, element);
    if (is_mark(nodes, element)) list_element(nodes, &scene->marked, element);
    if (may_be_hidden(nodes, element)) list_element(nodes, &scene->telling, element);
}

Scene *look_around(Nodes *nodes) {
    Scene *scene = take_room(nodes, sizeof *scene);
    Node *top = top_of(nodes);
    if (!scene) return NULL;
    *scene = (Scene){.head = NULL};
    for (Node *at = top; (at = next_node(top, at));) {
        if (is_text(at)) continue;
        if (needs_tree(nodes, at)) return NULL;
        if (at->tag == TAG_head && !scene->head) scene->head = at;
        if (at->tag == TAG_body && !scene->body) scene->body = at;
        list_by_kind(nodes, scene, at);
    }
    return scene->body && !is_out(nodes) ? scene : NULL;
}

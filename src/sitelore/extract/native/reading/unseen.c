#include "unseen.h"

#include "looks.h"

#include <string.h>

/* Of elements that may be hidden, and of players: what Python asks about. */
static const char *const told_of_hidden[] = {"style", "hidden", "aria-hidden", "id", "class", "role", "aria-labelledby", "open", NULL};
static const char *const told_of_players[] = {
    "src", "data-src", "data-lazy-src", "data-url", "data", "title", "aria-label", "width", "height", "style", NULL};
static const char *const address[] = {"src", NULL};
static const char *const told_of_controls[] = {"aria-controls", "data-target", "data-bs-target", "href", NULL};
static const Tags TITLES = {
    [TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1, [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1, [TAG_dt] = 1, [TAG_summary] = 1};

enum { MOST_LOOKS = 300, SPARE_CHARS = 120, MOST_NAMES = 64 };

static __thread Scene *scene; /* of the page that was read last */
static __thread Out out;

static int64_t tell(Told *told) {
    *told = (Told){out.bytes, NULL, out.size, 0};
    return out.is_out ? -1 : 0;
}

Scene *scene_of_page(void) { return page_nodes() ? scene : NULL; }

/* The page, where it can be asked about. */
static Nodes *begin(void) {
    out.size = out.is_out = 0;
    return scene ? page_nodes() : NULL;
}

int next_part(const uint8_t **at, const uint8_t *end, Slice *part) {
    const uint8_t *close = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    if (!close) return 0;
    *part = (Slice){*at, close - *at};
    *at = close + 1;
    return 1;
}

/* How many characters of white space a text begins with, or ends with: all of them where it is nothing else. */
static int64_t blank_at_start(Slice text) {
    int64_t count = 0;
    int size;
    for (const uint8_t *at = text.at, *end = at + text.size; at < end && is_space(code_at(at, end, &size)); at += size) count++;
    return count;
}

static int64_t blank_at_end(Slice text) {
    int64_t count = 0;
    for (const uint8_t *end = text.at + text.size, *at = end; at > text.at; end = at, count++) {
        int size;
        while (--at > text.at && (*at & 0xC0) == 0x80);
        if (!is_space(code_at(at, end, &size))) break;
    }
    return count;
}

int64_t count_characters(Slice text) {
    int64_t count = 0;
    for (int64_t i = 0; i < text.size; i++) count += (text.at[i] & 0xC0) != 0x80;
    return count;
}

int64_t size_of_text(const Node *node) {
    int64_t size = 0, blank = 0; /* at its end */
    for (const Node *at = node; (at = next_node(node, at));) {
        if (!is_text(at)) continue;
        int64_t count = count_characters(at->text), trailing = blank_at_end(at->text);
        if (!size) count -= blank_at_start(at->text);
        blank = trailing < count ? trailing : size ? blank + count : 0;
        size += count;
    }
    return size - blank;
}

void put_told(Nodes *nodes, Out *to, const Node *element, const char *const *names) {
    for (; *names; names++) {
        Slice value = attribute_of(nodes, element, *names);
        if (value.at) put_bytes(to, "\1", 1);
        put_bytes(to, value.at, value.size);
        put_bytes(to, "", 1);
    }
}

/* Looks at the page and tells its players: of each its tag, what Python asks of it, and the addresses within it, an empty one last. Gives
 * how many; -1 where only the tree's way will do. */
EXPORT int64_t tell_players(Told *told) {
    Nodes *page = page_nodes();
    scene = page ? look_around(page) : NULL;
    Nodes *nodes = begin();
    if (!nodes) return -1;
    for (int64_t i = 0; i < scene->players.count; i++) {
        const Node *player = scene->players.elements[i];
        put_bytes(&out, player->name.at, player->name.size);
        put_bytes(&out, "", 1);
        put_told(nodes, &out, player, told_of_players);
        for (const Node *at = player; (at = next_node(player, at));)
            if (at->tag == TAG_source && attribute_of(nodes, at, "src").at) put_told(nodes, &out, at, address);
        put_bytes(&out, "", 1);
    }
    return tell(told) ? -1 : scene->players.count;
}

/* Puts links in the place of players (see `replace_players`), then tells which elements may be hidden: their tags and what Python asks of
 * them. Gives how many; -1 where only the tree's way will do. */
EXPORT int64_t tell_hidden(const uint8_t *answers, int64_t size, Told *told) {
    Nodes *nodes = begin();
    if (!nodes || replace_players(nodes, scene->players, answers, size)) return -1;
    Listed *telling = &scene->telling;
    int64_t moved = keep_spare_images(nodes, scene->spare), count = 0;
    if (moved < 0 || (moved && telling->count > MOST_LOOKS)) return -1; /* past so many it counts which of them come first */
    for (int64_t i = 0; i < telling->count; i++) {
        Node *element = telling->elements[i];
        if (!element->parent) continue; /* a player that is a link now */
        telling->elements[count++] = element;
        put_bytes(&out, element->name.at, element->name.size);
        put_bytes(&out, "", 1);
        put_told(nodes, &out, element, told_of_hidden);
    }
    telling->count = count;
    return is_out(nodes) || tell(told) ? -1 : count;
}

/* The text of one of them. */
EXPORT int64_t tell_text(int64_t at, Told *told) {
    if (!begin() || at < 0 || at >= scene->telling.count) return -1;
    put_text_below(&out, scene->telling.elements[at]);
    return tell(told);
}

static int is_control(Nodes *nodes, const Node *element) {
    for (int i = 0; i < 3; i++)
        if (attribute_of(nodes, element, told_of_controls[i]).at) return 1;
    return element->tag == TAG_a && starts_with(attribute_of(nodes, element, "href"), "#");
}

/* What the page's controls name as their targets. */
EXPORT int64_t tell_targets(Told *told) {
    Nodes *nodes = begin();
    if (!nodes) return -1;
    Node *top = top_of(nodes);
    for (Node *at = top; (at = next_node(top, at));)
        if (!is_text(at) && at->attributes.size && is_control(nodes, at)) put_told(nodes, &out, at, told_of_controls);
    return is_out(nodes) ? -1 : tell(told);
}

static int is_in_title(Nodes *nodes, const Node *element) {
    for (; element; element = element->parent) {
        if (TITLES[element->tag]) return 1;
        Slice role = element->attributes.size ? attribute_of(nodes, element, "role") : (Slice){NULL, 0};
        if (role.size == 7 && !memcmp(role.at, "heading", 7)) return 1;
    }
    return 0;
}

/* A button within a heading is the title of what it opens: its text stays where it is. */
static void drop_buttons(Nodes *nodes) {
    Listed buttons = scene->buttons;
    int64_t looks = 0;
    int any = 0;
    for (int64_t i = 0; i < buttons.count && looks < MOST_LOOKS && !any; i++)
        if (is_attached(nodes, buttons.elements[i])) looks++, any = is_in_title(nodes, buttons.elements[i]);
    for (int64_t i = 0; any && i < buttons.count; i++)
        if (buttons.elements[i]->parent && is_in_title(nodes, buttons.elements[i]->parent)) unwrap(buttons.elements[i]);
    for (int64_t i = 0; i < buttons.count; i++) cut(buttons.elements[i]);
}

/* Drops what is never text. Gives the size of what those hold that may be hidden and have these numbers; -1 where there is no page. */
EXPORT int64_t drop_never_text(const int64_t *which, int64_t count) {
    Nodes *nodes = begin();
    if (!nodes) return -1;
    int64_t size = 0;
    if (scene->head) cut(scene->head);
    drop_buttons(nodes);
    for (int64_t i = 0; i < scene->never.count; i++) cut(scene->never.elements[i]);
    for (int64_t i = 0; i < count && i < MOST_LOOKS; i++) size += size_of_text(scene->telling.elements[which[i]]);
    return size;
}

/* The size of the page's text; -1 where there is no page. */
EXPORT int64_t size_of_body(void) { return begin() ? size_of_text(scene->body) : -1; }

static int is_named(Slice name, const Slice *names, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (is_same(name, names[i])) return 1;
    return 0;
}

/* Whether one of the tokens of a class is one of these names. */
static int has_name(Slice class_, const Slice *names, int64_t count) {
    const uint8_t *at = class_.at, *end = at + class_.size;
    while (at < end) {
        int size;
        const uint8_t *begins = at;
        while (at < end && !is_space(code_at(at, end, &size))) at += size;
        if (at > begins && is_named((Slice){begins, at - begins}, names, count)) return 1;
        if (at < end) at += size;
    }
    return 0;
}

/* Dialogs that ask for consent stand at an end of the body. */
static void drop_consent(Nodes *nodes, const uint8_t *told, const uint8_t *end) {
    Slice names[MOST_NAMES];
    int64_t count = 0;
    while (count < MOST_NAMES && next_part(&told, end, &names[count])) count++;
    for (Node *at = scene->body->first, *after; at; at = after) {
        after = at->after;
        if (is_text(at) || !at->attributes.size) continue;
        Slice id = attribute_of(nodes, at, "id"), class_ = attribute_of(nodes, at, "class");
        int asks = (id.size && is_named(id, names, count)) || (class_.size && has_name(class_, names, count));
        if (asks && size_of_text(at) < size_of_text(scene->body)) cut(at);
    }
}

/* What readers without scripts get is mostly a notice; forums serve whole threads there, and nearly nothing beside. */
static void drop_spare(Nodes *nodes) {
    Listed spare = scene->spare;
    int64_t size = 0, looks = 0;
    for (int64_t i = 0; i < spare.count && looks < MOST_LOOKS; i++)
        if (is_attached(nodes, spare.elements[i])) looks++, size += size_of_text(spare.elements[i]);
    int64_t most = size / 2 > SPARE_CHARS ? size / 2 : SPARE_CHARS;
    if (size > SPARE_CHARS && size_of_text(top_of(nodes)) - size < most) return;
    for (int64_t i = 0; i < spare.count; i++) cut(spare.elements[i]);
}

/* Drops those of the elements that may be hidden whose numbers these are, dialogs that ask for consent, by their names, a NUL behind each,
 * and what is for readers without scripts. -1 where only the tree's way will do. */
EXPORT int64_t drop_hidden(const int64_t *which, int64_t count, const uint8_t *names, int64_t size) {
    Nodes *nodes = begin();
    if (!nodes) return -1;
    for (int64_t i = 0; i < count; i++) cut(scene->telling.elements[which[i]]);
    drop_consent(nodes, names, names + size);
    drop_spare(nodes);
    return is_out(nodes) || !is_attached(nodes, scene->body) ? -1 : 0;
}

/* One text where two stand side by side, as who reads the HTML sees them. */
static void join_texts(Nodes *nodes, Node *root) {
    for (Node *at = root; (at = next_node(root, at));) {
        if (!is_text(at) || !at->after || !is_text(at->after)) continue;
        int64_t size = 0;
        for (const Node *next = at; next && is_text(next); next = next->after) size += next->text.size;
        uint8_t *joined = take_room(nodes, size), *to = joined;
        if (!joined) return;
        for (const Node *next = at; next && is_text(next); to += next->text.size, next = next->after)
            memcpy(to, next->text.at, (size_t)next->text.size);
        while (at->after && is_text(at->after)) cut(at->after);
        at->text = (Slice){joined, size};
    }
}

void choose(Nodes *nodes, Node *root) {
    Node *top = top_of(nodes);
    cut(root);
    while (top->first) cut(top->first);
    append(top, root);
    join_texts(nodes, root);
}

/* Chooses the body and tells its HTML, until the next call in this thread. Gives how many elements it holds; -1 where only the tree's way
 * will do. */
EXPORT int64_t choose_body(Told *told) {
    Nodes *nodes = begin();
    if (!nodes) return -1;
    choose(nodes, scene->body);
    int64_t opened = write_html_of(scene->body, &out);
    return tell(told) || is_out(nodes) ? -1 : opened;
}

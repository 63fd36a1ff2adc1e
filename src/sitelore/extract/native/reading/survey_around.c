/* What the survey has to look around for: whose date or author something is, what a room is called, where it stands. */
#include "survey.h"

#include <string.h>

enum { SLOTS = 1024 };

/* An element by its id. */
typedef struct Known { struct Known *next; Slice id; Node *element; } Known;

static const char *const names_marked[NAMES_MARKED] = {"datepublished", "datemodified", "author"};

static Slice in_small_letters(Nodes *nodes, Slice text) {
    uint8_t *out = take_room(nodes, text.size + 1);
    if (!out) return text;
    for (int64_t i = 0; i < text.size; i++) out[i] = text.at[i] >= 'A' && text.at[i] <= 'Z' ? text.at[i] | 0x20 : text.at[i];
    return (Slice){out, text.size};
}

static int says(Slice text, const char *what) {
    int64_t size = (int64_t)strlen(what);
    for (int64_t at = 0; at + size <= text.size; at++)
        if (!memcmp(text.at + at, what, (size_t)size)) return 1;
    return 0;
}

/* Whether an element is part of a comment or a review. */
static int is_of_others(Nodes *nodes, const Node *element) {
    for (; element->parent; element = element->parent) {
        if (!element->attributes.size) continue;
        Slice prop = attribute_of(nodes, element, "itemprop"), type = attribute_of(nodes, element, "itemtype");
        if (has_css_token(prop, "comment") || has_css_token(prop, "review") || has_css_token(prop, "suggestedanswer")) return 1;
        if (says(type, "/Comment") || says(type, "/Review")) return 1;
    }
    return 0;
}

/* The first element below that gives a name; else the one itself. */
static const Node *naming(Nodes *nodes, const Node *element) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (!is_text(at) && has_css_token(attribute_of(nodes, at, "itemprop"), "name")) return at;
    return element;
}

static void put_marked(Survey *survey, int which, const Node *element) {
    put_whole(survey, MARKED, (Slice){(const uint8_t *)names_marked[which], (int64_t)strlen(names_marked[which])});
    if (which == AUTHOR) element = naming(survey->nodes, element);
    Slice said = attribute_of(survey->nodes, element, "content");
    if (!said.size && which != AUTHOR) said = attribute_of(survey->nodes, element, "datetime");
    if (said.size) put_whole(survey, MARKED, said);
    else put_text_of(survey, MARKED, element, LONGEST_SAID);
}

void take_marked(Survey *survey, Node *element) {
    Slice prop = in_small_letters(survey->nodes, attribute_of(survey->nodes, element, "itemprop"));
    for (int which = 0; which < NAMES_MARKED; which++)
        if (has_token(prop, names_marked[which]) && survey->marked[which]++ < MOST_MARKED && !is_of_others(survey->nodes, element))
            put_marked(survey, which, element);
}

static void put_date(Survey *survey, Node *time) {
    static const Tags article = {[TAG_article] = 1}, aside = {[TAG_aside] = 1, [TAG_footer] = 1, [TAG_nav] = 1};
    Node *around = closest(time, article);
    if ((around && around != closest(survey->top, article)) || closest(time, aside)) return;
    Slice said = attribute_of(survey->nodes, time, "datetime"), prop = attribute_of(survey->nodes, time, "itemprop");
    if (said.size) put_whole(survey, DATES, said);
    else put_text_of(survey, DATES, time, LONGEST_SAID);
    put_bytes(&survey->out[DATES], prop.at, prop.size);
    put_bytes(&survey->out[DATES], " ", 1);
    put_whole(survey, DATES, attribute_of(survey->nodes, time, "class"));
}

void put_dates(Survey *survey) {
    if (!survey->top) return;
    for (int at = 0; at < survey->after_count; at++) put_date(survey, survey->after[at]);
    for (int at = 0; at < survey->before_count && survey->after_count + at < MOST_DATES; at++) put_date(survey, survey->before[at]);
}

static int is_one_of(Slice text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (text.size == (int64_t)strlen(names[i]) && !find_folded(text, names[i])) return 1;
    return 0;
}

static int is_in_section(Nodes *nodes, const Node *element) {
    static const Tags sections = {[TAG_article] = 1, [TAG_aside] = 1, [TAG_main] = 1, [TAG_nav] = 1, [TAG_section] = 1};
    static const char *const roles[] = {"main", "article", "region"};
    if (element->parent->tag == TAG_template && !element->parent->is_foreign) return 0; /* `dom.has_ancestor` sees a fragment there */
    for (element = element->parent; element->parent; element = element->parent) {
        if (sections[element->tag]) return 1;
        if (is_one_of(attribute_of(nodes, element, "role"), roles, 3)) return 1;
    }
    return 0;
}

static uint32_t slot_of(Slice id) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < id.size; i++) hash = (hash ^ id.at[i]) * 16777619u;
    return (hash ^ hash >> 15) % SLOTS;
}

/* Everything that has an id but the root, by it: of each slot the last first. NULL where memory is out. */
static Known **know_ids(Nodes *nodes, const Node *root) {
    Known **slots = take_room(nodes, SLOTS * (int64_t)sizeof *slots);
    if (!slots) return NULL;
    memset(slots, 0, SLOTS * sizeof *slots);
    for (Node *at = (Node *)root; (at = next_node(root, at));) {
        Slice id = is_text(at) || !at->attributes.size ? (Slice){NULL, 0} : attribute_of(nodes, at, "id");
        if (!id.size) continue;
        Known *known = take_room(nodes, sizeof *known);
        if (!known) return NULL;
        *known = (Known){slots[slot_of(id)], id, at};
        slots[slot_of(id)] = known;
    }
    return slots;
}

static const Node *with_id(Known **slots, Slice id) {
    const Node *found = NULL;
    for (const Known *at = slots[slot_of(id)]; at; at = at->next)
        if (is_same(at->id, id)) found = at->element;
    return found;
}

/* What the elements say that are named in a list of ids. */
static void add_named(Line *line, Slice ids, Known **slots) {
    const uint8_t *at = ids.at, *end = at + ids.size;
    for (int count = 0; at < end && count < MOST_IDS;) {
        int size = space_at(at, end);
        if (size) {
            at += size;
            continue;
        }
        const uint8_t *begin = at;
        while (at < end && !space_at(at, end)) code_at(at, end, &size), at += size;
        count++;
        const Node *named = with_id(slots, (Slice){begin, at - begin});
        add_to_line(line, (Slice){(const uint8_t *)" ", 1});
        if (named) add_text_of(line, named);
    }
}

/* Whether an element may be a landmark: for its role, or for its tag where it has none. */
static int may_be_landmark(Nodes *nodes, const Node *room, Slice role) {
    static const char *const roles[] = {"main", "navigation", "banner", "contentinfo", "complementary", "search", "region", "form"};
    role = stripped(role);
    if (role.size) return is_one_of(role, roles, 8);
    if (room->tag != TAG_section && room->tag != TAG_form) return 1;
    return attribute_of(nodes, room, "aria-labelledby").size || attribute_of(nodes, room, "aria-label").size || attribute_of(nodes, room, "title").size;
}

/* One of a room's texts. What stands behind it must not stand in it: then there is one text too many, so that the tree is asked. */
static void put_part(Survey *survey, Slice text) {
    Out *out = &survey->out[ABOUT];
    put_bytes(out, text.at, text.size);
    put_bytes(out, "\1", 1);
    if (text.size && memchr(text.at, 1, (size_t)text.size)) put_bytes(out, "", 1);
}

static void put_room(Survey *survey, const Node *room, Slice role, Known **slots) {
    Nodes *nodes = survey->nodes;
    int is_edge = room->tag == TAG_header || room->tag == TAG_footer;
    put_part(survey, is_edge && is_in_section(nodes, room) ? (Slice){NULL, 0} : room->name);
    put_part(survey, role);
    Line named;
    begin_line(&named, LONGEST_TEXT);
    if (slots) add_named(&named, attribute_of(nodes, room, "aria-labelledby"), slots);
    put_part(survey, (Slice){named.bytes, named.size});
    Slice label = attribute_of(nodes, room, "aria-label");
    put_part(survey, label.size ? label : attribute_of(nodes, room, "title"));
}

void put_rooms(Survey *survey) {
    Nodes *nodes = survey->nodes;
    Known **slots = NULL;
    for (int i = 0; i < survey->room_count; i++) {
        const Node *room = survey->rooms[i];
        Slice role = attribute_of(nodes, room, "role");
        if (!may_be_landmark(nodes, room, role)) continue;
        if (!slots && attribute_of(nodes, room, "aria-labelledby").size) slots = know_ids(nodes, survey->root);
        put_room(survey, room, role, slots);
    }
}

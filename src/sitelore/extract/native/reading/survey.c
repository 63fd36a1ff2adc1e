/* What a page says of itself, in one walk over its nodes. */
#include "survey.h"

#include <string.h>

enum { LONGEST_SHEET = 16000 }; /* as in `style_sheets.py` */

static const Tags ROOMS = {[TAG_main] = 1,   [TAG_nav] = 1,    [TAG_header] = 1,  [TAG_footer] = 1,
                           [TAG_aside] = 1,  [TAG_search] = 1, [TAG_section] = 1, [TAG_form] = 1};

static __thread Out outs[KINDS], first, second;

void end_text(Survey *survey, int kind) {
    put_bytes(&survey->out[kind], "", 1);
    survey->counts[kind]++;
}

void put_whole(Survey *survey, int kind, Slice text) {
    put_bytes(&survey->out[kind], text.at, text.size);
    end_text(survey, kind);
}

static int has(const Survey *survey, int which) { return survey->has >> which & 1; }

/* An attribute of the element that is looked at. */
static Slice said(Survey *survey, int which) {
    if (!has(survey, which)) return (Slice){NULL, 0};
    return without_references(survey->nodes, survey->written[which]);
}

static void put_attribute(Survey *survey, int kind, const Node *element, const char *name) {
    put_whole(survey, kind, attribute_of(survey->nodes, element, name));
}

void begin_line(Line *line, int64_t most) { line->left = most, line->size = 0, line->is_apart = 0; }

void add_to_line(Line *line, Slice text) {
    const uint8_t *at = text.at, *end = at + text.size;
    uint8_t *begin = line->bytes, *to = begin + line->size;
    int64_t left = line->left;
    int is_apart = line->is_apart;
    while (at < end && left > 0) {
        int size = *at < 0x80 ? is_blank_byte(*at) : space_at(at, end);
        if (size) {
            is_apart = to > begin, at += size;
            continue;
        }
        left--;
        if (is_apart) {
            *to++ = ' ', is_apart = 0;
            continue;
        }
        if (*at >= 0x80) code_at(at, end, &size);
        else size = 1;
        while (size--) *to++ = *at++;
        for (; at < end && left > 0 && *at > ' ' && *at < 0x80; left--) *to++ = *at++;
    }
    line->left = left, line->size = to - begin, line->is_apart = is_apart;
}

void add_text_of(Line *line, const Node *element) {
    for (const Node *at = element; line->left > 0 && (at = next_node(element, at));)
        if (is_text(at)) add_to_line(line, at->text);
}

void put_line(Survey *survey, int kind, const Line *line) { put_whole(survey, kind, (Slice){line->bytes, line->size}); }

void put_text_of(Survey *survey, int kind, const Node *element, int64_t most) {
    Line line;
    begin_line(&line, most);
    add_text_of(&line, element);
    put_line(survey, kind, &line);
}

int has_css_token(Slice text, const char *token) {
    int64_t size = (int64_t)strlen(token), begin = 0;
    for (int64_t at = 0; at <= text.size; at++) {
        if (at < text.size && !strchr(" \t\n\r\f", text.at[at])) continue;
        if (at - begin == size && !find_folded((Slice){text.at + begin, size}, token)) return 1;
        begin = at + 1;
    }
    return 0;
}

static int has_text(const Node *element) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (is_text(at) && at->text.size) return 1;
    return 0;
}

/* All text of an element as it stands. */
static void put_raw(Survey *survey, int kind, const Node *element) {
    for (const Node *at = element; (at = next_node(element, at));)
        if (is_text(at)) put_bytes(&survey->out[kind], at->text.at, at->text.size);
    end_text(survey, kind);
}

/* As much of a text as `most` characters. */
static Slice cut_off(Slice text, int64_t most) {
    int64_t size = 0;
    for (; size < text.size; size++)
        if ((text.at[size] & 0xC0) != 0x80 && !most--) break;
    return (Slice){text.at, size};
}

static void take_meta(Survey *survey) {
    Slice name = said(survey, NAME);
    if (!name.size) name = said(survey, PROPERTY);
    if (!name.size) name = said(survey, HTTP_EQUIV);
    if (!name.size) return;
    put_whole(survey, METAS, stripped(name));
    Line line;
    begin_line(&line, LONGEST_LINE);
    add_to_line(&line, cut_off(said(survey, CONTENT), LONGEST_LINE));
    put_line(survey, METAS, &line);
}

static void put_number(Out *out, int64_t number) {
    char digits[20];
    int at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put_bytes(out, digits + at, (int64_t)sizeof digits - at);
}

/* What a link says of itself, where it may matter. */
static void put_rel(Survey *survey, const Node *element, Slice rel) {
    put_number(&survey->out[RELS], survey->links);
    end_text(survey, RELS);
    put_whole(survey, RELS, element->name);
    put_whole(survey, RELS, rel);
}

static void put_link(Survey *survey, const Node *element) {
    survey->links++;
    put_whole(survey, HREFS, said(survey, HREF));
    Line line;
    begin_line(&line, LONGEST_TEXT);
    add_text_of(&line, element);
    if (!line.size && !has_text(element)) add_to_line(&line, attribute_of(survey->nodes, element, "alt"));
    put_line(survey, TEXTS, &line);
}

static void take_link(Survey *survey, const Node *element) {
    Slice rel = said(survey, REL);
    if (find_folded(rel, "nofollow") >= 0) put_rel(survey, element, rel);
    put_link(survey, element);
    if (element->tag == TAG_a && has_css_token(rel, "author") && survey->bylines++ < MOST_MARKED)
        put_text_of(survey, BYLINES, element, LONGEST_SAID);
}

static void take_relation(Survey *survey, const Node *element) {
    Slice rel = said(survey, REL);
    if (find_folded(rel, "canonical") >= 0 || find_folded(rel, "image_src") >= 0) {
        put_whole(survey, RELATIONS, rel);
        put_whole(survey, RELATIONS, said(survey, HREF));
    }
    if (find_folded(rel, "next") < 0 && find_folded(rel, "prev") < 0) return;
    put_rel(survey, element, rel);
    put_link(survey, element);
}

static int is_shown(Survey *survey, const Node *element) {
    Slice hides = attribute_of(survey->nodes, element, "aria-hidden");
    return !attribute_of(survey->nodes, element, "hidden").at && !(hides.size == 4 && !memcmp(hides.at, "true", 4));
}

static void take_heading(Survey *survey, Node *element) {
    if (element->tag == TAG_h1) {
        if (!survey->h1 && survey->h1s++ < MOST_TITLES && shows_text(element)) survey->h1 = element;
        if (survey->top) survey->is_past_top = 1;
        else survey->top = element;
    } else if (survey->top) survey->is_past_top = 1;
    if (!survey->top) survey->before_count = 0;
    if (survey->headings++ >= MOST_HEADINGS || !is_shown(survey, element)) return;
    Line line;
    begin_line(&line, LONGEST_TEXT);
    add_text_of(&line, element);
    if (!line.size) return;
    survey->levels[survey->counts[TITLES]] = element->name.at[1];
    put_line(survey, TITLES, &line);
}

static void take_time(Survey *survey, Node *element) {
    if (!survey->top && survey->before_count < MOST_DATES) survey->before[survey->before_count++] = element;
    if (survey->top && !survey->is_past_top && survey->after_count < MOST_DATES) survey->after[survey->after_count++] = element;
}

static void take_title(Survey *survey, Node *element) {
    static const Tags drawing = {[TAG_svg] = 1};
    if (!survey->title && survey->titles++ < MOST_TITLES && !closest(element, drawing) && shows_text(element)) survey->title = element;
}

static void take_base(Survey *survey) {
    Slice href = said(survey, HREF);
    if (!survey->base.size && !is_blank(href)) survey->base = href;
}

static void take_script(Survey *survey, const Node *element) {
    Slice kind = attribute_of(survey->nodes, element, "type");
    if (find_folded(kind, "ld+json") >= 0 || find_folded(kind, "json+ld") >= 0) put_raw(survey, SCRIPTS, element);
}

static void take_sheet(Survey *survey, const Node *element) {
    int64_t chars = 0;
    for (const Node *at = element; (at = next_node(element, at));)
        for (int64_t i = 0; is_text(at) && i < at->text.size; i++) chars += (at->text.at[i] & 0xC0) != 0x80;
    if (chars > LONGEST_SHEET) return;
    put_attribute(survey, SHEETS, element, "media");
    put_raw(survey, SHEETS, element);
}

static void take(Survey *survey, Node *element) {
    switch (element->tag) {
    case TAG_a: case TAG_area: take_link(survey, element); break;
    case TAG_link: take_relation(survey, element); break;
    case TAG_meta: take_meta(survey); break;
    case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: take_heading(survey, element); break;
    case TAG_time: take_time(survey, element); break;
    case TAG_title: take_title(survey, element); break;
    case TAG_base: take_base(survey); break;
    case TAG_script: take_script(survey, element); break;
    case TAG_style: take_sheet(survey, element); break;
    default: break;
    }
}

static int attribute_named(Slice name) {
    static const struct { const char *name; int64_t size; int which; } known[] = {
        {"rel", 3, REL}, {"role", 4, ROLE}, {"href", 4, HREF}, {"name", 4, NAME}, {"content", 7, CONTENT}, {"itemprop", 8, ITEMPROP},
        {"property", 8, PROPERTY}, {"http-equiv", 10, HTTP_EQUIV}};
    for (size_t i = 0; i < sizeof known / sizeof *known && known[i].size <= name.size; i++)
        if (known[i].size == name.size && *known[i].name == *name.at && !memcmp(known[i].name, name.at, (size_t)name.size)) return known[i].which;
    return -1;
}

/* What an element is for its attributes alone, whatever its tag. */
static void take_marks(Survey *survey, Node *element) {
    Slice name, written;
    survey->has = 0;
    for (const uint8_t *at = NULL; next_attribute(element, &at, &name, &written);) {
        int which = attribute_named(name);
        if (which >= 0 && !has(survey, which)) survey->written[which] = written, survey->has |= 1u << which;
    }
    int has_role = has(survey, ROLE), has_prop = has(survey, ITEMPROP);
    if (has_prop) take_marked(survey, element);
    if (HEADINGS[element->tag] || element->tag == TAG_time || !(ROOMS[element->tag] || has_role || has_prop)) return;
    if (survey->seen++ < MOST_ROOMS && (ROOMS[element->tag] || has_role)) survey->rooms[survey->room_count++] = element;
}

static void put_about(Survey *survey) {
    static const Node none;
    put_text_of(survey, ABOUT, survey->title ? survey->title : &none, LONGEST_TITLE);
    put_text_of(survey, ABOUT, survey->h1 ? survey->h1 : &none, LONGEST_TITLE);
    put_whole(survey, ABOUT, survey->base);
    put_attribute(survey, ABOUT, survey->root, "lang");
    put_attribute(survey, ABOUT, survey->root, "xml:lang");
    put_whole(survey, ABOUT, (Slice){survey->levels, survey->counts[TITLES]});
    put_rooms(survey);
    end_text(survey, ABOUT);
}

/* Tells of the page that was read last: all texts of one kind after another, those of long kinds by themselves, and how many there are
 * of each. -1 where the tree has to be asked. What is told stays until the next call in this thread. */
EXPORT int64_t survey_page(int64_t *counts, Told *told) {
    Nodes *nodes = page_nodes();
    Node *top = nodes ? top_of(nodes) : NULL;
    if (!top || !top->first || top->first->tag != TAG_html) return -1;
    Survey survey = {.nodes = nodes, .root = top->first, .out = outs, .counts = counts};
    first.size = second.size = first.is_out = second.is_out = 0;
    for (int kind = 0; kind < KINDS; kind++) outs[kind].size = outs[kind].is_out = counts[kind] = 0;
    for (Node *at = top; (at = next_node(top, at));) {
        if (is_text(at)) continue;
        take_marks(&survey, at);
        take(&survey, at);
    }
    put_about(&survey);
    put_dates(&survey);
    for (int kind = 0; kind < KINDS; kind++) {
        put_bytes(kind < FIRST_LONG ? &first : &second, outs[kind].bytes, outs[kind].size);
        first.is_out |= outs[kind].is_out;
    }
    *told = (Told){first.bytes, second.bytes, first.size, second.size};
    return first.is_out || second.is_out || is_out(nodes) ? -1 : 0;
}

/* The stack of open elements, and where nodes go (§13.2.4.2, §13.2.6.1). */
#include "parsing.h"

#include <string.h>

enum { SPECIAL = 1, ENDS_SCOPE = 2, IMPLIED = 4, TABLE_PART = 8, HEADING = 16 };

static const uint8_t traits[TAG_COUNT] = {
    [TAG_address] = SPECIAL, [TAG_applet] = SPECIAL | ENDS_SCOPE, [TAG_area] = SPECIAL, [TAG_article] = SPECIAL, [TAG_aside] = SPECIAL,
    [TAG_base] = SPECIAL, [TAG_basefont] = SPECIAL, [TAG_bgsound] = SPECIAL, [TAG_blockquote] = SPECIAL, [TAG_body] = SPECIAL,
    [TAG_br] = SPECIAL, [TAG_button] = SPECIAL, [TAG_caption] = SPECIAL | ENDS_SCOPE, [TAG_center] = SPECIAL, [TAG_col] = SPECIAL,
    [TAG_colgroup] = SPECIAL, [TAG_dd] = SPECIAL | IMPLIED, [TAG_details] = SPECIAL, [TAG_dir] = SPECIAL, [TAG_div] = SPECIAL,
    [TAG_dl] = SPECIAL, [TAG_dt] = SPECIAL | IMPLIED, [TAG_embed] = SPECIAL, [TAG_fieldset] = SPECIAL, [TAG_figcaption] = SPECIAL,
    [TAG_figure] = SPECIAL, [TAG_footer] = SPECIAL, [TAG_form] = SPECIAL, [TAG_frame] = SPECIAL, [TAG_frameset] = SPECIAL,
    [TAG_h1] = SPECIAL | HEADING, [TAG_h2] = SPECIAL | HEADING, [TAG_h3] = SPECIAL | HEADING, [TAG_h4] = SPECIAL | HEADING,
    [TAG_h5] = SPECIAL | HEADING, [TAG_h6] = SPECIAL | HEADING, [TAG_head] = SPECIAL, [TAG_header] = SPECIAL, [TAG_hgroup] = SPECIAL,
    [TAG_hr] = SPECIAL, [TAG_html] = SPECIAL | ENDS_SCOPE, [TAG_iframe] = SPECIAL, [TAG_img] = SPECIAL, [TAG_input] = SPECIAL,
    [TAG_keygen] = SPECIAL, [TAG_li] = SPECIAL | IMPLIED, [TAG_link] = SPECIAL, [TAG_listing] = SPECIAL, [TAG_main] = SPECIAL,
    [TAG_marquee] = SPECIAL | ENDS_SCOPE, [TAG_menu] = SPECIAL, [TAG_meta] = SPECIAL, [TAG_nav] = SPECIAL, [TAG_noembed] = SPECIAL,
    [TAG_noframes] = SPECIAL, [TAG_noscript] = SPECIAL, [TAG_object] = SPECIAL | ENDS_SCOPE, [TAG_ol] = SPECIAL, [TAG_optgroup] = IMPLIED,
    [TAG_option] = IMPLIED, [TAG_p] = SPECIAL | IMPLIED, [TAG_param] = SPECIAL, [TAG_plaintext] = SPECIAL, [TAG_pre] = SPECIAL,
    [TAG_rb] = IMPLIED, [TAG_rp] = IMPLIED, [TAG_rt] = IMPLIED, [TAG_rtc] = IMPLIED, [TAG_script] = SPECIAL, [TAG_search] = SPECIAL,
    [TAG_section] = SPECIAL, [TAG_select] = SPECIAL | ENDS_SCOPE, [TAG_source] = SPECIAL, [TAG_style] = SPECIAL, [TAG_summary] = SPECIAL,
    [TAG_table] = SPECIAL | ENDS_SCOPE | TABLE_PART, [TAG_tbody] = SPECIAL | TABLE_PART, [TAG_td] = SPECIAL | ENDS_SCOPE,
    [TAG_template] = SPECIAL | ENDS_SCOPE, [TAG_textarea] = SPECIAL, [TAG_tfoot] = SPECIAL | TABLE_PART, [TAG_th] = SPECIAL | ENDS_SCOPE,
    [TAG_thead] = SPECIAL | TABLE_PART, [TAG_title] = SPECIAL, [TAG_tr] = SPECIAL | TABLE_PART, [TAG_track] = SPECIAL, [TAG_ul] = SPECIAL,
    [TAG_wbr] = SPECIAL, [TAG_xmp] = SPECIAL,
};

int decline(Parser *parser, int why) {
    if (!parser->why) parser->why = why;
    return 0;
}

int is_table_part(const Node *node) { return !node->is_foreign && (traits[node->tag] & TABLE_PART); }
int is_special(const Node *node) { return node->is_foreign ? holds_html(node) : traits[node->tag] & SPECIAL; }
int is_heading(int tag) { return traits[tag] & HEADING; }

int ends_any_scope(const Node *node) { return node->is_foreign ? holds_html(node) : traits[node->tag] & ENDS_SCOPE; }

static int ends_scope_of(const Node *node, int scope) {
    switch (scope) {
    case IN_TABLE_SCOPE: return is_html(node, TAG_html) || is_html(node, TAG_table) || is_html(node, TAG_template);
    case IN_BUTTON_SCOPE: return ends_any_scope(node) || is_html(node, TAG_button);
    case IN_LIST_SCOPE: return ends_any_scope(node) || is_html(node, TAG_ol) || is_html(node, TAG_ul);
    default: return ends_any_scope(node);
    }
}

int is_in_scope(const Parser *parser, int tag, int scope) {
    if (!parser->open_of[tag]) return 0;
    for (int i = parser->open_count - 1; i >= 0; i--) {
        if (is_html(parser->open[i], tag)) return 1;
        if (ends_scope_of(parser->open[i], scope)) return 0;
    }
    return 0;
}

void push_open(Parser *parser, Node *element) {
    if (parser->open_count == MOST_OPEN) {
        decline(parser, TOO_DEEP);
        return;
    }
    parser->open[parser->open_count++] = element;
    element->is_open = 1;
    if (!element->is_foreign) parser->open_of[element->tag]++;
}

/* The root is never taken off: what would pop it ends the page. */
void pop_open(Parser *parser) {
    if (parser->open_count <= 1) return;
    Node *element = parser->open[--parser->open_count];
    element->is_open = 0;
    if (!element->is_foreign) parser->open_of[element->tag]--;
}

void remove_open(Parser *parser, const Node *element) {
    int at = parser->open_count - 1;
    while (at > 0 && parser->open[at] != element) at--;
    if (at <= 0) return;
    Node *gone = parser->open[at];
    memmove(parser->open + at, parser->open + at + 1, sizeof *parser->open * (size_t)(parser->open_count - at - 1));
    parser->open_count--;
    gone->is_open = 0;
    if (!gone->is_foreign) parser->open_of[gone->tag]--;
}

void pop_until(Parser *parser, int tag) {
    while (parser->open_count > 1) {
        int is_last = is_current(parser, tag);
        pop_open(parser);
        if (is_last) return;
    }
}

void generate_implied(Parser *parser, int except) {
    for (const Node *node = current(parser); !node->is_foreign && (traits[node->tag] & IMPLIED) && node->tag != except; node = current(parser)) pop_open(parser);
}

void close_paragraph(Parser *parser) {
    if (!is_in_scope(parser, TAG_p, IN_BUTTON_SCOPE)) return;
    generate_implied(parser, TAG_p);
    pop_until(parser, TAG_p);
}

Node *place_for(Parser *parser, Node **target) {
    if (!parser->is_fostering || !is_table_part(*target)) return NULL;
    parser->is_moved = 1;
    for (int i = parser->open_count - 1; i > 0; i--) {
        Node *node = parser->open[i];
        if (is_html(node, TAG_template)) return *target = node, NULL;
        if (!is_html(node, TAG_table)) continue;
        *target = node->parent;
        return node;
    }
    *target = parser->open[0];
    return NULL;
}

static void hang(Node *parent, Node *node, Node *after) {
    Node *before = after ? after->before : parent->last;
    node->parent = parent, node->before = before, node->after = after;
    *(before ? &before->after : &parent->first) = node;
    *(after ? &after->before : &parent->last) = node;
}

Node *insert(Parser *parser, const Tag *tag) {
    if (parser->opened >= parser->most_opened) return decline(parser, TOO_LARGE), NULL;
    Node *parent = current(parser), *after = place_for(parser, &parent);
    Node *element = parent->depth < MOST_DEEP ? make_element(parser->nodes, tag->tag) : NULL;
    if (!element) return decline(parser, parent->depth < MOST_DEEP ? IS_OUT : TOO_DEEP), NULL;
    if (tag->tag == TAG_OTHER) element->name = tag->name;
    element->attributes = tag->attributes;
    element->is_foreign = tag->is_svg;
    element->depth = (uint16_t)(parent->depth + 1), element->place = (int32_t)parser->opened++;
    element->is_in_line = parent->is_in_line || !breaks_line(tag->tag);
    hang(parent, element, after);
    return element;
}

void open_element(Parser *parser, const Tag *tag) {
    Node *element = insert(parser, tag);
    if (element) push_open(parser, element);
}

void open_implied(Parser *parser, int tag) { open_element(parser, &(Tag){.tag = tag}); }

/* Puts text behind a text's own. */
static void join(Parser *parser, Node *node, Slice text) {
    int64_t size = node->text.size + text.size;
    if (node->text.at + node->text.size == text.at) {
        node->text.size = size;
        return;
    }
    if (parser->grown != node || parser->grown_room < size) {
        uint8_t *room = take_room(parser->nodes, size * 2);
        if (!room) {
            decline(parser, IS_OUT);
            return;
        }
        memcpy(room, node->text.at, (size_t)node->text.size);
        node->text.at = room;
        parser->grown = node, parser->grown_room = size * 2;
    }
    memcpy((uint8_t *)node->text.at + node->text.size, text.at, (size_t)text.size);
    node->text.size = size;
}

static void put_text_in(Parser *parser, Node *parent, Node *after, Slice text) {
    Node *before = after ? after->before : parent->last;
    if (!text.size) return;
    if (before && before->tag == TAG_TEXT) {
        join(parser, before, text);
        return;
    }
    Node *node = make_text(parser->nodes, text);
    if (node) hang(parent, node, after);
    else decline(parser, IS_OUT);
}

void insert_text(Parser *parser, Slice text) {
    Node *parent = current(parser), *after = place_for(parser, &parent);
    put_text_in(parser, parent, after, text);
}

void take_raw(Parser *parser, const Tag *tag) {
    Node *element = insert(parser, tag);
    if (!element) return;
    const uint8_t *from = parser->at, *to = end_of_raw_text(parser, from, tag->tag);
    int has_references = tag->tag == TAG_title || tag->tag == TAG_textarea;
    Slice text = has_references ? resolved(parser, from, to) : (Slice){from, to - from};
    if (tag->tag == TAG_textarea && text.size && *text.at == '\n') text.at++, text.size--;
    put_text_in(parser, element, NULL, text);
    Tag end = {.is_end = 1};
    const uint8_t *behind = to < parser->end ? read_tag(parser, to + 2, &end) : NULL;
    parser->at = behind ? behind : parser->end;
}

void settle_moved(Parser *parser) {
    Node *top = top_of(parser->nodes);
    parser->opened = 0;
    for (Node *at = top->first; at; at = next_node(top, at)) {
        while (at->tag == TAG_TEXT && at->after && at->after->tag == TAG_TEXT) {
            join(parser, at, at->after->text);
            cut(at->after);
        }
        if (at->tag == TAG_TEXT) continue;
        if (at->parent->depth >= MOST_DEEP) {
            decline(parser, TOO_DEEP);
            return;
        }
        at->place = (int32_t)parser->opened++;
        at->depth = (uint16_t)(at->parent->depth + 1);
        at->is_in_line = at->parent->is_in_line || !breaks_line(at->tag);
    }
}

/* The rules by which most of a page is built: "in body" (§13.2.6.4.7). */
#include "parsing.h"

#include <string.h>

/* Elements of HTML that nothing is known of are told apart by their names. */
static int is_called(const Node *node, const Tag *tag) {
    if (node->is_foreign || node->tag != tag->tag) return 0;
    return tag->tag != TAG_OTHER || (node->name.size == tag->name.size && !memcmp(node->name.at, tag->name.at, (size_t)tag->name.size));
}

static int is_named(const Tag *tag, const char *name) {
    return tag->name.size == (int64_t)strlen(name) && !memcmp(tag->name.at, name, (size_t)tag->name.size);
}

static int end_any_other(Parser *parser, const Tag *tag) {
    for (int at = parser->open_count - 1; at > 0; at--) {
        const Node *node = parser->open[at];
        if (is_called(node, tag)) {
            /* Implied end tags are of what lies above: all of it goes. */
            while (parser->open_count > at) pop_open(parser);
            return 0;
        }
        if (is_special(node)) return 0;
    }
    return 0;
}

static int end_block(Parser *parser, int tag) {
    if (is_current(parser, tag)) return pop_open(parser), 0;
    if (is_in_scope(parser, tag, IN_SCOPE)) pop_until(parser, tag);
    return 0;
}

static int end_form(Parser *parser) {
    if (parser->open_of[TAG_template]) return end_block(parser, TAG_form);
    Node *form = parser->form;
    parser->form = NULL;
    if (!form || !form->is_open) return 0;
    for (int at = parser->open_count - 1; parser->open[at] != form; at--)
        if (ends_any_scope(parser->open[at])) return 0;
    generate_implied(parser, TAG_OTHER);
    remove_open(parser, form);
    return 0;
}

static int end_heading(Parser *parser) {
    for (int at = parser->open_count - 1; at > 0; at--) {
        const Node *node = parser->open[at];
        if (!node->is_foreign && is_heading(node->tag)) {
            while (parser->open_count > at) pop_open(parser);
            return 0;
        }
        if (ends_any_scope(node)) return 0;
    }
    return 0;
}

static int end_item(Parser *parser, int tag, int scope) {
    if (is_in_scope(parser, tag, scope)) pop_until(parser, tag);
    return 0;
}

static int end_object(Parser *parser, int tag) {
    if (!is_in_scope(parser, tag, IN_SCOPE)) return 0;
    pop_until(parser, tag);
    clear_to_marker(parser);
    return 0;
}

static int end_paragraph(Parser *parser) {
    if (!is_in_scope(parser, TAG_p, IN_BUTTON_SCOPE)) open_implied(parser, TAG_p);
    if (!parser->why) pop_until(parser, TAG_p);
    return 0;
}

static int end_body(Parser *parser, int is_again) {
    if (!is_in_scope(parser, TAG_body, IN_SCOPE)) return 0;
    parser->mode = AFTER_BODY;
    return is_again;
}

static int end_in_body(Parser *parser, const Tag *tag) {
    switch (tag->tag) {
    case TAG_body: return end_body(parser, 0);
    case TAG_html: return end_body(parser, 1);
    case TAG_template: return end_template(parser);
    case TAG_address: case TAG_article: case TAG_aside: case TAG_blockquote: case TAG_button: case TAG_center: case TAG_details:
    case TAG_dialog: case TAG_dir: case TAG_div: case TAG_dl: case TAG_fieldset: case TAG_figcaption: case TAG_figure: case TAG_footer:
    case TAG_header: case TAG_hgroup: case TAG_listing: case TAG_main: case TAG_menu: case TAG_nav: case TAG_ol: case TAG_pre:
    case TAG_search: case TAG_section: case TAG_select: case TAG_summary: case TAG_ul: return end_block(parser, tag->tag);
    case TAG_form: return end_form(parser);
    case TAG_p: return end_paragraph(parser);
    case TAG_li: return end_item(parser, TAG_li, IN_LIST_SCOPE);
    case TAG_dd: case TAG_dt: return end_item(parser, tag->tag, IN_SCOPE);
    case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: return end_heading(parser);
    case TAG_a: case TAG_b: case TAG_big: case TAG_code: case TAG_em: case TAG_font: case TAG_i: case TAG_nobr: case TAG_s: case TAG_small:
    case TAG_strike: case TAG_strong: case TAG_tt: case TAG_u: return adopt(parser, tag->tag) ? 0 : end_any_other(parser, tag);
    case TAG_applet: case TAG_marquee: case TAG_object: return end_object(parser, tag->tag);
    case TAG_br:
        reconstruct(parser);
        insert(parser, &(Tag){.tag = TAG_br});
        return 0;
    default: return end_any_other(parser, tag);
    }
}

static int start_block(Parser *parser, const Tag *tag) {
    close_paragraph(parser);
    open_element(parser, tag);
    return 0;
}

static int start_heading(Parser *parser, const Tag *tag) {
    close_paragraph(parser);
    if (!current(parser)->is_foreign && is_heading(current(parser)->tag)) pop_open(parser);
    open_element(parser, tag);
    return 0;
}

/* A line end that a listing begins with is none of its text. To the parser it still is text, before which formatting goes on. */
static int start_listing(Parser *parser, const Tag *tag) {
    start_block(parser, tag);
    uint8_t meant[REFERENCE_BYTES];
    const uint8_t *at = parser->at, *end = parser->end;
    if (end - at > 2 && !memcmp(at, "</>", 3)) return decline(parser, EMPTY_END_TAG);
    int is_feed = at < end && (*at == '\n' || (*at == '&' && reference_at(&at, end, 0, meant) && *meant == '\n'));
    if (!is_feed || parser->why) return 0;
    parser->at = at + (*at == '\n' && at == parser->at);
    reconstruct(parser);
    return 0;
}

static int start_form(Parser *parser, const Tag *tag) {
    if (parser->form && !parser->open_of[TAG_template]) return 0;
    start_block(parser, tag);
    if (!parser->open_of[TAG_template]) parser->form = current(parser);
    return 0;
}

/* An item ends the one before it, if nothing but what may be within lines, and some blocks, is between. */
static int start_item(Parser *parser, const Tag *tag) {
    int is_li = tag->tag == TAG_li;
    for (int at = parser->open_count - 1; at > 0; at--) {
        const Node *node = parser->open[at];
        if (is_li ? is_html(node, TAG_li) : is_html(node, TAG_dd) || is_html(node, TAG_dt)) {
            while (parser->open_count > at) pop_open(parser);
            break;
        }
        if (is_special(node) && !is_html(node, TAG_address) && !is_html(node, TAG_div) && !is_html(node, TAG_p)) break;
    }
    return start_block(parser, tag);
}

static int start_button(Parser *parser, const Tag *tag) {
    if (is_in_scope(parser, TAG_button, IN_SCOPE)) pop_until(parser, TAG_button);
    reconstruct(parser);
    open_element(parser, tag);
    return 0;
}

static int start_formatting(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    if (parser->why) return 0;
    open_element(parser, tag);
    if (!parser->why) remember(parser, current(parser));
    return 0;
}

static int start_link(Parser *parser, const Tag *tag) {
    Node *open = formatting_of(parser, TAG_a);
    if (open) {
        if (!adopt(parser, TAG_a)) end_any_other(parser, &(Tag){.tag = TAG_a});
        forget_formatting(parser, open);
        if (open->is_open) remove_open(parser, open);
    }
    return start_formatting(parser, tag);
}

static int start_nobr(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    if (is_in_scope(parser, TAG_nobr, IN_SCOPE) && !adopt(parser, TAG_nobr)) end_any_other(parser, &(Tag){.tag = TAG_nobr});
    return start_formatting(parser, tag);
}

static int start_object(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    open_element(parser, tag);
    set_marker(parser);
    return 0;
}

static int start_table(Parser *parser, const Tag *tag) {
    if (parser->open_of[TAG_select] && parser->mode != IN_BODY) return decline(parser, ODD_TABLE);
    if (is_in_scope(parser, TAG_p, IN_BUTTON_SCOPE)) {
        if (parser->quirks < 0) return decline(parser, UNKNOWN_QUIRKS);
        if (!parser->quirks) close_paragraph(parser);
    }
    open_element(parser, tag);
    parser->mode = IN_TABLE;
    return 0;
}

static int start_void(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    if (!parser->why) insert(parser, tag);
    return 0;
}

static int start_input(Parser *parser, const Tag *tag) {
    if (is_in_scope(parser, TAG_select, IN_SCOPE)) pop_until(parser, TAG_select);
    return start_void(parser, tag);
}

static int start_rule(Parser *parser, const Tag *tag) {
    close_paragraph(parser);
    if (is_in_scope(parser, TAG_select, IN_SCOPE)) generate_implied(parser, TAG_OTHER);
    insert(parser, tag);
    return 0;
}

static int start_raw(Parser *parser, const Tag *tag) {
    if (tag->tag == TAG_xmp) {
        close_paragraph(parser);
        reconstruct(parser);
    }
    if (!parser->why) take_raw(parser, tag);
    return 0;
}

static int start_any_other(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    open_element(parser, tag);
    return 0;
}

static int start_select(Parser *parser, const Tag *tag) {
    if (is_in_scope(parser, TAG_select, IN_SCOPE)) return pop_until(parser, TAG_select), 0;
    return start_any_other(parser, tag);
}

static int start_option(Parser *parser, const Tag *tag) {
    if (is_in_scope(parser, TAG_select, IN_SCOPE)) generate_implied(parser, tag->tag == TAG_option ? TAG_optgroup : TAG_OTHER);
    else if (is_current(parser, TAG_option)) pop_open(parser);
    return start_any_other(parser, tag);
}

static int start_ruby_part(Parser *parser, const Tag *tag) {
    if (is_in_scope(parser, TAG_ruby, IN_SCOPE)) generate_implied(parser, tag->tag == TAG_rp || tag->tag == TAG_rt ? TAG_rtc : TAG_OTHER);
    open_element(parser, tag);
    return 0;
}

static int start_svg(Parser *parser, const Tag *tag) {
    reconstruct(parser);
    if (!parser->why) open_drawn(parser, tag);
    return 0;
}

/* A second `html` or `body` brings the attributes that the first one has not. */
static int add_attributes(Parser *parser, Node *element, const Tag *tag) {
    if (parser->open_of[TAG_template] || !tag->attributes.size) return 0;
    uint8_t *both = take_room(parser->nodes, element->attributes.size + tag->attributes.size);
    if (!both) return decline(parser, IS_OUT);
    Slice told = element->attributes;
    if (told.size) memcpy(both, told.at, (size_t)told.size);
    const uint8_t *at = tag->attributes.at, *end = at + tag->attributes.size;
    for (const uint8_t *name_end, *next; at < end && (next = end_of_attribute(at, end, &name_end)); at = next) {
        const uint8_t *old = both, *old_name_end, *old_next;
        int is_there = 0;
        for (; old < both + told.size && !is_there && (old_next = end_of_attribute(old, both + told.size, &old_name_end)); old = old_next)
            is_there = old_name_end - old == name_end - at && !memcmp(old, at, (size_t)(name_end - at));
        if (is_there) continue;
        memcpy(both + told.size, at, (size_t)(next - at));
        told.size += next - at;
    }
    element->attributes = (Slice){both, told.size};
    return 0;
}

static int start_second_body(Parser *parser, const Tag *tag) {
    Node *body = parser->open_count > 1 ? parser->open[1] : NULL;
    return body && is_html(body, TAG_body) ? add_attributes(parser, body, tag) : 0;
}

static int start_in_body(Parser *parser, const Tag *tag) {
    switch (tag->tag) {
    case TAG_html: return add_attributes(parser, parser->open[0], tag);
    case TAG_base: case TAG_basefont: case TAG_bgsound: case TAG_link: case TAG_meta: case TAG_noframes: case TAG_script: case TAG_style:
    case TAG_template: case TAG_title: return take_in_head(parser, tag);
    case TAG_body: return start_second_body(parser, tag);
    case TAG_frameset: return decline(parser, HOLDS_FRAMES);
    case TAG_address: case TAG_article: case TAG_aside: case TAG_blockquote: case TAG_center: case TAG_details: case TAG_dialog: case TAG_dir:
    case TAG_div: case TAG_dl: case TAG_fieldset: case TAG_figcaption: case TAG_figure: case TAG_footer: case TAG_header: case TAG_hgroup:
    case TAG_main: case TAG_menu: case TAG_nav: case TAG_ol: case TAG_p: case TAG_search: case TAG_section: case TAG_summary: case TAG_ul:
        return start_block(parser, tag);
    case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6: return start_heading(parser, tag);
    case TAG_pre: case TAG_listing: return start_listing(parser, tag);
    case TAG_form: return start_form(parser, tag);
    case TAG_li: case TAG_dd: case TAG_dt: return start_item(parser, tag);
    case TAG_plaintext: case TAG_keygen: return decline(parser, OTHER_WRITING);
    case TAG_button: return start_button(parser, tag);
    case TAG_a: return start_link(parser, tag);
    case TAG_b: case TAG_big: case TAG_code: case TAG_em: case TAG_font: case TAG_i: case TAG_s: case TAG_small: case TAG_strike:
    case TAG_strong: case TAG_tt: case TAG_u: return start_formatting(parser, tag);
    case TAG_nobr: return start_nobr(parser, tag);
    case TAG_applet: case TAG_marquee: case TAG_object: return start_object(parser, tag);
    case TAG_table: return start_table(parser, tag);
    /* The standard would open no formatting elements again for `param`, `source` and `track`; the parser does. */
    case TAG_area: case TAG_br: case TAG_embed: case TAG_img: case TAG_wbr: case TAG_param: case TAG_source: case TAG_track:
        return start_void(parser, tag);
    case TAG_image: return start_void(parser, &(Tag){.attributes = tag->attributes, .tag = TAG_img});
    case TAG_input: return start_input(parser, tag);
    case TAG_hr: return start_rule(parser, tag);
    case TAG_textarea: case TAG_xmp: case TAG_iframe: case TAG_noembed: return start_raw(parser, tag);
    case TAG_select: return start_select(parser, tag);
    case TAG_optgroup: case TAG_option: return start_option(parser, tag);
    case TAG_rb: case TAG_rtc: case TAG_rp: case TAG_rt: return start_ruby_part(parser, tag);
    case TAG_math: return decline(parser, HOLDS_MATH);
    case TAG_svg: return start_svg(parser, tag);
    case TAG_caption: case TAG_col: case TAG_colgroup: case TAG_frame: case TAG_head: case TAG_tbody: case TAG_td: case TAG_tfoot:
    case TAG_th: case TAG_thead: case TAG_tr: return 0;
    default: return is_named(tag, "selectedcontent") ? decline(parser, OTHER_WRITING) : start_any_other(parser, tag);
    }
}

int take_in_body(Parser *parser, const Tag *tag) { return tag->is_end ? end_in_body(parser, tag) : start_in_body(parser, tag); }

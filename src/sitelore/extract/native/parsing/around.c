/* The rules for what is around a page's body, and in its head (§13.2.6.4.1 to .6, .17 to .23). */
#include "parsing.h"

static int start_noscript(Parser *parser, const Tag *tag) {
    open_element(parser, tag);
    parser->mode = IN_HEAD_NOSCRIPT;
    return 0;
}

static int leave_head(Parser *parser) {
    pop_open(parser);
    parser->mode = AFTER_HEAD;
    return 1;
}

int take_in_head(Parser *parser, const Tag *tag) {
    if (tag->is_end) {
        switch (tag->tag) {
        case TAG_template: return end_template(parser);
        case TAG_head: return leave_head(parser), 0;
        case TAG_body: case TAG_html: case TAG_br: return leave_head(parser);
        default: return 0;
        }
    }
    switch (tag->tag) {
    case TAG_html: return take_in_body(parser, tag);
    case TAG_base: case TAG_link: case TAG_meta: return insert(parser, tag), 0;
    case TAG_basefont: case TAG_bgsound: return decline(parser, OTHER_WRITING);
    case TAG_title: case TAG_noframes: case TAG_style: case TAG_script: return take_raw(parser, tag), 0;
    case TAG_noscript: return start_noscript(parser, tag);
    case TAG_template: return begin_template(parser, tag);
    case TAG_head: return 0;
    default: return leave_head(parser);
    }
}

static int take_in_noscript(Parser *parser, const Tag *tag) {
    switch (tag->tag) {
    case TAG_html: case TAG_basefont: case TAG_bgsound: case TAG_link: case TAG_meta: case TAG_noframes: case TAG_style:
        if (!tag->is_end) return take_in_head(parser, tag);
        return 0;
    case TAG_noscript: case TAG_head:
        if (!tag->is_end || tag->tag == TAG_head) return 0;
        pop_open(parser);
        parser->mode = IN_HEAD;
        return 0;
    default:
        if (tag->is_end && tag->tag != TAG_br) return 0;
        pop_open(parser);
        parser->mode = IN_HEAD;
        return 1;
    }
}

static int open_body(Parser *parser) {
    open_implied(parser, TAG_body);
    parser->mode = IN_BODY;
    return 1;
}

/* What belongs in the head goes there, though that has ended. */
static int add_to_head(Parser *parser, const Tag *tag) {
    push_open(parser, parser->head);
    take_in_head(parser, tag);
    remove_open(parser, parser->head);
    return 0;
}

static int take_after_head(Parser *parser, const Tag *tag) {
    if (tag->is_end) {
        switch (tag->tag) {
        case TAG_template: return take_in_head(parser, tag);
        case TAG_body: case TAG_html: case TAG_br: return open_body(parser);
        default: return 0;
        }
    }
    switch (tag->tag) {
    case TAG_body:
        open_element(parser, tag);
        parser->mode = IN_BODY;
        return 0;
    case TAG_frameset: return decline(parser, HOLDS_FRAMES);
    case TAG_base: case TAG_basefont: case TAG_bgsound: case TAG_link: case TAG_meta: case TAG_noframes: case TAG_script: case TAG_style:
    case TAG_template: case TAG_title: return add_to_head(parser, tag);
    default: return open_body(parser); /* the standard would leave a second `html` or `head` out; the parser does not */
    }
}

/* Whether an end tag means nothing before there is a head. */
static int is_early_end(const Tag *tag) {
    return tag->is_end && tag->tag != TAG_head && tag->tag != TAG_body && tag->tag != TAG_html && tag->tag != TAG_br;
}

static void open_root(Parser *parser, const Tag *tag) {
    Node *top = top_of(parser->nodes), *html = make_element(parser->nodes, TAG_html);
    if (!html) {
        decline(parser, IS_OUT);
        return;
    }
    html->attributes = tag->attributes, html->depth = 1;
    parser->opened++;
    append(top, html);
    push_open(parser, html);
    parser->mode = BEFORE_HEAD;
}

static int take_before_html(Parser *parser, const Tag *tag) {
    if (is_early_end(tag)) return 0;
    int is_html = !tag->is_end && tag->tag == TAG_html;
    open_root(parser, is_html ? tag : &(Tag){.tag = TAG_html});
    return !is_html;
}

static int take_before_head(Parser *parser, const Tag *tag) {
    if (is_early_end(tag)) return 0;
    if (!tag->is_end && tag->tag == TAG_html) return take_in_body(parser, tag);
    int is_head = !tag->is_end && tag->tag == TAG_head;
    open_element(parser, is_head ? tag : &(Tag){.tag = TAG_head});
    parser->head = current(parser);
    parser->mode = IN_HEAD;
    return !is_head;
}

static int take_after_body(Parser *parser, const Tag *tag) {
    if (parser->mode == AFTER_BODY && tag->is_end && tag->tag == TAG_html) {
        parser->mode = AFTER_AFTER_BODY;
        return 0;
    }
    parser->mode = IN_BODY;
    return 1;
}

int take_around_body(Parser *parser, const Tag *tag) {
    switch (parser->mode) {
    case INITIAL:
        parser->quirks = 1;
        parser->mode = BEFORE_HTML;
        return 1;
    case BEFORE_HTML: return take_before_html(parser, tag);
    case BEFORE_HEAD: return take_before_head(parser, tag);
    case IN_HEAD: return take_in_head(parser, tag);
    case IN_HEAD_NOSCRIPT: return take_in_noscript(parser, tag);
    case AFTER_HEAD: return take_after_head(parser, tag);
    default: return take_after_body(parser, tag);
    }
}

int begin_template(Parser *parser, const Tag *tag) {
    if (value_in(parser, tag, "shadowrootmode").at || parser->template_count == MOST_TEMPLATES) return decline(parser, ODD_TEMPLATE);
    set_marker(parser);
    open_element(parser, tag);
    parser->mode = parser->templates[parser->template_count++] = IN_TEMPLATE;
    return 0;
}

int end_template(Parser *parser) {
    if (!parser->open_of[TAG_template]) return 0;
    pop_until(parser, TAG_template);
    clear_to_marker(parser);
    parser->template_count--;
    reset_mode(parser);
    return 0;
}

int take_in_template(Parser *parser, const Tag *tag) {
    int mode = IN_BODY;
    switch (tag->tag) {
    case TAG_base: case TAG_basefont: case TAG_bgsound: case TAG_link: case TAG_meta: case TAG_noframes: case TAG_script: case TAG_style:
    case TAG_title: return tag->is_end ? 0 : take_in_head(parser, tag);
    case TAG_template: return take_in_head(parser, tag);
    case TAG_caption: case TAG_colgroup: case TAG_tbody: case TAG_tfoot: case TAG_thead: mode = IN_TABLE; break;
    case TAG_col: mode = IN_COLUMN_GROUP; break;
    case TAG_tr: mode = IN_TABLE_BODY; break;
    case TAG_td: case TAG_th: mode = IN_ROW; break;
    default: break;
    }
    if (tag->is_end) return 0;
    parser->mode = parser->templates[parser->template_count - 1] = (uint8_t)mode;
    return 1;
}

/* What is open tells the mode (§13.2.4.1). */
void reset_mode(Parser *parser) {
    for (int at = parser->open_count - 1; at > 0; at--) {
        if (parser->open[at]->is_foreign) continue;
        switch (parser->open[at]->tag) {
        case TAG_td: case TAG_th: parser->mode = IN_CELL; return;
        case TAG_tr: parser->mode = IN_ROW; return;
        case TAG_tbody: case TAG_thead: case TAG_tfoot: parser->mode = IN_TABLE_BODY; return;
        case TAG_caption: parser->mode = IN_CAPTION; return;
        case TAG_colgroup: parser->mode = IN_COLUMN_GROUP; return;
        case TAG_table: parser->mode = IN_TABLE; return;
        case TAG_template: parser->mode = parser->templates[parser->template_count - 1]; return;
        case TAG_head: parser->mode = IN_HEAD; return;
        case TAG_body: parser->mode = IN_BODY; return;
        default: break;
        }
    }
    parser->mode = parser->head ? AFTER_HEAD : BEFORE_HEAD;
}

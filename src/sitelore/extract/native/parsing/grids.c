/* The rules for what is in tables (§13.2.6.4.9 to .15). */
#include "parsing.h"

/* Pops what is open within a table, a body of one, or a row. */
static void clear_to(Parser *parser, int table, int body, int row) {
    while (parser->open_count > 1) {
        const Node *node = current(parser);
        if (is_html(node, TAG_template) || (table && is_html(node, TAG_table)) || (row && is_html(node, TAG_tr))) return;
        if (body && (is_html(node, TAG_tbody) || is_html(node, TAG_thead) || is_html(node, TAG_tfoot))) return;
        pop_open(parser);
    }
}

static void clear_to_table(Parser *parser) { clear_to(parser, 1, 0, 0); }
static void clear_to_body(Parser *parser) { clear_to(parser, 0, 1, 0); }
static void clear_to_row(Parser *parser) { clear_to(parser, 0, 0, 1); }

static int enter(Parser *parser, const Tag *tag, int mode) {
    open_element(parser, tag);
    parser->mode = mode;
    return 0;
}

static int enter_implied(Parser *parser, int tag, int mode) {
    open_implied(parser, tag);
    parser->mode = mode;
    return 1;
}

static int leave(Parser *parser, int mode) {
    pop_open(parser);
    parser->mode = mode;
    return 1;
}

/* Only in a template may what a rule is about be missing. */
static int missing(Parser *parser) { return decline(parser, ODD_TEMPLATE); }

/* What has no place in a table goes before it. */
static int foster(Parser *parser, const Tag *tag) {
    parser->is_fostering = 1;
    int is_again = take_in_body(parser, tag);
    parser->is_fostering = 0;
    return is_again;
}

static int end_table(Parser *parser, int is_again) {
    if (!is_in_scope(parser, TAG_table, IN_TABLE_SCOPE)) return missing(parser);
    pop_until(parser, TAG_table);
    reset_mode(parser);
    return is_again;
}

static int take_input(Parser *parser, const Tag *tag) {
    Slice type = value_in(parser, tag, "type");
    const char *hidden = "hidden";
    int64_t like = 0, same = 0;
    for (; type.at && type.size == 6 && like < 6 && lowered(type.at[like]) == (uint8_t)hidden[like]; like++) same += type.at[like] == (uint8_t)hidden[like];
    if (like == 6 && same < 6) return decline(parser, ODD_TABLE); /* to the parser that depends on the characters of the page */
    return like == 6 ? (insert(parser, tag), 0) : foster(parser, tag);
}

static int start_form(Parser *parser, const Tag *tag) {
    if (!parser->form && !parser->open_of[TAG_template]) parser->form = insert(parser, tag);
    return 0;
}

static int end_in_table(Parser *parser, const Tag *tag) {
    switch (tag->tag) {
    case TAG_table: return end_table(parser, 0);
    case TAG_body: case TAG_caption: case TAG_col: case TAG_colgroup: case TAG_html: case TAG_tbody: case TAG_td: case TAG_tfoot: case TAG_th:
    case TAG_thead: case TAG_tr: return 0;
    case TAG_template: return take_in_head(parser, tag);
    default: return foster(parser, tag);
    }
}

static int take_in_table(Parser *parser, const Tag *tag) {
    if (tag->is_end) return end_in_table(parser, tag);
    switch (tag->tag) {
    case TAG_caption:
        clear_to_table(parser);
        set_marker(parser);
        return enter(parser, tag, IN_CAPTION);
    case TAG_colgroup: return clear_to_table(parser), enter(parser, tag, IN_COLUMN_GROUP);
    case TAG_col: return clear_to_table(parser), enter_implied(parser, TAG_colgroup, IN_COLUMN_GROUP);
    case TAG_tbody: case TAG_tfoot: case TAG_thead: return clear_to_table(parser), enter(parser, tag, IN_TABLE_BODY);
    case TAG_td: case TAG_th: case TAG_tr: return clear_to_table(parser), enter_implied(parser, TAG_tbody, IN_TABLE_BODY);
    case TAG_table: return end_table(parser, 1);
    case TAG_style: case TAG_script: case TAG_template: return take_in_head(parser, tag);
    case TAG_input: return take_input(parser, tag);
    case TAG_form: return start_form(parser, tag);
    default: return foster(parser, tag);
    }
}

static int is_of_table(int tag) {
    switch (tag) {
    case TAG_caption: case TAG_col: case TAG_colgroup: case TAG_tbody: case TAG_td: case TAG_tfoot: case TAG_th: case TAG_thead: case TAG_tr: return 1;
    default: return 0;
    }
}

static int end_caption(Parser *parser, int is_again) {
    if (!is_in_scope(parser, TAG_caption, IN_TABLE_SCOPE)) return missing(parser);
    pop_until(parser, TAG_caption);
    clear_to_marker(parser);
    parser->mode = IN_TABLE;
    return is_again;
}

static int take_in_caption(Parser *parser, const Tag *tag) {
    if (tag->is_end && tag->tag == TAG_caption) return end_caption(parser, 0);
    if (tag->is_end ? tag->tag == TAG_table : is_of_table(tag->tag)) return end_caption(parser, 1);
    if (tag->is_end && (is_of_table(tag->tag) || tag->tag == TAG_body || tag->tag == TAG_html)) return 0;
    return take_in_body(parser, tag);
}

static int take_in_column_group(Parser *parser, const Tag *tag) {
    if (tag->tag == TAG_template) return take_in_head(parser, tag);
    if (!tag->is_end && tag->tag == TAG_html) return take_in_body(parser, tag);
    if (!tag->is_end && tag->tag == TAG_col) return insert(parser, tag), 0;
    /* The standard would leave `</col>` out; the parser does not. */
    if (!is_current(parser, TAG_colgroup)) return missing(parser);
    int is_again = leave(parser, IN_TABLE);
    return tag->is_end && tag->tag == TAG_colgroup ? 0 : is_again;
}

static int is_group(int tag) { return tag == TAG_tbody || tag == TAG_thead || tag == TAG_tfoot; }

static int has_group(const Parser *parser) {
    return is_in_scope(parser, TAG_tbody, IN_TABLE_SCOPE) || is_in_scope(parser, TAG_thead, IN_TABLE_SCOPE) || is_in_scope(parser, TAG_tfoot, IN_TABLE_SCOPE);
}

static int take_in_table_body(Parser *parser, const Tag *tag) {
    int name = tag->tag;
    if (tag->is_end && is_group(name)) {
        if (!is_in_scope(parser, name, IN_TABLE_SCOPE)) return 0;
        clear_to_body(parser);
        return leave(parser, IN_TABLE), 0;
    }
    if (tag->is_end ? name == TAG_table : name == TAG_caption || name == TAG_col || name == TAG_colgroup || is_group(name)) {
        if (!has_group(parser)) return missing(parser);
        clear_to_body(parser);
        return leave(parser, IN_TABLE);
    }
    if (tag->is_end && (is_of_table(name) || name == TAG_body || name == TAG_html)) return 0;
    if (!tag->is_end && name == TAG_tr) return clear_to_body(parser), enter(parser, tag, IN_ROW);
    if (!tag->is_end && (name == TAG_th || name == TAG_td)) return clear_to_body(parser), enter_implied(parser, TAG_tr, IN_ROW);
    return take_in_table(parser, tag);
}

static int end_row(Parser *parser, int is_again) {
    if (!is_in_scope(parser, TAG_tr, IN_TABLE_SCOPE)) return missing(parser);
    clear_to_row(parser);
    return leave(parser, IN_TABLE_BODY) && is_again;
}

static int take_in_row(Parser *parser, const Tag *tag) {
    int name = tag->tag, is_cell = name == TAG_td || name == TAG_th;
    if (!tag->is_end && is_cell) {
        clear_to_row(parser);
        enter(parser, tag, IN_CELL);
        set_marker(parser);
        return 0;
    }
    if (tag->is_end && name == TAG_tr) return end_row(parser, 0);
    if (tag->is_end ? name == TAG_table : is_of_table(name)) return end_row(parser, 1);
    if (tag->is_end && is_group(name)) return is_in_scope(parser, name, IN_TABLE_SCOPE) ? end_row(parser, 1) : 0;
    if (tag->is_end && (is_of_table(name) || name == TAG_body || name == TAG_html)) return 0;
    return take_in_table(parser, tag);
}

static int close_cell(Parser *parser) {
    pop_until(parser, is_in_scope(parser, TAG_td, IN_TABLE_SCOPE) ? TAG_td : TAG_th);
    clear_to_marker(parser);
    parser->mode = IN_ROW;
    return 1;
}

static int take_in_cell(Parser *parser, const Tag *tag) {
    int name = tag->tag, is_cell = name == TAG_td || name == TAG_th;
    if (tag->is_end && is_cell) {
        if (!is_in_scope(parser, name, IN_TABLE_SCOPE)) return 0;
        pop_until(parser, name);
        clear_to_marker(parser);
        parser->mode = IN_ROW;
        return 0;
    }
    if (!tag->is_end && is_of_table(name))
        return is_in_scope(parser, TAG_td, IN_TABLE_SCOPE) || is_in_scope(parser, TAG_th, IN_TABLE_SCOPE) ? close_cell(parser) : missing(parser);
    if (!tag->is_end) return take_in_body(parser, tag);
    switch (name) {
    case TAG_body: case TAG_caption: case TAG_col: case TAG_colgroup: case TAG_html: return 0;
    case TAG_table: case TAG_tbody: case TAG_tfoot: case TAG_thead: case TAG_tr:
        return is_in_scope(parser, name, IN_TABLE_SCOPE) ? close_cell(parser) : 0;
    default: return take_in_body(parser, tag);
    }
}

int take_in_tables(Parser *parser, const Tag *tag) {
    switch (parser->mode) {
    case IN_TABLE: return take_in_table(parser, tag);
    case IN_CAPTION: return take_in_caption(parser, tag);
    case IN_COLUMN_GROUP: return take_in_column_group(parser, tag);
    case IN_TABLE_BODY: return take_in_table_body(parser, tag);
    case IN_ROW: return take_in_row(parser, tag);
    default: return take_in_cell(parser, tag);
    }
}

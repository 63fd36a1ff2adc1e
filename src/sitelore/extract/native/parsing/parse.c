/* Makes nodes of a page's source: token by token, each by the rules of the mode that is then (§13.2.6). */
#include "parsing.h"

#include <string.h>

enum { FEW = 1000 };

static int rules_of(Parser *parser, const Tag *tag) {
    switch (parser->mode) {
    case IN_BODY: return take_in_body(parser, tag);
    case IN_TABLE: case IN_CAPTION: case IN_COLUMN_GROUP: case IN_TABLE_BODY: case IN_ROW: case IN_CELL: return take_in_tables(parser, tag);
    case IN_TEMPLATE: return take_in_template(parser, tag);
    default: return take_around_body(parser, tag);
    }
}

/* Whether a tag is the drawing's that is open. */
static int is_drawn(const Parser *parser, const Tag *tag) {
    if (!parser->open_count || !current(parser)->is_foreign) return 0;
    return tag->is_end || !holds_html(current(parser));
}

void take_tag(Parser *parser, const Tag *tag) {
    do
        if (is_drawn(parser, tag) && take_in_drawing(parser, tag)) return;
    while (!parser->why && rules_of(parser, tag) && !parser->why);
}

static void insert_with_formatting(Parser *parser, Slice text) {
    reconstruct(parser);
    if (!parser->why) insert_text(parser, text);
}

/* Text directly in a table: all of it goes before the table, or none. */
static void take_in_table_text(Parser *parser, Slice text) {
    int64_t at = 0;
    while (at < text.size && is_space(text.at[at])) at++;
    if (at == text.size && (is_table_part(current(parser)) || is_current(parser, TAG_template))) {
        insert_text(parser, text);
        return;
    }
    parser->is_fostering = 1;
    insert_with_formatting(parser, text);
    parser->is_fostering = 0;
}

/* Takes the part of a text that the mode is for, and goes on to the next one; gives how much that is. */
static int64_t take_some(Parser *parser, Slice text) {
    int64_t blank = 0;
    while (blank < text.size && is_space(text.at[blank])) blank++;
    int is_all = blank == text.size, keeps = parser->mode > BEFORE_HEAD;
    static const Tag nothing = {.tag = TAG_OTHER};
    if (parser->mode == IN_HEAD_NOSCRIPT && !is_all) blank = 0; /* the parser parts no text there */
    if (parser->mode == AFTER_BODY || parser->mode == AFTER_AFTER_BODY) {
        if (!is_all) parser->mode = IN_BODY;
        insert_with_formatting(parser, text);
        return text.size;
    }
    if (keeps) insert_text(parser, (Slice){text.at, blank});
    if (is_all) return text.size;
    /* Whatever is no white space here goes on as a tag does that nothing is known of. */
    if (parser->mode == IN_COLUMN_GROUP) take_in_tables(parser, &nothing);
    else take_around_body(parser, &nothing);
    return blank;
}

void take_characters(Parser *parser, const uint8_t *from, const uint8_t *to, int has_references) {
    Slice text = has_references ? resolved(parser, from, to) : (Slice){from, to - from};
    while (text.size && !parser->why) {
        if (parser->open_count && current(parser)->is_foreign && !holds_html(current(parser))) {
            insert_text(parser, text);
            return;
        }
        switch (parser->mode) {
        case IN_BODY: case IN_CAPTION: case IN_CELL: case IN_TEMPLATE: insert_with_formatting(parser, text); return;
        case IN_TABLE: case IN_TABLE_BODY: case IN_ROW: take_in_table_text(parser, text); return;
        default: break;
        }
        int64_t taken = take_some(parser, text);
        text.at += taken, text.size -= taken;
    }
}

/* The source's end makes what is missing of a page. */
void take_end(Parser *parser) {
    while (parser->open_of[TAG_template]) {
        pop_until(parser, TAG_template);
        clear_to_marker(parser);
        parser->template_count--;
        reset_mode(parser);
    }
    static const Tag nothing = {.tag = TAG_OTHER};
    while (parser->mode < IN_BODY && !parser->why) take_around_body(parser, &nothing);
}

static const uint8_t *past_bogus(const uint8_t *at, const uint8_t *end) {
    const uint8_t *close = memchr(at, '>', (size_t)(end - at));
    return close ? close + 1 : end;
}

static int begins_like(const uint8_t *at, const uint8_t *end, const char *what) {
    for (; *what; what++, at++)
        if (at == end || lowered(*at) != (uint8_t)*what) return 0;
    return 1;
}

/* Text of a drawing in which nothing is markup. */
static const uint8_t *take_cdata(Parser *parser, const uint8_t *at) {
    const uint8_t *end = parser->end, *close = at;
    while (close < end && (close = memchr(close, ']', (size_t)(end - close))) && !begins_like(close, end, "]]>")) close++;
    if (!close) close = end;
    take_characters(parser, at, close, 0);
    return close < end ? close + 3 : end;
}

/* Whether this may be a processing instruction, for which nodes have no place. What is no name, or `xml`, is a comment to the parser. */
static int is_instruction(const uint8_t *at, const uint8_t *end) {
    if (end - at < 3 || at[1] != '?' || !is_letter(at[2])) return 0;
    return !begins_like(at, end, "<?xml") || end - at < 6 || (!is_space(at[5]) && at[5] != '?' && at[5] != '>');
}

/* Takes what begins with `<!` or `<?`; gives what is behind it. */
static const uint8_t *take_declaration(Parser *parser, const uint8_t *at) {
    const uint8_t *end = parser->end;
    if (begins_like(at, end, "<!--")) return past_comment(at + 4, end);
    if (is_instruction(at, end) && parser->mode > BEFORE_HTML && parser->mode != AFTER_AFTER_BODY) return decline(parser, OTHER_WRITING), end;
    if (parser->open_count && current(parser)->is_foreign && end - at >= 9 && !memcmp(at, "<![CDATA[", 9)) return take_cdata(parser, at + 9);
    const uint8_t *behind = past_bogus(at, end);
    if (parser->mode == INITIAL && begins_like(at, end, "<!doctype")) {
        parser->quirks = behind[-1] == '>' ? quirks_of(at + 9, behind - 1) : -1;
        parser->mode = BEFORE_HTML;
    }
    return behind;
}

/* Goes past a `</>`: not even text ends there. That matters where rules look at a text as a whole. */
static const uint8_t *past_nothing(Parser *parser, const uint8_t *behind) {
    if (parser->mode != IN_BODY && parser->mode != IN_CELL) decline(parser, EMPTY_END_TAG);
    return behind;
}

/* Takes the markup that begins here; gives what is behind it. */
static const uint8_t *take_markup(Parser *parser, const uint8_t *at) {
    if (at[1] == '!' || at[1] == '?') return take_declaration(parser, at);
    Tag tag = {.is_end = at[1] == '/'};
    if (tag.is_end && at[2] == '>') return past_nothing(parser, at + 3);
    if (tag.is_end && !is_letter(at[2])) return past_bogus(at, parser->end);
    const uint8_t *behind = read_tag(parser, at + 1 + tag.is_end, &tag);
    if (!behind) return parser->end;
    parser->at = behind;
    if (!parser->why) take_tag(parser, &tag);
    return parser->at;
}

/* The next `<` that begins a tag or the like. */
static const uint8_t *next_markup(const uint8_t *at, const uint8_t *end) {
    for (; at < end && (at = memchr(at, '<', (size_t)(end - at))); at++) {
        if (end - at < 2) return end;
        if (is_letter(at[1]) || at[1] == '!' || at[1] == '?' || (at[1] == '/' && end - at > 2)) return at;
    }
    return end;
}

static void take_all(Parser *parser) {
    while (parser->at < parser->end && !parser->why) {
        const uint8_t *open = next_markup(parser->at, parser->end);
        if (open > parser->at) take_characters(parser, parser->at, open, 1);
        if (open == parser->end || parser->why) break;
        parser->at = take_markup(parser, open);
    }
}

/* Lines end in line feeds alone. */
static int normalise(Parser *parser) {
    const uint8_t *at = parser->at, *end = parser->end;
    if (at == end || !memchr(at, '\r', (size_t)(end - at))) return 1;
    uint8_t *out = take_room(parser->nodes, end - at);
    if (!out) return 0;
    parser->at = out;
    while (at < end) {
        const uint8_t *next = memchr(at, '\r', (size_t)(end - at));
        size_t size = (size_t)((next ? next : end) - at);
        memcpy(out, at, size);
        out += size;
        if (next) *out++ = '\n', next += end - next > 1 && next[1] == '\n';
        at = next ? next + 1 : end;
    }
    parser->end = out;
    return 1;
}

int parse_nodes(Parser *parser, const uint8_t *source, int64_t size) {
    Out scratch = parser->scratch;
    scratch.is_out = 0;
    memset(parser, 0, offsetof(Parser, open)); /* the lists need no clearing */
    parser->scratch = scratch;
    parser->nodes = empty_page();
    parser->at = source, parser->end = source + size;
    parser->most_opened = FEW + size; /* formatting that is never ended may be opened again before every word */
    if (!parser->nodes || !normalise(parser)) return decline(parser, IS_OUT);
    const uint8_t *ampersand = size ? memchr(parser->at, '&', (size_t)(parser->end - parser->at)) : NULL;
    parser->ampersand = ampersand ? ampersand : parser->end;
    if (size && memchr(source, 0, (size_t)size)) decline(parser, HOLDS_NUL);
    take_all(parser);
    if (!parser->why) take_end(parser);
    if (!parser->why && parser->is_moved) settle_moved(parser);
    if (parser->why || is_out(parser->nodes)) return decline(parser, IS_OUT);
    set_opened(parser->nodes, parser->opened);
    return 1;
}

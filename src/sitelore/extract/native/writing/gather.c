/* The first look at a stretch: what rules are for, and which addresses have to be resolved. */
#include <string.h>

#include "images.h"
#include "rewriting.h"

enum { FIRST_PICKED = 1024, MOST_PICKED = 50000, DEEPEST_TABLE = 8, STRETCH = 32, MOST_BRACKETS = 1000 };

static const Tags TABLES = {[TAG_table] = 1};
static const Tags RULED = {
    [TAG_a] = 1, [TAG_img] = 1, [TAG_table] = 1, [TAG_li] = 1, [TAG_ul] = 1, [TAG_ol] = 1, [TAG_nav] = 1, [TAG_br] = 1, [TAG_sup] = 1,
    [TAG_sub] = 1, [TAG_summary] = 1, [TAG_tt] = 1, [TAG_code] = 1, [TAG_pre] = 1, [TAG_h1] = 1, [TAG_h2] = 1, [TAG_h3] = 1,
    [TAG_h4] = 1, [TAG_h5] = 1, [TAG_h6] = 1};
/* What is rare, or is no HTML, or whose text was not written as text. */
static const Tags LEFT_TO_PYTHON = {
    [TAG_dd] = 1, [TAG_rt] = 1, [TAG_rp] = 1, [TAG_xmp] = 1, [TAG_listing] = 1, [TAG_math] = 1, [TAG_svg] = 1, [TAG_script] = 1,
    [TAG_style] = 1, [TAG_iframe] = 1, [TAG_template] = 1};

/* What a byte may begin. */
enum { NOTHING, SPACE_OR_UNSEEN, CONTROL, TEX };
static const uint8_t begins[256] = {
    [0] = CONTROL, [1] = CONTROL, [2] = CONTROL, [3] = CONTROL, [4] = CONTROL, [5] = CONTROL, [6] = CONTROL, [7] = CONTROL,
    [8] = CONTROL, [11] = CONTROL, [12] = CONTROL, [14] = CONTROL, [15] = CONTROL, [16] = CONTROL, [17] = CONTROL, [18] = CONTROL,
    [19] = CONTROL, [20] = CONTROL, [21] = CONTROL, [22] = CONTROL, [23] = CONTROL, [24] = CONTROL, [25] = CONTROL, [26] = CONTROL,
    [27] = CONTROL, [28] = CONTROL, [29] = CONTROL, [30] = CONTROL, [31] = CONTROL, [127] = CONTROL, ['\\'] = TEX, ['$'] = TEX,
    [0xC2] = SPACE_OR_UNSEEN, [0xCD] = SPACE_OR_UNSEEN, [0xD8] = SPACE_OR_UNSEEN, [0xE1] = SPACE_OR_UNSEEN,
    [0xE2] = SPACE_OR_UNSEEN, [0xEF] = SPACE_OR_UNSEEN, [0xF0] = SPACE_OR_UNSEEN, [0xF3] = SPACE_OR_UNSEEN};

static int is_joiner(uint32_t code) { return code == 0x200C || code == 0x200D; }

/* Characters that nobody sees, of those beyond ASCII. */
static int is_unseen(uint32_t code) {
    static const struct { uint32_t low, high; } ranges[] = {
        {0x80, 0x9F}, {0xAD, 0xAD}, {0x34F, 0x34F}, {0x61C, 0x61C}, {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F},
        {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0x1BCA0, 0x1BCA3},
        {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && ranges[i].low <= code; i++)
        if (code <= ranges[i].high) return 1;
    return 0;
}

/* Whether what begins behind an opening bracket with a backslash ends with such a closing one: before that it may hold neither, and has to
 * hold something. */
static int is_closed(const uint8_t *at, const uint8_t *end, uint8_t open, uint8_t close) {
    const uint8_t *from = at;
    while (end - at >= 2) {
        if (*at != '\\') at++;
        else if (at[1] == close) return at > from;
        else if (at[1] == open) return 0;
        else at += 2;
    }
    return 0;
}

/* Whether TeX stands in a text between brackets with backslashes. Too many of them are taken for it. */
static int is_bracketed(Slice text) {
    const uint8_t *at = text.at, *end = at + text.size;
    int left = MOST_BRACKETS;
    for (; end - at >= 2; at++) {
        if (*at != '\\' || (at[1] != '(' && at[1] != '[')) continue;
        if (!left-- || is_closed(at + 2, end, at[1], at[1] == '[' ? ']' : ')')) return 1;
    }
    return 0;
}

/* Whether between `$$` and the next of them, with no `$` within, stands a sign that formulas have and prices have not. */
static int is_priced_oddly(Slice text) {
    int has_sign = 0, is_open = 0;
    for (int64_t at = 0; at < text.size; at++) {
        uint8_t byte = text.at[at];
        has_sign |= byte == '\\' || byte == '^' || byte == '_' || byte == '=';
        if (byte != '$') continue;
        int is_double = at + 1 < text.size && text.at[at + 1] == '$';
        if (is_open && has_sign && is_double) return 1;
        is_open = at > 0 && text.at[at - 1] == '$', has_sign = 0;
    }
    return 0;
}

/* What `formulas.py` finds. */
static int holds_tex(Slice text) { return is_bracketed(text) || is_priced_oddly(text); }

/* What is left of a text without what nobody sees; joiners stay where they shape a script or an emoji: not next to ASCII. */
static int64_t drop_unseen(uint8_t *text, int64_t size) {
    uint8_t *end = text + size, *to = text;
    int taken, has_joiner = 0;
    for (uint8_t *at = text; at < end; at += taken) {
        uint32_t code = code_at(at, end, &taken);
        has_joiner |= is_joiner(code);
        if (code >= 0x80 && is_unseen(code) && !is_joiner(code)) continue;
        memmove(to, at, (size_t)taken);
        to += taken;
    }
    if (!has_joiner) return to - text;
    end = to, to = text;
    uint8_t before = 0; /* a byte of the character before, as it was */
    for (uint8_t *at = text; at < end; at += taken) {
        int is_kept = !is_joiner(code_at(at, end, &taken)) || (before >= 0x80 && at + taken < end && at[taken] >= 0x80);
        before = *at;
        if (!is_kept) continue;
        memmove(to, at, (size_t)taken);
        to += taken;
    }
    return to - text;
}

static int64_t with_plain_spaces(uint8_t *text, int64_t size) {
    uint8_t *end = text + size, *to = text;
    int taken;
    for (uint8_t *at = text; at < end; at += taken) {
        uint32_t code = code_at(at, end, &taken);
        if (code == 0xA0 || code == 0x202F) {
            *to++ = ' ';
            continue;
        }
        memmove(to, at, (size_t)taken);
        to += taken;
    }
    return to - text;
}

/* Whether none of these bytes begins anything. */
static int is_plain(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < STRETCH; i++)
        odd |= (((uint8_t)(at[i] - 32) >= 95) & (at[i] != '\n') & (at[i] != '\t') & (at[i] != '\r')) | (at[i] == '\\') | (at[i] == '$');
    return !odd;
}

int clear_text(Nodes *nodes, Node *text, int is_listing) {
    const uint8_t *at = text->text.at, *end = at + text->text.size;
    int has_tex = 0, has_unseen = 0, has_space = 0, taken;
    while (at < end) {
        if (end - at >= STRETCH && is_plain(at)) { at += STRETCH; continue; }
        for (const uint8_t *stop = end - at >= STRETCH ? at + STRETCH : end; at < stop; at++) {
            if (begins[*at] == NOTHING) continue;
            if (begins[*at] == CONTROL) return -1; /* dropped or not, by what else the piece of text holds that it was part of */
            has_tex |= begins[*at] == TEX;
            if (begins[*at] != SPACE_OR_UNSEEN) continue;
            uint32_t code = code_at(at, end, &taken);
            has_unseen |= is_unseen(code);
            has_space |= !is_listing && (code == 0xA0 || code == 0x202F);
        }
    }
    if (has_tex && holds_tex(text->text) && !closest(text, CODE)) return -1;
    if (!has_unseen && !has_space) return 0;
    int64_t size = text->text.size;
    uint8_t *cleared = take_room(nodes, size);
    if (!cleared) return -1;
    memcpy(cleared, text->text.at, (size_t)size);
    if (has_unseen) size = drop_unseen(cleared, size);
    text->text = (Slice){cleared, has_space ? with_plain_spaces(cleared, size) : size};
    return 0;
}

static int is_left_to_python(const Node *element) {
    if (LEFT_TO_PYTHON[element->tag]) return 1;
    /* Markdown that goes in as it is. */
    return element->tag == TAG_OTHER && (!element->name.size || element->name.at[0] == '_');
}

static int table_depth(Node *table) {
    int depth = 0;
    for (Node *at = table; (at = closest(at, TABLES)); at = at->parent) depth++;
    return depth;
}

static int pick(Draft *draft, Node *node, int64_t address) {
    if (draft->count == MOST_PICKED) return -1;
    if (draft->count == draft->room) {
        int64_t room = draft->room ? draft->room * 2 : FIRST_PICKED;
        Picked *larger = take_room(draft->nodes, room * (int64_t)sizeof *larger);
        if (!larger) return -1;
        if (draft->count) memcpy(larger, draft->picked, (size_t)draft->count * sizeof *larger);
        draft->picked = larger, draft->room = room;
    }
    draft->picked[draft->count++] = (Picked){node, address};
    return 0;
}

/* The raw address of a link or a picture, with no `at` where none has to be resolved. */
static int find_address(Draft *draft, Node *element, Slice *raw) {
    *raw = (Slice){NULL, 0};
    if (element->tag == TAG_a) {
        *raw = attribute_of(draft->nodes, element, "href");
        draft->links_within |= raw->size && raw->at[0] == '#';
        return 0;
    }
    int is_gone = is_pixel(draft->nodes, element);
    if (is_gone < 0 || shows_formula(draft->nodes, element)) return -1;
    if (is_gone) return 0;
    if (find_source(draft->nodes, element, raw)) return -1;
    if (!raw->size) raw->at = NULL;
    return 0;
}

static int holds_lines(const Node *element) {
    for (const Node *at = element; (at = next_node(element, at));) {
        Slice text = is_text(at) ? stripped(at->text) : (Slice){NULL, 0};
        if (text.size && memchr(text.at, '\n', (size_t)text.size)) return 1;
    }
    return 0;
}

/* What `kept_lines.py` does where there are no lines to break. */
static int settle_spacing(Nodes *nodes, Node *element) {
    static const Tags LISTING = {[TAG_pre] = 1};
    if (!element->attributes.size || element->tag == TAG_img || !keeps_lines(nodes, element) || closest(element, LISTING)) return 0;
    drop_attribute(nodes, element, "style");
    return holds_lines(element) ? -1 : 0;
}

static int look_at(Draft *draft, Node *element, Out *addresses) {
    if (is_left_to_python(element) || settle_spacing(draft->nodes, element)) return -1;
    if (!RULED[element->tag]) return 0;
    if (element->tag == TAG_table && table_depth(element) > DEEPEST_TABLE) return -1;
    Slice raw = {NULL, 0};
    if ((element->tag == TAG_a || element->tag == TAG_img) && find_address(draft, element, &raw)) return -1;
    if (!raw.at) return pick(draft, element, -1);
    if (raw.size && memchr(raw.at, 0, (size_t)raw.size)) return -1;
    put_bytes(addresses, raw.at, raw.size);
    put_bytes(addresses, "", 1);
    return pick(draft, element, draft->addresses++);
}

Draft *gather_addresses(Nodes *nodes, Out *addresses) {
    Node *root = top_of(nodes)->first;
    /* One element was chosen, and none that a rule is for or that breaks leave: its own place would be what changes. */
    if (!root || root->after || is_text(root) || RULED[root->tag] || INLINE[root->tag] || is_left_to_python(root)) return NULL;
    Draft *draft = take_room(nodes, sizeof *draft);
    if (!draft) return NULL;
    *draft = (Draft){.nodes = nodes, .root = root};
    const Node *past_listing = NULL;
    int is_listing = 0;
    for (Node *at = root; (at = next_node(root, at));) {
        if (is_listing && at == past_listing) is_listing = 0;
        if (!is_listing && at->tag == TAG_pre) is_listing = 1, past_listing = next_past(root, at);
        if (is_text(at) ? clear_text(nodes, at, is_listing) : look_at(draft, at, addresses)) return NULL;
    }
    return addresses->is_out || is_out(nodes) ? NULL : draft;
}

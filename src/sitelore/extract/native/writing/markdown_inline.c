/* What stands in the lines of Markdown: text with what needs it escaped, links, pictures and code. */
#include "markdown.h"

#include <string.h>

enum { STRETCH = 16 };

/* What a byte of text is to the writer. */
enum { PLAIN, SPACE, ESCAPED, ANGLE, AMPERSAND, BANG, PIPE };
static const uint8_t kinds[256] = {
    [' '] = SPACE, ['\n'] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE, ['\f'] = SPACE,
    ['*'] = ESCAPED, ['['] = ESCAPED, ['\\'] = ESCAPED, [']'] = ESCAPED, ['_'] = ESCAPED, ['`'] = ESCAPED, ['~'] = ESCAPED,
    ['<'] = ANGLE, ['&'] = AMPERSAND, ['!'] = BANG, ['|'] = PIPE,
};

int wide_space(const uint8_t *at, const uint8_t *end, int *code) {
    if (end - at >= 2 && at[0] == 0xC2 && at[1] == 0xA0) return *code = 0xA0, 2;
    if (end - at < 3 || at[0] < 0xE1) return 0;
    int read = (at[0] & 15) << 12 | (at[1] & 63) << 6 | (at[2] & 63);
    int is_one = read == 0x1680 || (read >= 0x2000 && read <= 0x200A) || read == 0x2028 || read == 0x2029 || read == 0x202F ||
                 read == 0x205F || read == 0x3000 || read == 0xFEFF;
    return is_one && at[0] < 0xF0 ? *code = read, 3 : 0;
}

int wide_gap(const uint8_t *at, const uint8_t *end) {
    int code, size = wide_space(at, end, &code);
    return size && code != 0x2028 && code != 0x2029 && code != 0xFEFF ? size : 0;
}

int ends_with_gap(const uint8_t *at, const uint8_t *end) {
    return (end - at >= 3 && wide_gap(end - 3, end) == 3) || (end - at >= 2 && wide_gap(end - 2, end) == 2);
}

void put_number(Out *out, int64_t code) {
    char digits[24];
    int at = sizeof digits;
    do digits[--at] = (char)('0' + code % 10);
    while (code /= 10);
    put_bytes(out, digits + at, (int64_t)sizeof digits - at);
}

static void put_reference(Out *out, int code) {
    put_text(out, "&#");
    put_number(out, code);
    put_byte(out, ';');
}

/* Whether what begins with this `&` would be read as a reference. */
static int is_reference(const uint8_t *at, const uint8_t *end) {
    at++;
    if (at < end && *at == '#') {
        at++;
        if (at < end && (*at | 32) == 'x') at++;
    }
    const uint8_t *name = at;
    while (at < end && (is_digit(*at) || is_letter(*at))) at++;
    return at > name && at < end && *at == ';';
}

void put_within(Out *out, int64_t at, int64_t old, const void *bytes, int64_t size) {
    int64_t rest = out->size - at - old;
    if (size > old) put_bytes(out, bytes, size - old); /* for room alone */
    if (out->is_out) return;
    memmove(out->bytes + at + size, out->bytes + at + old, (size_t)rest);
    memcpy(out->bytes + at, bytes, (size_t)size);
    out->size = at + size + rest;
}

static int write_opening(Writer *writer, Opening *opening, const Opening *around) {
    Out *out = writer->out;
    if (opening->kind == LINK) {
        if (writer->is_begun && writer->bang == out->size) put_within(out, out->size - 1, 1, "\\!", 2);
        opening->at = out->size;
        put_byte(out, '[');
    } else {
        opening->at = out->size;
        if (open_mark(writer, opening, around)) return -1;
    }
    opening->inner = out->size;
    writer->is_begun = 1, writer->line = WITHIN;
    return 0;
}

/* Begins a paragraph with whatever comes first in it. */
static int open_run(Writer *writer) {
    if (writer->is_hollow) open_paragraph(writer), leave_line_empty(writer); /* an empty one, as the writer of old has it */
    open_paragraph(writer);
    return 0;
}

/* Everything that was to come before the next thing that shows. */
static int begin(Writer *writer) {
    Out *out = writer->out;
    if (!writer->is_open && open_run(writer)) return -1;
    writer->written++;
    for (; writer->breaks; writer->breaks--, writer->has_space = 0) {
        put_text(out, writer->is_begun ? "  " : "\\");
        end_line(writer);
    }
    if (writer->has_space && writer->is_begun) {
        put_byte(out, ' ');
        writer->line = WITHIN;
    }
    writer->has_space = 0;
    for (; writer->opened < writer->count; writer->opened++) {
        Opening *opening = writer->openings + writer->opened;
        if (write_opening(writer, opening, writer->opened ? opening - 1 : NULL)) return -1;
    }
    return 0;
}

int begin_other(Writer *writer) {
    if (begin(writer)) return -1;
    writer->is_begun = 1, writer->line = WITHIN;
    return 0;
}

static void put_line_start(Writer *writer, const uint8_t *at) {
    if (*at == '#' || *at == '+' || *at == '-' || *at == '=' || *at == '>') put_byte(writer->out, '\\');
    writer->line = is_digit(*at) ? IN_DIGITS : WITHIN;
}

/* Puts a byte that may mean something, escaped where it would. */
static void put_special(Writer *writer, const uint8_t *at, const uint8_t *end) {
    Out *out = writer->out;
    switch (kinds[*at]) {
    case ESCAPED: put_byte(out, '\\'); break;
    case ANGLE:
        if (at + 1 == end || !is_space(at[1])) put_byte(out, '\\');
        break;
    case AMPERSAND:
        if (is_reference(at, end)) put_byte(out, '\\');
        break;
    case PIPE:
        if (writer->is_cell) put_byte(out, '\\');
        break;
    default: break;
    }
    put_byte(out, *at);
    if (*at == '!') writer->bang = out->size;
}

/* Whether a stretch is words alone, with nothing to escape: each byte is looked at, so that many are at once. */
static int is_wordy(const uint8_t *at) {
    uint8_t odd = 0;
    for (int i = 0; i < STRETCH; i++) {
        uint8_t byte = at[i], next = at[i + 1];
        odd |= (byte <= ' ') & ((byte < ' ') | (next <= ' '));
        odd |= (byte == '*') | (byte == '<') | (byte == '&') | (byte == '!') | ((uint8_t)(byte - '[') <= '`' - '[') | ((byte | 2) == '~');
    }
    return !odd;
}

static const uint8_t *past_words(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        if (end - at > STRETCH && is_wordy(at)) { at += STRETCH; continue; }
        const uint8_t *stop = end - at > STRETCH ? at + STRETCH : end;
        while (at < stop && (!kinds[*at] || (*at == ' ' && at + 1 < end && !is_space(at[1])))) at++;
        if (at < stop) break;
    }
    return at;
}

/* Words of text, up to white space that is more than a space between two. Gives where they end. */
static const uint8_t *put_words(Writer *writer, const uint8_t *at, const uint8_t *end) {
    if (writer->line == AT_START && at < end) put_line_start(writer, at);
    while (at < end) {
        const uint8_t *from = at;
        if (writer->line == IN_DIGITS) {
            while (at < end && is_digit(*at)) at++;
            put_bytes(writer->out, from, at - from);
            if (at == end) break;
            if (*at == '.' || *at == ')') put_byte(writer->out, '\\');
            writer->line = WITHIN, from = at;
        }
        at = past_words(at, end);
        put_bytes(writer->out, from, at - from);
        if (at == end || kinds[*at] == SPACE) break;
        put_special(writer, at++, end);
    }
    return at;
}

static int64_t word_size(Slice text) {
    int64_t size = 0;
    while (size < text.size && (is_digit(text.at[size]) || is_letter(text.at[size]) || text.at[size] == '#')) size++;
    return size;
}

/* Whether a reference may begin at the end of a text and end in one that follows. */
static int is_cut_reference(const Node *top, const Node *node) {
    const uint8_t *at = node->text.at + node->text.size;
    while (at > node->text.at && (is_digit(at[-1]) || is_letter(at[-1]) || at[-1] == '#')) at--;
    if (at == node->text.at || at[-1] != '&') return 0;
    while ((node = next_node(top, node))) {
        int64_t size = node->tag == TAG_TEXT ? word_size(node->text) : 0;
        if (node->tag == TAG_TEXT && size < node->text.size) return node->text.at[size] == ';';
    }
    return 0;
}

static const uint8_t *next_wide_space(const uint8_t *at, const uint8_t *end) {
    int code;
    while (at < end && (*at < 0xC2 || !wide_space(at, end, &code))) at++;
    return at;
}

int write_text(Writer *writer, const Node *node) {
    const uint8_t *at = node->text.at, *end = at + node->text.size;
    if (is_cut_reference(writer->top, node)) return -1;
    int is_new = 1;
    while (at < end) {
        if (is_space(*at)) {
            writer->has_space = 1;
            at++;
            continue;
        }
        int had_openings = writer->opened < writer->count, code;
        if (begin(writer) || (writer->in_raised && writer->line == IN_DIGITS)) return -1;
        if (writer->in_raised && writer->line == AT_START) writer->line = WITHIN, writer->is_begun = 1; /* it begins no list */
        if (is_new) writer->text_from = writer->in_raised ? INT64_MAX : writer->out->size, is_new = 0;
        int wide = *at >= 0xC2 && (!writer->is_begun || had_openings) ? wide_space(at, end, &code) : 0;
        if (wide && had_openings && writer->openings[writer->count - 1].kind != LINK) return -1;
        if (wide && !writer->is_begun && !writer->is_cell) {
            put_reference(writer->out, code);
            writer->line = WITHIN, at += wide;
        }
        writer->is_begun = 1;
        const uint8_t *until = writer->is_one_line && !writer->is_cell ? next_wide_space(at, end) : end;
        if (until < end && (writer->count || writer->in_raised)) return -1;
        at = put_words(writer, at, until);
        if (at == until && at < end) {
            at += wide_space(at, end, &code);
            put_reference(writer->out, code);
        }
    }
    return 0;
}

int keep_end(Writer *writer) {
    Out *out = writer->out;
    int code, wide;
    int64_t at = out->size;
    if (writer->text_from > at || writer->is_cell) return 0;
    while (at - 2 >= writer->text_from) {
        if (at - 3 >= writer->text_from && wide_space(out->bytes + at - 3, out->bytes + at, &code) == 3) at -= 3;
        else if (wide_space(out->bytes + at - 2, out->bytes + at, &code) == 2) at -= 2;
        else break;
    }
    if (at == out->size) return 0;
    if (at > writer->text_from && out->bytes[at - 1] == ' ' && ends_with_gap(out->bytes, out->bytes + at - 1)) return -1;
    uint8_t kept[64];
    int64_t size = out->size - at;
    if (size > (int64_t)sizeof kept) return -1;
    memcpy(kept, out->bytes + at, (size_t)size);
    out->size = at;
    for (const uint8_t *next = kept; next < kept + size; next += wide) {
        wide = wide_space(next, kept + size, &code);
        put_reference(out, code);
    }
    return 0;
}

/* What an attribute says, within brackets or quotes. */
static void put_escaped(Writer *writer, Slice text, int is_title) {
    if (!text.size) return;
    const uint8_t *end = text.at + text.size;
    for (const uint8_t *at = text.at; at < end; at++) {
        if (*at == '\n') {
            put_text(writer->out, "&#10;");
        } else if (!is_title) {
            put_special(writer, at, end);
        } else {
            int ends_it = *at == '"' || *at == '\\' || (*at == '|' && writer->is_cell);
            if (ends_it || (*at == '&' && is_reference(at, end))) put_byte(writer->out, '\\');
            put_byte(writer->out, *at);
        }
    }
}

static int is_balanced(Slice address) {
    int depth = 0;
    for (int64_t i = 0; i < address.size && depth >= 0; i++) depth += (address.at[i] == '(') - (address.at[i] == ')');
    return !depth;
}

/* Puts an address, with what would end it escaped. */
static int put_address(Writer *writer, Slice address) {
    static const uint8_t is_special[256] = {
        [' '] = 1, ['\\'] = 1, ['&'] = 1, ['('] = 1, [')'] = 1, ['<'] = 1, ['>'] = 1, ['|'] = 1, [127] = 1};
    Out *out = writer->out;
    if (!address.size) address = (Slice){(const uint8_t *)"", 0};
    const uint8_t *end = address.at + address.size, *at = address.at;
    while (at < end && *at >= 32 && !is_special[*at]) at++;
    if (at == end && address.size) {
        put_bytes(out, address.at, address.size);
        return 0;
    }
    int has_space = 0;
    for (at = address.at; at < end; at++) {
        if (*at < 32 || *at == 127) return -1;
        has_space |= *at == ' ';
    }
    int is_angled = !address.size || has_space || *address.at == '<', is_even = is_angled || is_balanced(address);
    if (is_angled) put_byte(out, '<');
    for (at = address.at; at < end; at++) {
        int is_escaped = *at == '\\' || (*at == '&' && is_reference(at, end)) || (!is_even && (*at == '(' || *at == ')')) ||
                         (is_angled && (*at == '<' || *at == '>')) || (*at == '|' && writer->is_cell);
        if (is_escaped) put_byte(out, '\\');
        put_byte(out, *at);
    }
    if (is_angled) put_byte(out, '>');
    return 0;
}

/* `](address "title")` */
static int put_target(Writer *writer, const Node *node, const char *name) {
    Out *out = writer->out;
    Slice title = attribute_of(writer->nodes, node, "title");
    put_bytes(out, "](", 2);
    if (put_address(writer, attribute_of(writer->nodes, node, name))) return -1;
    if (title.size) {
        put_bytes(out, " \"", 2);
        put_escaped(writer, title, 1);
        put_byte(out, '"');
    }
    put_byte(out, ')');
    return 0;
}

static int write_image(Writer *writer, const Node *image) {
    if (begin_other(writer)) return -1;
    put_text(writer->out, "![");
    Slice alt = attribute_of(writer->nodes, image, "alt");
    if (alt.size && (memchr(alt.at, '\r', (size_t)alt.size) || memchr(alt.at, '\f', (size_t)alt.size))) return -1;
    put_escaped(writer, alt, 0);
    return put_target(writer, image, "src");
}

int gather_verbatim(const Node *node, uint8_t line_end, Out *out) {
    for (const Node *at = next_node(node, node); at; at = next_node(node, at)) {
        if (at->tag == TAG_TEXT) put_bytes(out, at->text.at, at->text.size);
        else if (at->tag == TAG_br) put_bytes(out, &line_end, 1);
        else if (is_block_tag(at->tag) || is_odd(at)) return -1;
    }
    return 0;
}

static int write_code(Writer *writer, const Node *code) {
    Out *out = writer->out;
    static __thread Out kept;
    kept.size = 0, kept.is_out = 0;
    if (gather_verbatim(code, ' ', &kept) || kept.is_out) return -1;
    if (!kept.size) return 0;
    if (begin(writer)) return -1;
    if (writer->is_begun && out->bytes[out->size - 1] == '`') return -1;
    writer->is_begun = 1, writer->line = WITHIN;
    const uint8_t *text = kept.bytes, *end = text + kept.size;
    int64_t longest = 0, run = 0, blank = 0;
    for (const uint8_t *at = text; at < end; at++) {
        if (*at == '\r' || *at == '\f') return -1;
        run = *at == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
        blank += *at == ' ' || *at == '\n';
    }
    int opens_blank = *text == ' ' || *text == '\n', ends_blank = end[-1] == ' ' || end[-1] == '\n';
    if (blank == kept.size) return -1;
    int is_padded = *text == '`' || end[-1] == '`' || (opens_blank && ends_blank);
    for (int64_t i = 0; i <= longest; i++) put_byte(out, '`');
    if (is_padded) put_byte(out, ' ');
    for (const uint8_t *at = text; at < end; at++) {
        if (*at == '|' && writer->is_cell) put_byte(out, '\\');
        put_byte(out, *at == '\n' ? ' ' : *at);
    }
    if (is_padded) put_byte(out, ' ');
    for (int64_t i = 0; i <= longest; i++) put_byte(out, '`');
    return 0;
}

Opening *push(Writer *writer, const Node *node, int kind) {
    if (writer->count == MOST_MARKS) return NULL;
    Opening *opening = writer->openings + writer->count++;
    *opening = (Opening){.node = node, .kind = kind};
    return opening;
}

static int write_link(Writer *writer, const Node *link) {
    for (int i = 0; i < writer->count; i++)
        if (writer->openings[i].kind == LINK) return -1;
    if (!push(writer, link, LINK)) return -1;
    writer->is_flat++;
    if (write_children(writer, link)) return -1;
    writer->is_flat--;
    if (writer->opened < writer->count || writer->breaks) return -1; /* rules took empty links away */
    writer->count--, writer->opened--;
    return put_target(writer, link, "href");
}

int is_code_tag(int tag) { return tag == TAG_code || tag == TAG_kbd || tag == TAG_samp; }

static int write_break(Writer *writer, const Node *br) {
    const Opening *around = writer->count ? writer->openings + writer->count - 1 : NULL;
    int is_direct = around && around->node == br->parent && around->kind != LINK;
    int is_lone = !writer->is_open && br->parent != writer->top && !is_block_tag(br->parent->tag);
    int is_first = !writer->is_open && writer->inline_from >= 0; /* in an element around it that is no block */
    int is_flattened = writer->is_one_line && !writer->is_cell && writer->count && is_block_tag(br->parent->tag) && !is_heading_tag(br->parent->tag);
    if (writer->in_raised || is_lone || is_first || is_flattened || (is_direct && writer->opened < writer->count)) {
        return -1;
    } else if (writer->is_one_line) {
        writer->has_space = 1;
    } else if (is_direct && (writer->is_tagged || around->is_broken)) {
        int has_space = writer->has_space; /* it comes behind the break */
        writer->has_space = 0;
        if (writer->breaks || begin_other(writer)) return -1;
        put_text(writer->out, "<br>");
        writer->tagged_break = writer->out->size;
        writer->has_space = has_space;
    } else if (writer->is_tagged && is_in_mark(writer)) {
        return -1;
    } else {
        writer->breaks++, writer->has_space = 0;
    }
    return 0;
}

/* Whether quoted text is as plain as it mostly is. */
static int is_plain_quotation(const Writer *writer, const Node *quoted) {
    const Node *first = quoted->first;
    int is_shown = 0;
    for (const Node *at = first; at; at = next_node(quoted, at)) {
        const uint8_t *end = at->text.at + at->text.size;
        if (is_block_tag(at->tag) || at->tag == TAG_br || at->tag == TAG_q) return 0;
        if (at->tag == TAG_TEXT && next_wide_space(at->text.at, end) < end) return 0;
    }
    for (const Node *child = first; child && !is_shown; child = child->after) is_shown = shows(writer->nodes, child);
    /* Behind the mark, a line may still begin what it seemed to. */
    return is_shown && (writer->line == WITHIN || (is_text(first) && first->text.size && !is_space(first->text.at[0])));
}

static int write_quoted(Writer *writer, const Node *quoted) {
    if (begin(writer) || !is_plain_quotation(writer, quoted)) return -1;
    writer->is_begun = 1;
    put_byte(writer->out, '"');
    if (write_children(writer, quoted)) return -1;
    put_byte(writer->out, '"');
    return 0;
}

/* An element that is but what it holds, or emphasis.
 *
 * The first in a block begins a paragraph even with white space alone, or with a break: so the writer of old has it, and what
 * follows stands two lines further down. With a block in it that holds no other, so does the first word there. */
static int write_around(Writer *writer, const Node *node) {
    int64_t written = writer->written;
    int had_inline = writer->has_inline, is_direct = node->parent == writer->top || is_block_tag(node->parent->tag);
    int opens = node->first && (node->first->tag == TAG_TEXT || node->first->tag == TAG_br);
    int is_first = is_direct && !had_inline && !writer->is_open;
    if (is_first && opens && ((writer->is_hollow && !shows(writer->nodes, node->first)) || open_run(writer))) return -1;
    int64_t inline_from = writer->inline_from, doubt_from = writer->doubt_from;
    int is_outer = is_first && !writer->is_open && inline_from < 0;
    if (is_outer) writer->inline_from = writer->written;
    else if (is_first && !writer->is_open) writer->doubt_from = writer->written;
    int is_running = writer->is_open, is_raised = node->tag == TAG_sup || node->tag == TAG_sub;
    writer->in_raised += is_raised;
    if (is_mark_tag(node->tag) ? write_mark(writer, node) : write_children(writer, node)) return -1;
    writer->in_raised -= is_raised;
    writer->has_inline = had_inline || (is_direct && (is_running || writer->written > written));
    if (is_outer) writer->is_hollow = 0;
    writer->inline_from = inline_from, writer->doubt_from = doubt_from;
    return 0;
}

int write_inline(Writer *writer, const Node *node) {
    if (is_odd(node) || how_spaced(writer->nodes, node) || (node->tag == TAG_input && writer->in_items)) return -1;
    switch (node->tag) {
    case TAG_br: return write_break(writer, node);
    case TAG_img: return write_image(writer, node);
    case TAG_code: case TAG_kbd: case TAG_samp: return write_code(writer, node);
    case TAG_q: return write_quoted(writer, node);
    case TAG_a:
        if (attribute_of(writer->nodes, node, "href").at) return write_link(writer, node);
        /* fall through */
    default: return write_around(writer, node);
    }
}

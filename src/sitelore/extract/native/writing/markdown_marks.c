/* Emphasis in Markdown, and where markers would not be read as such: there it is HTML.
 *
 * When they would is the guess of the HTML parser's own writer, which is more careful than readers of Markdown are.
 */
#include "markdown.h"

#include <string.h>

/* Emphasis as HTML. Struck text keeps the name it has. */
static void put_tag(Out *out, const Opening *opening, int is_end) {
    put_text(out, is_end ? "</" : "<");
    if (opening->kind == STRUCK) put_bytes(out, opening->node->name.at, opening->node->name.size);
    else put_text(out, opening->kind == STRONG ? "strong" : "em");
    put_text(out, ">");
}

/* Whether what stands before the place in the line would be read as part of a word. A wide space is none. */
static int is_after_word(const Writer *writer) {
    const Out *out = writer->out;
    if (!writer->is_begun || !out->size) return 0;
    uint8_t last = out->bytes[out->size - 1];
    if (last > 127) return !ends_with_gap(out->bytes, out->bytes + out->size);
    return !is_space(last) && !is_punctuation(last);
}

static int is_within(const Writer *writer, const Opening *opening) {
    for (const Opening *around = writer->openings; around < opening; around++)
        if (around->kind == EMPHASIS || around->kind == STRONG) return 1;
    return 0;
}

int open_mark(Writer *writer, Opening *opening, const Opening *around) {
    Out *out = writer->out;
    int64_t end = out->size;
    uint8_t last = writer->is_begun && end ? out->bytes[end - 1] : 0;
    opening->follows_word = is_after_word(writer);
    opening->follows_sign = is_within(writer, opening) && is_punctuation(last) && end != around->inner && end != writer->star;
    if (!writer->is_tagged && around && around->is_second && (opening->follows_word || opening->follows_sign)) return -1;
    int is_in_word = opening->follows_word && opening->kind != STRUCK && is_within(writer, opening);
    if (writer->is_tagged || opening->marker == '<' || is_in_word) {
        opening->marker = '<';
        put_tag(out, opening, 0);
        return 0;
    }
    if (writer->is_begun && (writer->underscore == end || writer->tilde == end)) return -1;
    if (opening->kind == STRUCK) {
        if (last == '*' || last == '_' || last == '~') return -1;
        opening->marker = '~';
        put_text(out, "~~");
        writer->tilde = out->size;
        return 0;
    }
    int is_joined = opening->kind == STRONG && around && around->kind == EMPHASIS && around->inner == end;
    if (is_joined) opening->follows_word = around->follows_word;
    opening->is_second = writer->is_begun && writer->star == end && !is_joined;
    if (opening->is_second && writer->in_raised) return -1;
    opening->marker = opening->is_second ? '_' : '*';
    put_byte(out, opening->marker);
    if (opening->kind == STRONG) put_byte(out, opening->marker);
    *(opening->is_second ? &writer->underscore : &writer->star) = out->size;
    return 0;
}

int is_mark_tag(int tag) {
    return tag == TAG_b || tag == TAG_strong || tag == TAG_i || tag == TAG_em || tag == TAG_del || tag == TAG_s ||
           tag == TAG_strike;
}

static int kind_of(int tag) {
    return tag == TAG_b || tag == TAG_strong ? STRONG : tag == TAG_i || tag == TAG_em ? EMPHASIS : STRUCK;
}

/* What a node begins with, as far as a closing marker before it is concerned. */
enum { NOTHING, NO_WORD, WORD };

static int holds_anything(const Node *node) {
    for (const Node *at = node; at; at = next_node(node, at))
        if ((at->tag == TAG_TEXT && at->text.size) || at->tag == TAG_br || at->tag == TAG_img || at->tag == TAG_a) return 1;
    return 0;
}

static int begins_with(Nodes *nodes, const Node *node, const Node **inside) {
    if (node->tag == TAG_TEXT) {
        const uint8_t *text = node->text.at;
        if (!node->text.size) return NOTHING;
        if (*text > 127) return wide_gap(text, text + node->text.size) ? NO_WORD : WORD;
        return is_space(*text) || is_punctuation(*text) ? NO_WORD : WORD;
    }
    if (node->tag == TAG_img) return WORD; /* so the writer of old has it */
    if (node->tag == TAG_br || is_block_tag(node->tag)) return NO_WORD;
    if (node->tag == TAG_a && attribute_of(nodes, node, "href").at) return NO_WORD;
    if (is_code_tag(node->tag)) return shows(nodes, node) ? NO_WORD : NOTHING;
    if (is_mark_tag(node->tag)) return holds_anything(node) ? NO_WORD : NOTHING;
    *inside = node->first;
    return NOTHING;
}

/* Whether a letter comes right behind an element, in whatever other elements. */
static int follows_as_word(const Writer *writer, const Node *node) {
    for (;;) {
        while (!node->after) {
            const Node *parent = node->parent;
            if (!parent || parent == writer->top || is_block_tag(parent->tag) || is_mark_tag(parent->tag)) return 0;
            if (parent->tag == TAG_a && attribute_of(writer->nodes, parent, "href").at) return 0;
            node = parent;
        }
        node = node->after;
        for (const Node *inside = node; inside;) {
            node = inside, inside = NULL;
            int found = begins_with(writer->nodes, node, &inside);
            if (found) return found == WORD;
        }
    }
}

/* Whether the second kind of marker is read as one where it ends: letters next to it would make it part of a word. */
static int may_be_second(const Node *node) {
    const Node *parent = node->parent, *next = node->after;
    if (!next) return is_block_tag(parent->tag) || is_mark_tag(parent->tag);
    return next->tag == TAG_TEXT && next->text.size && (is_space(next->text.at[0]) || is_punctuation(next->text.at[0]));
}

/* Whether emphasis is read as such where its closing marker stands; if not it is spelled as HTML. -1 where nobody knows. */
static int is_read(Writer *writer, const Opening *opening, int is_part) {
    const Out *out = writer->out;
    const uint8_t *first = out->bytes + opening->inner, *end = out->bytes + out->size;
    int code;
    if (end - first >= 2 && wide_space(end - 2, end, &code)) return -1;
    if (end - first >= 3 && wide_space(end - 3, end, &code)) return -1;
    while (first < end - 1 && *first == '*') first++;
    if (writer->star == out->size)
        while (end - 1 > first && end[-1] == '*') end--;
    if ((opening->follows_word || opening->follows_sign) && is_punctuation(*first)) return 0;
    if (opening->is_second && is_part) return -1;
    if (opening->is_second && !may_be_second(opening->node)) return 0;
    if (!is_punctuation(end[-1]) || ((writer->has_space || writer->breaks) && end[-1] != '\\')) return 1;
    if (end[-1] == '\\') return -1;
    return !follows_as_word(writer, opening->node) ? 1 : is_part ? -1 : 0;
}

/* The end of emphasis, or of the part of it that stands in one block: whether more of it comes is not known then. */
static int put_closing(Writer *writer, Opening *opening, int is_part) {
    Out *out = writer->out;
    int is_fine = opening->marker == '<' ? 1 : is_read(writer, opening, is_part);
    if (is_fine < 0 || writer->tagged_break == out->size) return -1;
    if (!is_fine) {
        uint8_t tag[16];
        Out opened = {tag, 0, sizeof tag, 0};
        put_tag(&opened, opening, 0);
        put_within(out, opening->at, opening->inner - opening->at, tag, opened.size);
        opening->marker = '<';
    }
    if (opening->marker == '<') {
        put_tag(out, opening, 1);
        return 0;
    }
    put_byte(out, opening->marker);
    if (opening->kind != EMPHASIS) put_byte(out, opening->marker);
    *(opening->marker == '*' ? &writer->star : opening->marker == '_' ? &writer->underscore : &writer->tilde) = out->size;
    return 0;
}

int close_marks(Writer *writer) {
    while (writer->opened)
        if (put_closing(writer, writer->openings + --writer->opened, 1)) return -1;
    return 0;
}

/* Whether emphasis that is within no other is such as nobody writes: which markers the writer of old gives it is not known. */
static int is_odd_mark(Nodes *nodes, const Node *mark) {
    for (const Node *at = next_node(mark, mark); at; at = next_node(mark, at)) {
        if (at->tag == TAG_table) return 1;
        if (!is_mark_tag(at->tag)) continue;
        int kind = kind_of(at->tag);
        for (const Node *around = at->parent;; around = around->parent) {
            if (around->tag == TAG_a && around != mark && attribute_of(nodes, around, "href").at) return 1;
            int is_like = is_mark_tag(around->tag) && kind_of(around->tag) == kind;
            if (is_like || kind == STRUCK || (is_mark_tag(around->tag) && kind_of(around->tag) == STRUCK)) return 1;
            if (around == mark) break;
        }
    }
    return 0;
}

/* Whether a text is without what makes all emphasis HTML. */
static int is_plain_text(Slice text, int is_nested) {
    for (int64_t i = 0; i < text.size; i++) {
        uint8_t byte = text.at[i];
        if (byte > 127 || (is_nested && (byte == '&' || byte == '\\' || byte == '|'))) return 0;
    }
    return 1;
}

static int is_mark(const Node *node) { return node && is_mark_tag(node->tag); }
static int is_break(const Node *node) { return node && node->tag == TAG_br; }

int needs_tags(const Node *node, int marks) {
    int meets_text = is_mark(node) && (is_text(node->before) || is_text(node->after));
    int meets_mark = is_mark(node) && (is_mark(node->before) || is_mark(node->after));
    if (is_mark(node) && is_break(node->before) && is_break(node->last)) return 1;
    for (const Node *child = node->first; child; child = child->after) {
        if (child->tag != TAG_TEXT) {
            if (needs_tags(child, marks + is_mark_tag(child->tag))) return 1;
        } else if ((meets_text || marks > 1) && !is_plain_text(child->text, marks > 1)) {
            return 1;
        } else if (meets_mark && child->text.size && memchr(child->text.at, '\\', (size_t)child->text.size)) {
            return 1;
        }
    }
    return 0;
}

int is_in_mark(const Writer *writer) {
    for (int i = 0; i < writer->count; i++)
        if (writer->openings[i].kind != LINK) return 1;
    return 0;
}

/* Emphasis with more than one break has them as HTML. */
static int holds_breaks(const Node *mark) {
    int count = 0;
    for (const Node *child = mark->first; child && count < 2; child = child->after) count += child->tag == TAG_br;
    return count == 2;
}

int write_mark(Writer *writer, const Node *mark) {
    if (!writer->is_tagged && !is_in_mark(writer) && is_odd_mark(writer->nodes, mark)) return -1;
    Opening *opening = push(writer, mark, kind_of(mark->tag));
    if (!opening) return -1;
    int64_t written = writer->written;
    opening->is_broken = holds_breaks(mark);
    if (write_children(writer, mark)) return -1;
    if (writer->opened < writer->count--) { /* it holds nothing that shows, or ends with a block */
        writer->written += writer->written > written;
        return 0;
    }
    if (writer->breaks) return -1; /* rules took breaks at an edge out */
    return put_closing(writer, writer->openings + --writer->opened, 0);
}

/* Rewrites the chosen element until a writer of Markdown can do it justice: `writing/rewriting.py` says in Python what each rule
 * means, and why. Children come before what is around them.
 */
#include <string.h>

#include "rewriting.h"

static const Tags BREAKABLE = {[TAG_p] = 1, [TAG_div] = 1, [TAG_li] = 1, [TAG_blockquote] = 1, [TAG_section] = 1, [TAG_article] = 1,
                               [TAG_main] = 1, [TAG_body] = 1, [TAG_dd] = 1, [TAG_figcaption] = 1, [TAG_address] = 1};
static const Tags BOLD = {[TAG_b] = 1, [TAG_strong] = 1};
static const Tags STRUCK = {[TAG_del] = 1, [TAG_s] = 1};
static const Tags SLANTED = {[TAG_i] = 1, [TAG_em] = 1};
static const Tags MEANINGLESS = {[TAG_span] = 1, [TAG_font] = 1};

static int is_apart(uint8_t byte) { return byte == '_' || byte == '-' || is_blank_byte(byte); }

/* Whether a class is one that generators give to the marks by which places can be linked to; -1 where a pattern has to tell. */
static int names_anchor(Slice classes) {
    static const char *const names[] = {
        "headerlink", "headeranchor", "header-anchor", "anchor", "anchorlink", "anchor-link", "anchorjs-link", "permalink",
        "hashlink", "hash-link", "headinganchor", "heading-anchor", "headinglink", "heading-link", "selflink", "self-link",
        "directlink", "direct-link"};
    for (int64_t i = 0; i < classes.size; i++)
        if (classes.at[i] >= 0x80) return -1;
    for (int64_t at = 0; at < classes.size; at++) {
        if (at && !is_apart(classes.at[at - 1])) continue;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int64_t size = (int64_t)strlen(names[i]);
            if (size > classes.size - at || find_folded((Slice){classes.at + at, size}, names[i])) continue;
            if (at + size == classes.size || is_apart(classes.at[at + size])) return 1;
        }
    }
    return 0;
}

/* Whether the heading that a link stands in says nothing but the link. */
static int is_whole_heading(const Node *link) {
    const Node *heading = link->parent;
    if (!HEADINGS[heading->tag]) return 0;
    for (const Node *at = heading->first; at;) {
        if (is_text(at) && !is_blank(at->text)) return 0;
        at = at == link ? next_past(heading, at) : next_node(heading, at);
    }
    return 1;
}

/* Whether a link is the mark by which a heading, or a place in the text, can be linked to. */
static int is_permalink(Draft *draft, Node *link, Slice href, int is_worded) {
    if (!is_worded) return (href.at[0] == '#' || closest(link, HEADINGS)) && !holds_tag(link, TAG_img);
    if (is_whole_heading(link)) return href.at[0] == '#';
    return closest(link, HEADINGS) ? names_anchor(attribute_of(draft->nodes, link, "class")) : 0;
}

/* The first line with text: inline nodes next to each other, no block among them. */
typedef struct { Node *first, *last; } Run;

static int is_line_shown(Run run) {
    for (const Node *at = run.first; at; at = at == run.last ? NULL : at->after)
        if (shows_text(at)) return 1;
    return 0;
}

static Run first_run(Node *container) {
    for (;;) {
        Run run = {NULL, NULL};
        Node *below = NULL;
        for (Node *child = container->first; child && !below; child = child->after) {
            if (is_text(child) || !(BLOCKS[child->tag] || holds(child, BLOCKS))) {
                run = (Run){run.first ? run.first : child, child};
                continue;
            }
            if (is_line_shown(run)) return run;
            run = (Run){NULL, NULL};
            if (shows_text(child)) below = child;
        }
        if (below) {
            container = below;
            continue;
        }
        for (const Node *at = run.first; at; at = at == run.last ? NULL : at->after)
            if (!is_gap(at)) return run;
        return (Run){NULL, NULL};
    }
}

static Node *same_link(Nodes *nodes, Node *link) {
    static const char *const names[] = {"href", "title"};
    Node *inner = make_element(nodes, TAG_a);
    for (int i = 0; inner && i < 2; i++) {
        Slice value = attribute_of(nodes, link, names[i]);
        if (value.size) set_attribute(nodes, inner, names[i], value);
    }
    return inner;
}

/* A link around blocks: its heading, or else its first line, is what links. One block alone the writer can do. */
static int link_block(Nodes *nodes, Node *link) {
    Node *heading = link;
    while ((heading = next_node(link, heading)) && !HEADINGS[heading->tag]) continue;
    if (heading && is_bare(heading)) return 0;
    Node *inner = same_link(nodes, link);
    if (!inner) return -1;
    if (heading) {
        wrap_children(heading, inner);
        unwrap(link);
        return 0;
    }
    Run run = first_run(link);
    int64_t size = 0;
    for (const Node *at = run.first; at; at = at == run.last ? NULL : at->after) size += count_shown(at);
    if (!run.first || size >= count_shown(link)) return 0;
    put_before(run.first, inner);
    for (Node *at = run.first, *after; at; at = after) {
        after = at == run.last ? NULL : at->after;
        append(inner, at);
    }
    unwrap(link);
    return 0;
}

static int settle_link(Draft *draft, Node *link, int64_t address) {
    Nodes *nodes = draft->nodes;
    Slice href = attribute_of(nodes, link, "href");
    if (href.size && memchr(href.at, '#', (size_t)href.size)) {
        int is_worded = has_letter(link), is_mark = is_worded < 0 ? -1 : is_permalink(draft, link, href, is_worded);
        if (is_mark < 0) return -1;
        if (is_mark) {
            if (is_worded && is_whole_heading(link)) unwrap(link);
            else cut(link);
            return 0;
        }
    }
    if (address < 0) return 0;
    Slice written = draft->written[address];
    if (written.size && written.at[0] == 1) written.at++, written.size--;
    if (!written.size) {
        drop_attribute(nodes, link, "href");
        return 0;
    }
    if (!is_same(written, href)) set_attribute(nodes, link, "href", written);
    if (!holds_element(link)) {
        if (!shows_text(link)) unwrap(link);
    } else if (is_bare(link)) unwrap(link);
    else if (holds(link, BLOCKS)) return link_block(nodes, link);
    return 0;
}

static int settle_image(Draft *draft, Node *image, int64_t address) {
    static const char *const names[] = {"alt", "title"};
    Nodes *nodes = draft->nodes;
    Slice written = address < 0 ? (Slice){NULL, 0} : draft->written[address];
    if (address < 0 || (written.size && written.at[0] == 1)) {
        cut(image);
        return 0;
    }
    const uint8_t *place = written.size ? memchr(written.at, '#', (size_t)written.size) : NULL;
    if (place) written.size = place - written.at;
    Slice source = attribute_of(nodes, image, "src");
    if (!source.at || !is_same(written, source)) set_attribute(nodes, image, "src", written);
    for (int i = 0; i < 2; i++) {
        Slice value = attribute_of(nodes, image, names[i]);
        int is_odd = 0;
        for (int64_t at = 0; at < value.size && !is_odd; at++)
            is_odd = value.at[at] == '\n' || (value.at[at] == 0xC2 && at + 1 < value.size && value.at[at + 1] == 0xA0);
        if (is_odd) set_attribute(nodes, image, names[i], on_one_line(nodes, value));
    }
    return 0;
}

/* Makes a list hold items alone: what stands between them goes into the item before, or before the list. -1 for text with white
 * space around it: that may have been pieces of their own, of which none but the text would go. */
static int gather_items(Node *holder) {
    int has_others = 0;
    for (const Node *child = holder->first; child && !has_others; child = child->after)
        has_others = is_text(child) ? !is_blank(child->text) : child->tag != TAG_li;
    if (!has_others) return 0;
    for (Node *child = holder->first, *after; child; child = after) {
        after = child->after;
        if (!is_text(child) && child->tag != TAG_li && !LISTS[child->tag] && holds_tag(child, TAG_li) && !holds(child, LISTS)) unwrap(child);
    }
    Node *item = NULL;
    for (Node *child = holder->first, *after; child; child = after) {
        after = child->after;
        if (child->tag == TAG_li) item = child;
        else if (is_gap(child)) continue;
        else if (is_text(child) && stripped(child->text).size != child->text.size) return -1;
        else if (item) append(item, child);
        else if (!LISTS[child->tag]) put_before(holder, child);
    }
    return 0;
}

static int settle_list(Nodes *nodes, Node *holder) {
    if (is_bare(holder)) {
        cut(holder);
        return 0;
    }
    if (holder->tag == TAG_ol && attribute_of(nodes, holder, "reversed").at) return -1;
    return gather_items(holder);
}

static int drop_if_bare(Node *element) {
    if (is_bare(element)) cut(element);
    return 0;
}

static int settle_heading(Nodes *nodes, Node *heading) {
    for (Node *at = heading, *after = next_node(heading, at); (at = after);) {
        Slice classes = at->tag == TAG_span ? attribute_of(nodes, at, "class") : (Slice){NULL, 0};
        int is_edit = 0;
        for (int64_t i = 0; i < classes.size && !is_edit; i++) is_edit = starts_with((Slice){classes.at + i, classes.size - i}, "editsection");
        after = is_edit ? next_past(heading, at) : next_node(heading, at);
        if (is_edit) cut(at);
    }
    return drop_if_bare(heading);
}

static int settle_menu(Node *nav) {
    int64_t linked = 0;
    for (const Node *at = nav; (at = next_node(nav, at));)
        if (at->tag == TAG_a) linked += count_shown(at);
    if (linked == count_shown(nav)) cut(nav);
    return 0;
}

static Node *shown_before(const Node *node) {
    Node *beside = node->before;
    while (beside && is_gap(beside)) beside = beside->before;
    return beside;
}

static Node *shown_after(const Node *node) {
    Node *beside = node->after;
    while (beside && is_gap(beside)) beside = beside->after;
    return beside;
}

/* Two breaks are a new paragraph; one at an edge of inline elements goes outside them, where it breaks no marker. */
static int settle_break(Nodes *nodes, Node *br) {
    Node *before = shown_before(br);
    while (INLINE[br->parent->tag] && (!before || !shown_after(br))) {
        if (before) put_after(br->parent, br);
        else put_before(br->parent, br);
        before = shown_before(br);
    }
    if (!before || before->tag != TAG_br) return 0;
    const Node *parent = br->parent;
    while (parent && MEANINGLESS[parent->tag]) parent = parent->parent;
    if (!parent || !BREAKABLE[parent->tag]) return 0;
    Node *block = make_element(nodes, TAG_div);
    if (!block) return -1;
    put_before(br, block);
    cut(br);
    return 0;
}

static int settle_summary(Nodes *nodes, Node *summary) {
    if (is_bare(summary) || holds(summary, BLOCKS) || holds(summary, BOLD)) return 0;
    Node *strong = make_element(nodes, TAG_strong);
    if (!strong) return -1;
    wrap_children(summary, strong);
    return 0;
}

static int settle(Draft *draft, const Picked *picked) {
    Nodes *nodes = draft->nodes;
    Node *node = picked->node;
    switch (node->tag) {
    case TAG_a: return settle_link(draft, node, picked->address);
    case TAG_img: return settle_image(draft, node, picked->address);
    case TAG_table: return settle_table_of(nodes, node);
    case TAG_li: return drop_if_bare(node);
    case TAG_ul: case TAG_ol: return settle_list(nodes, node);
    case TAG_nav: return settle_menu(node);
    case TAG_br: return settle_break(nodes, node);
    case TAG_sup: case TAG_sub: return closest(node, CODE) ? 0 : shift(nodes, node);
    case TAG_summary: return settle_summary(nodes, node);
    case TAG_tt: return rename_element(node, TAG_code), 0;
    case TAG_code: return settle_inline_code(nodes, node);
    case TAG_pre: return settle_listing_of(nodes, node);
    default: return HEADINGS[node->tag] ? settle_heading(nodes, node) : 0;
    }
}

/* Writers look at direct neighbours to choose markers; what stands between them says nothing any more. */
static void unwrap_meaningless(Node *root) {
    for (Node *at = next_node(root, root), *after; at; at = after) {
        after = next_node(root, at);
        if (MEANINGLESS[at->tag]) unwrap(at);
    }
    for (Node *at = next_node(root, root), *after; at; at = after) {
        const Node *around = at->parent;
        after = next_node(root, at);
        if ((BOLD[at->tag] && BOLD[around->tag]) || (SLANTED[at->tag] && SLANTED[around->tag])) unwrap(at);
    }
}

void flatten_marks(Node *root) {
    for (Node *at = next_node(root, root), *after; at; at = after) {
        after = next_node(root, at);
        int is_within_like = (BOLD[at->tag] && closest(at->parent, BOLD)) || (SLANTED[at->tag] && closest(at->parent, SLANTED)) ||
                             (STRUCK[at->tag] && closest(at->parent, STRUCK));
        if (is_within_like) unwrap(at);
    }
}

/* Parts the answers; 0 where there are not as many as addresses were asked for. */
static int take_answers(Draft *draft, const uint8_t *answers, int64_t size) {
    int64_t count = 0;
    draft->written = take_room(draft->nodes, (draft->addresses + 1) * (int64_t)sizeof *draft->written);
    if (!draft->written) return 0;
    for (const uint8_t *at = answers, *end = answers + size; at < end; count++) {
        const uint8_t *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop || count == draft->addresses) return 0;
        draft->written[count] = (Slice){at, stop - at};
        at = stop + 1;
    }
    return count == draft->addresses;
}

int rewrite(Draft *draft, const uint8_t *answers, int64_t size) {
    if (!take_answers(draft, answers, size) || settle_places(draft)) return -1;
    for (int64_t i = draft->count; i-- > 0;)
        /* A rule may have dropped it with something around it. */
        if (draft->picked[i].node->parent && settle(draft, draft->picked + i)) return -1;
    unwrap_meaningless(draft->root);
    return is_out(draft->nodes) ? -1 : 0;
}

Nodes *nodes_of(Draft *draft) { return draft->nodes; }
Node *root_of(Draft *draft) { return draft->root; }

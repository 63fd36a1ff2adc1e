/* Program listings, as `writing/listings.py` settles them: their exact text, their language, and nothing of what a highlighter drew
 * around them. What has to be asked of Unicode is left to Python.
 */
#include "looks.h"
#include "writer.h"

#include <string.h>

enum { MOST_ASKED = 5, SEVERAL = 3, LONGEST_LANGUAGE = 30, LONGEST_HIGHLIGHTED = 20, MOST_ELEMENTS = 20000 };
enum { NEAR = 64, MOST_LOOKED_AT = 20000 };

static const Tags LINE_BLOCKS = {[TAG_div] = 1, [TAG_p] = 1, [TAG_li] = 1, [TAG_tr] = 1};
static const Tags LISTING_PARTS = {[TAG_br] = 1, [TAG_div] = 1, [TAG_pre] = 1};
static const Tags LISTINGS = {[TAG_pre] = 1};

/* Names that a class may consist of; others need a prefix. In the order of the alphabet. */
static const char *const KNOWN[] = {
    "ada", "apache", "applescript", "arduino", "asm", "assembly", "awk", "bash", "basic", "batch", "c", "c#", "c++", "clojure", "cmake",
    "cobol", "coffeescript", "console", "cpp", "crystal", "csharp", "css", "csv", "cuda", "d", "dart", "delphi", "diff", "django",
    "docker", "dockerfile", "elixir", "elm", "erlang", "fortran", "fsharp", "go", "golang", "graphql", "groovy", "haml", "haskell",
    "hcl", "html", "http", "ini", "java", "javascript", "js", "json", "jsx", "julia", "kotlin", "latex", "less", "lisp", "lua",
    "makefile", "markdown", "matlab", "mysql", "nginx", "nim", "objc", "objectivec", "ocaml", "pascal", "perl", "pgsql", "php",
    "plaintext", "postgresql", "powershell", "prolog", "properties", "protobuf", "py", "python", "python3", "r", "racket", "rb", "rest",
    "ruby", "rust", "sas", "scala", "scheme", "scss", "sh", "shell", "shellscript", "smalltalk", "solidity", "sql", "stata", "svelte",
    "swift", "tcl", "terraform", "tex", "toml", "ts", "tsx", "typescript", "vb", "vbnet", "verilog", "vhdl", "vim", "vue", "wasm", "xml",
    "xquery", "yaml", "yml", "zig", "zsh"};
static const char *const NO_LANGUAGE[] = {
    "none", "nohighlight", "no-highlight", "default", "auto", "line-numbers", "linenums", "copy", "wrapper"};
static const char *const GUTTERS[] = {
    "gutter", "lineno", "linenos", "linenodiv", "linenumber", "linenumbers", "line-number", "line-numbers", "linenum", "linenums",
    "line-num", "line-nums", "blob-num", "crayon-num", "crayon-nums", "ln", "lnt"};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static uint8_t lower(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

/* Whether patterns see nothing in a value that bytes do not show: neither white space beyond ASCII, nor the four characters beyond it
 * that stand for letters of ASCII where case is ignored. */
static int is_plain(Slice value) {
    int size;
    for (int64_t at = 0; at < value.size; at += size) {
        uint32_t code = code_at(value.at + at, value.at + value.size, &size);
        if (code >= 0x80 && (is_space(code) || code == 0x130 || code == 0x131 || code == 0x17F || code == 0x212A)) return 0;
    }
    return 1;
}

static int is_one_of(Slice name, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (!strncmp(names[i], (const char *)name.at, (size_t)name.size) && !names[i][name.size]) return 1;
    return 0;
}

static int is_known(Slice name) {
    int low = 0, high = COUNT(KNOWN);
    while (low < high) {
        int middle = (low + high) / 2, order = strncmp(KNOWN[middle], (const char *)name.at, (size_t)name.size);
        if (!order && !KNOWN[middle][name.size]) return 1;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static int is_boundary(uint8_t byte) { return is_blank_byte(byte) || byte == '_' || byte == '-'; }

int names_gutter(Slice class_) {
    if (!is_plain(class_)) return -1;
    for (int64_t at = 0; at < class_.size; at++) {
        if (at && !is_boundary(class_.at[at - 1])) continue;
        for (int i = 0; i < COUNT(GUTTERS); i++) {
            int64_t size = 0;
            while (GUTTERS[i][size] && at + size < class_.size && lower(class_.at[at + size]) == (uint8_t)GUTTERS[i][size]) size++;
            if (!GUTTERS[i][size] && (at + size == class_.size || is_boundary(class_.at[at + size]))) return 1;
        }
    }
    return 0;
}

/* Whether a class says that an element is a line. */
static int names_line(Slice class_) {
    static const char *const lines[] = {"line", "cl"};
    for (int64_t at = 0; at < class_.size; at++) {
        if (at && !is_boundary(class_.at[at - 1])) continue;
        for (int i = 0; i < COUNT(lines); i++) {
            int64_t end = at + (int64_t)strlen(lines[i]);
            if (starts_with((Slice){class_.at + at, class_.size - at}, lines[i]) && (end == class_.size || is_blank_byte(class_.at[end])))
                return 1;
        }
    }
    return 0;
}

/* Whether a style says `display: block`, `flex` or `grid`. */
static int shows_block(Slice style) {
    for (int64_t at = 0; at < style.size; at++) {
        Slice rest = {style.at + at, style.size - at};
        if (!starts_with(rest, "display")) continue;
        int64_t next = 7;
        while (next < rest.size && is_blank_byte(rest.at[next])) next++;
        if (next == rest.size || rest.at[next++] != ':') continue;
        while (next < rest.size && is_blank_byte(rest.at[next])) next++;
        rest = (Slice){rest.at + next, rest.size - next};
        if (starts_with(rest, "block") || starts_with(rest, "flex") || starts_with(rest, "grid")) return 1;
    }
    return 0;
}

static int holds_code(Slice class_) {
    return find_folded(class_, "code") >= 0 || find_folded(class_, "highlight") >= 0 || find_folded(class_, "source") >= 0 ||
           find_folded(class_, "listing") >= 0 || find_folded(class_, "snippet") >= 0;
}

static int is_name_byte(uint8_t byte) {
    uint8_t small = byte | 0x20;
    return (small >= 'a' && small <= 'z') || (byte >= '0' && byte <= '9') || (byte && strchr("+#._-", byte));
}

/* The name that a value gives, in small letters; empty where it gives none. */
static Slice named(Nodes *nodes, Slice raw) {
    Slice name = stripped(raw);
    if (!name.size || name.size > LONGEST_LANGUAGE) return (Slice){NULL, 0};
    uint8_t *small = take_room(nodes, name.size);
    if (!small) return (Slice){NULL, 0};
    for (int64_t at = 0; at < name.size; at++) {
        if (!is_name_byte(name.at[at])) return (Slice){NULL, 0};
        small[at] = lower(name.at[at]);
    }
    name.at = small;
    return is_one_of(name, NO_LANGUAGE, COUNT(NO_LANGUAGE)) ? (Slice){NULL, 0} : name;
}

/* The name in a token `lang-name`, `highlight-name` and the like. */
static Slice prefixed(Slice token) {
    static const char *const prefixes[] = {"lang-", "language-", "highlight-source-", "highlight-text-", "source-", "sourceCode-", "src-"};
    for (int i = 0; i < COUNT(prefixes); i++) {
        if (!starts_with(token, prefixes[i])) continue;
        int64_t from = (int64_t)strlen(prefixes[i]), at = from;
        while (at < token.size && is_name_byte(token.at[at])) at++;
        if (at == token.size && at > from && at - from <= LONGEST_LANGUAGE) return (Slice){token.at + from, at - from};
    }
    if (starts_with(token, "highlight-")) {
        int64_t from = 10, at = from;
        while (at < token.size && is_name_byte(token.at[at]) && lower(token.at[at]) == token.at[at] && !strchr("._-", token.at[at])) at++;
        if (at == token.size && at > from && at - from <= LONGEST_HIGHLIGHTED) return (Slice){token.at + from, at - from};
    }
    return (Slice){NULL, 0};
}

/* The language that tokens of a class name, with what says that it is one. */
static Slice language_in(Nodes *nodes, Slice class_) {
    for (int64_t at = 0; at < class_.size;) {
        if (is_blank_byte(class_.at[at])) { at++; continue; }
        int64_t end = at;
        while (end < class_.size && !is_blank_byte(class_.at[end])) end++;
        Slice token = {class_.at + at, end - at}, found = prefixed(token);
        if (!found.size && starts_with(token, "brush:")) {
            int64_t from = at + 6;
            while (from < class_.size && is_blank_byte(class_.at[from])) from++;
            int64_t to = from;
            while (to < class_.size && to - from < LONGEST_LANGUAGE && is_name_byte(class_.at[to])) to++;
            if (to > from) {
                found = (Slice){class_.at + from, to - from};
                for (end = to; end < class_.size && !is_blank_byte(class_.at[end]);) end++;
            }
        }
        if (found.size && (found = named(nodes, found)).size) return found;
        at = end;
    }
    return (Slice){NULL, 0};
}

/* The first token that is the name of a language. */
static Slice known_in(Nodes *nodes, Slice class_) {
    for (int64_t at = 0; at < class_.size;) {
        if (is_blank_byte(class_.at[at])) { at++; continue; }
        int64_t end = at;
        while (end < class_.size && !is_blank_byte(class_.at[end])) end++;
        Slice name = named(nodes, (Slice){class_.at + at, end - at});
        if (name.size && is_known(name)) return name;
        at = end;
    }
    return (Slice){NULL, 0};
}

/* The language that one element names: 0, or -1 where Python has to tell. */
static int ask_language(Nodes *nodes, const Node *element, Slice *language) {
    static const char *const asked[] = {"data-lang", "data-language", "data-code-language", "data-enlighter-language", "syntax", "lang"};
    for (int i = 0; i < COUNT(asked); i++) {
        Slice raw = attribute_of(nodes, element, asked[i]);
        if (!raw.size) continue;
        if (!is_plain(raw)) return -1;
        Slice found = named(nodes, raw);
        /* `lang` is a human language more often than not. */
        if (found.size && (i + 1 < COUNT(asked) || is_known(found))) {
            *language = found;
            return 0;
        }
    }
    Slice class_ = attribute_of(nodes, element, "class");
    if (!class_.size) return 0;
    if (!is_plain(class_)) return -1;
    *language = language_in(nodes, class_);
    if (!language->size && (element->tag == TAG_pre || element->tag == TAG_code || holds_code(class_))) *language = known_in(nodes, class_);
    return 0;
}

/* Whether there is more below than a gutter and its listing: 1, 0, or -1 where that takes too long to tell. */
static int holds_several(const Node *around, const Node *pre) {
    int listings = 1, looked_at = 0;
    /* Where there are many, others follow soon: a page of nothing else must not be walked through for each. */
    for (const Node *node = pre; looked_at++ < NEAR && (node = next_node(around, node));)
        if (node->tag == TAG_pre && ++listings == SEVERAL) return 1;
    listings = looked_at = 0;
    for (const Node *node = around; (node = next_node(around, node));) {
        if (node->tag == TAG_pre && ++listings == SEVERAL) return 1;
        if (++looked_at == MOST_LOOKED_AT) return -1;
    }
    return 0;
}

/* The language that a listing, its `code` or what stands around them names, empty where none does. What stands around the chosen
 * element cannot be seen from here: -1 where it would be asked. */
static int find_language(Nodes *nodes, Node *pre, Slice *language) {
    Node *asked[MOST_ASKED], *inner = pre;
    int count = 0;
    while ((inner = next_node(pre, inner)) && inner->tag != TAG_code) {}
    if (inner) asked[count++] = inner;
    asked[count++] = pre;
    for (int i = 0; i < count; i++)
        if (ask_language(nodes, asked[i], language)) return -1;
        else if (language->size) return 0;
    for (Node *around = pre->parent; count < MOST_ASKED; around = around->parent, count++) {
        int several = around && around->parent ? holds_several(around, pre) : -1;
        if (several) return several > 0 ? 0 : -1;
        if (ask_language(nodes, around, language)) return -1;
        if (language->size) return 0;
    }
    return 0;
}

static int64_t size_of_text(const Node *element) {
    int64_t size = 0;
    for (const Node *node = element; (node = next_node(element, node));)
        if (is_text(node)) size += node->text.size;
    return size;
}

/* All character data below an element. */
static int join_text(Nodes *nodes, const Node *element, Slice *text) {
    if (element->first && !element->first->after && is_text(element->first)) {
        *text = element->first->text;
        return 0;
    }
    int64_t size = 0;
    uint8_t *bytes = take_room(nodes, size_of_text(element) + 1);
    if (!bytes) return -1;
    for (const Node *node = element; (node = next_node(element, node));) {
        if (!is_text(node) || !node->text.size) continue;
        memcpy(bytes + size, node->text.at, (size_t)node->text.size);
        size += node->text.size;
    }
    *text = (Slice){bytes, size};
    return 0;
}

/* Whether there is nothing but digits, white space and signs below: 1, 0, or -1 where Unicode has to be asked. */
static int is_of_numbers(const Node *element) {
    for (const Node *node = element; (node = next_node(element, node));) {
        if (!is_text(node)) continue;
        for (int64_t at = 0; at < node->text.size; at++) {
            uint8_t byte = node->text.at[at];
            if (byte >= 0x80) return -1;
            if (!(byte >= '0' && byte <= '9') && !is_blank_byte(byte) && !(byte && strchr(".:|+-", byte))) return 0;
        }
    }
    return 1;
}

/* Takes the numbers of lines out. */
static int drop_gutters(Nodes *nodes, Node *pre) {
    for (Node *node = next_node(pre, pre), *next; node; node = next) {
        next = next_node(pre, node);
        if (is_text(node)) continue;
        int is_gutter = names_gutter(attribute_of(nodes, node, "class"));
        if (is_gutter < 0 || !is_plain(attribute_of(nodes, node, "style"))) return -1;
        if (!is_gutter && (!attribute_of(nodes, node, "data-line-number").at || attribute_of(nodes, node, "data-line").at)) continue;
        if ((is_gutter = is_of_numbers(node)) < 0) return -1;
        if (!is_gutter) continue;
        next = next_past(pre, node);
        cut(node);
    }
    return 0;
}

static int is_line(Nodes *nodes, const Node *element, int are_blocks) {
    if (are_blocks || element->tag != TAG_span) return are_blocks && LINE_BLOCKS[element->tag];
    return names_line(attribute_of(nodes, element, "class")) || shows_block(attribute_of(nodes, element, "style"));
}

static int ends_in_line_end(const Node *element) {
    const Node *last = NULL;
    for (const Node *node = element; (node = next_node(element, node));)
        if (is_text(node) && node->text.size) last = node;
    return last && last->text.at[last->text.size - 1] == '\n';
}

static int put_line_end(Nodes *nodes, Node *after) {
    Node *end = make_text(nodes, (Slice){(const uint8_t *)"\n", 1});
    if (end) put_after(after, end);
    return end ? 0 : -1;
}

/* Ends each line element, the last one aside, with a line end where neither it nor what follows it has one. */
static int end_lines(Nodes *nodes, Node *pre, int are_blocks) {
    Node *line = NULL;
    int64_t lines = 0;
    for (Node *node = pre; (node = next_node(pre, node));) lines += !is_text(node) && is_line(nodes, node, are_blocks);
    if (lines < 2 && !are_blocks) return 0;
    for (Node *node = pre; lines > 1 && (node = next_node(pre, node));) {
        if (is_text(node) || !is_line(nodes, node, are_blocks)) continue;
        line = node, lines--;
        const Node *after = line->after;
        if (ends_in_line_end(line) || (after && is_text(after) && after->text.size && after->text.at[0] == '\n')) continue;
        if (!after && line->parent != pre && is_line(nodes, line->parent, are_blocks)) continue;
        if (put_line_end(nodes, line)) return -1;
    }
    return 0;
}

/* A listing's text: gutters dropped, line breaks and elements of lines made into line ends. */
static int find_text(Nodes *nodes, Node *pre, Slice *text) {
    int64_t count = 0;
    const Node *first = NULL;
    for (const Node *node = pre; (node = next_node(pre, node));)
        if (!is_text(node) && !count++) first = node;
    if (count > MOST_ELEMENTS) return -1;
    if (count > 1 || (count && first->tag != TAG_code)) {
        if (drop_gutters(nodes, pre)) return -1;
        for (Node *node = next_node(pre, pre), *next; node; node = next) {
            next = next_node(pre, node);
            if (node->tag != TAG_br) continue;
            if (put_line_end(nodes, node)) return -1;
            cut(node);
        }
        if (end_lines(nodes, pre, holds(pre, LINE_BLOCKS))) return -1;
    }
    return join_text(nodes, pre, text);
}

void rename_element(Node *element, int tag) {
    const char *name = name_of_tag(tag);
    element->tag = (uint16_t)tag, element->name = (Slice){(const uint8_t *)name, (int64_t)strlen(name)};
}

static int set_language(Nodes *nodes, Node *code, Slice language) {
    static const char prefix[] = "language-";
    int64_t size = (int64_t)sizeof prefix - 1;
    uint8_t *class_ = take_room(nodes, size + language.size);
    if (!class_) return -1;
    memcpy(class_, prefix, (size_t)size);
    memcpy(class_ + size, language.at, (size_t)language.size);
    set_attribute(nodes, code, "class", (Slice){class_, size + language.size});
    return 0;
}

int settle_listing_of(Nodes *nodes, Node *pre) {
    Slice language = {NULL, 0}, text;
    rename_element(pre, TAG_pre);
    if (holds_tag(pre, TAG_img) && !shows_text(pre)) {
        unwrap(pre);
        return 0;
    }
    if (find_language(nodes, pre, &language) || find_text(nodes, pre, &text)) return -1;
    if (is_blank(text)) {
        cut(pre);
        return 0;
    }
    Slice class_ = attribute_of(nodes, pre, "class");
    int is_gutter = names_gutter(class_); /* a table around it is told by that */
    Node *code = make_element(nodes, TAG_code), *words = make_text(nodes, text);
    if (!code || !words || is_gutter < 0 || (language.size && set_language(nodes, code, language))) return -1;
    while (pre->first) cut(pre->first);
    append(code, words);
    append(pre, code);
    if (class_.at && !is_gutter) drop_attribute(nodes, pre, "class");
    return is_out(nodes) ? -1 : 0;
}

static int make_listing(Nodes *nodes, Node *code) {
    Node *pre = make_element(nodes, TAG_pre);
    if (!pre) return -1;
    put_before(code, pre);
    append(pre, code);
    return settle_listing_of(nodes, pre);
}

/* Whether the lines of a `code` are shown as lines, though no `pre` says so: 1, 0, or -1 where Python has to tell. */
static int shows_lines(Nodes *nodes, const Node *code) {
    Slice style = attribute_of(nodes, code, "style"), class_;
    for (int64_t at = 0; at + 11 <= style.size; at++)
        if (!memcmp(style.at + at, "white-space", 11)) return 1;
    if (code->parent->tag != TAG_div && code->parent->tag != TAG_figure) return 0;
    class_ = attribute_of(nodes, code->parent, "class");
    if (!is_plain(class_)) return -1;
    if (!holds_code(class_)) return 0;
    for (const Node *child = code->parent->first; child; child = child->after)
        if (child != code && !is_gap(child)) return 0;
    return 1;
}

/* A link that is all there is in a `code` goes around it. */
static int turn_inside_out(Nodes *nodes, Node *code, Node *link) {
    Node *inner = make_element(nodes, TAG_code);
    if (!inner) return -1;
    wrap_children(link, inner);
    put_before(code, link);
    cut(code);
    return 0;
}

static void take_in(Node *code, Node *next) {
    while (next->first) append(code, next->first);
    cut(next);
}

/* One `code` takes in the next: two spans of backticks would run into each other. The last one comes first. Where the one before will
 * be taken in as well, this one waits and goes with it: of many in a row, each would be moved again for every one before it. */
static void join_codes(Nodes *nodes, Node *before, Node *code) {
    static const char WAITS[] = " waits"; /* no attribute of a page has a space in its name */
    int may_wait = before->before && before->before->tag == TAG_code;
    /* A listing within counts those beside it, so it has to see them. */
    if (may_wait && !holds_tag(before, TAG_pre) && !holds_tag(code, TAG_pre)) {
        set_attribute(nodes, code, WAITS, (Slice){(const uint8_t *)"", 0});
        return;
    }
    Node *next = code->after;
    take_in(before, code);
    while (next && next->tag == TAG_code && attribute_of(nodes, next, WAITS).at) {
        Node *following = next->after;
        take_in(before, next);
        next = following;
    }
}

int settle_inline_code(Nodes *nodes, Node *code) {
    if (code->tag == TAG_tt) {
        rename_element(code, TAG_code);
        return 0;
    }
    if (!code->parent || closest(code->parent, LISTINGS)) return 0;
    if (code->before && code->before->tag == TAG_code) {
        join_codes(nodes, code->before, code);
        return 0;
    }
    Node *first = NULL;
    int count = 0, has_parts = 0, has_text = 0;
    for (Node *child = code->first; child; child = child->after) {
        if (is_text(child)) { has_text |= child->text.size > 0; continue; }
        if (!count++) first = child;
        has_parts |= LISTING_PARTS[child->tag];
    }
    if (!count) {
        Slice text;
        if (join_text(nodes, code, &text)) return -1;
        text = stripped(text);
        int is_shown = text.size && memchr(text.at, '\n', (size_t)text.size) ? shows_lines(nodes, code) : 0;
        return is_shown > 0 ? make_listing(nodes, code) : is_shown;
    }
    if (count == 1 && first->tag == TAG_a && !has_text) return turn_inside_out(nodes, code, first);
    return has_parts ? make_listing(nodes, code) : 0;
}

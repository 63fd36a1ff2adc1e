#include "images.h"

#include <string.h>

#include "looks.h"

enum { LONGEST_NAME = 2000, LONGEST_SET = 20000, LONGEST_SIZE = 12 };

static const char *const lazy[] = {"data-src", "data-lazy-src", "data-original"};
static const char *const rarely_lazy[] = {"data-lazy", "data-original-src", "data-full-src", "data-hi-res-src", "data-img-src",
                                          "data-image"};
static const char *const sets[] = {"data-srcset", "data-lazy-srcset", "srcset"};
static const char *const no_address[] = {"data:", "javascript:", "blob:", "about:", "vbscript:"};
static const char *const no_size[] = {"0", "1", "0px", "1px"};
static const char *const placeholders[] = {"blank", "spacer", "pixel", "placeholder", "transparent", "loading", "loader", "lazy",
                                           "lazyload", "1x1", "clear", "dot", "grey", "gray"};
static const char *const endings[] = {".gif", ".png", ".svg", ".jpg", ".jpeg", ".webp"};
static const Tags PICTURE = {[TAG_picture] = 1};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const Slice nothing = {(const uint8_t *)"", 0};

static int is_one_of(Slice text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if ((int64_t)strlen(words[i]) == text.size && starts_with(text, words[i])) return 1;
    return 0;
}

/* Whether a word stands here, ASCII letters of either case taken for one another. */
static int is_at(Slice text, int64_t at, const char *word) {
    int64_t size = (int64_t)strlen(word);
    return at + size <= text.size && find_folded((Slice){text.at + at, size}, word) == 0;
}

static Slice usable(Slice raw) {
    raw = stripped(raw);
    for (size_t i = 0; i < COUNT(no_address); i++)
        if (is_at(raw, 0, no_address[i])) return nothing;
    /* Braces are a template that a script would fill in. */
    return raw.size && memchr(raw.at, '{', (size_t)raw.size) ? nothing : raw;
}

static Slice usable_attribute(Nodes *nodes, const Node *element, const char *name) {
    Slice raw = attribute_of(nodes, element, name);
    return raw.size ? usable(raw) : nothing;
}

/* Characters that a search for ASCII letters of either case also finds: the Kelvin sign, the long s, i with and without its dot. */
static int folds_oddly(Slice text) {
    for (int64_t i = 0; i + 1 < text.size; i++) {
        uint8_t byte = text.at[i], next = text.at[i + 1];
        if ((byte == 0xC4 && (next == 0xB0 || next == 0xB1)) || (byte == 0xC5 && next == 0xBF) || (byte == 0xE2 && next == 0x84)) return 1;
    }
    return 0;
}

static int ends_picture(Slice text, int64_t at) {
    for (size_t i = 0; i < COUNT(endings); i++) {
        int64_t end = at + (int64_t)strlen(endings[i]);
        if (is_at(text, at, endings[i]) && (end == text.size || text.at[end] == '?')) return 1;
    }
    return 0;
}

/* Of each place of a name, whether it ends like a picture there or further on, with no slash before that. */
static void find_ends(Slice name, uint8_t *ends) {
    ends[name.size] = 0;
    for (int64_t at = name.size; at-- > 0;) ends[at] = ends_picture(name, at) || (name.at[at] != '/' && ends[at + 1]);
}

static int parts_words(uint8_t byte) { return byte == '_' || byte == '.' || byte == '-'; }

/* Whether a word for nothing begins here, and the name goes on like that of a picture: at once, or behind a sign that parts words. */
static int is_nothing_at(Slice name, int64_t at, const uint8_t *ends) {
    for (size_t i = 0; i < COUNT(placeholders); i++) {
        int64_t end = at + (int64_t)strlen(placeholders[i]);
        if (end < name.size && parts_words(name.at[end]) && is_at(name, at, placeholders[i]) && (ends_picture(name, end) || ends[end + 1])) return 1;
    }
    return 0;
}

static int is_placeholder(Slice source) {
    uint8_t ends[LONGEST_NAME + 1];
    const uint8_t *query = memchr(source.at, '?', (size_t)source.size);
    int64_t start = (query ? query - source.at : source.size) - 1;
    while (start > 0 && source.at[start] != '/') start--;
    if (start < 0) start = 0;
    Slice name = {source.at + start, source.size - start};
    if (name.size > LONGEST_NAME || folds_oddly(name)) return -1;
    find_ends(name, ends);
    if (!start && is_nothing_at(name, 0, ends)) return 1;
    for (int64_t at = 0; at < name.size; at++)
        if ((name.at[at] == '/' || parts_words(name.at[at])) && is_nothing_at(name, at + 1, ends)) return 1;
    return 0;
}

/* `1.5` as `float` reads it; 0 for what is no number. */
static double number_in(const uint8_t *at, const uint8_t *end) {
    int64_t digits = 0, scale = 1;
    int has_dot = 0, has_digit = 0;
    for (; at < end; at++) {
        if (*at == '.') {
            if (has_dot++) return 0;
            continue;
        }
        has_digit = 1, digits = digits * 10 + (*at - '0');
        if (has_dot) scale *= 10;
    }
    return has_digit ? (double)digits / (double)scale : 0; /* both are exact, so their quotient is the nearest there is */
}

static int is_space_at(const uint8_t *at, const uint8_t *end, int *size) { return is_space(code_at(at, end, size)); }

static const uint8_t *past_space(const uint8_t *at, const uint8_t *end) {
    for (int size; at < end && is_space_at(at, end, &size);) at += size;
    return at;
}

/* The size that a candidate says behind its address, 0 where it says none; -1 where a character may be a digit beyond ASCII. */
static double size_at(const uint8_t *at, const uint8_t *end) {
    const uint8_t *digits = past_space(at, end), *stop = digits;
    if (digits == at) return 0;
    while (stop < end && ((*stop >= '0' && *stop <= '9') || *stop == '.')) stop++;
    if (stop < end && *stop >= 0x80) return -1;
    if (stop == digits || stop - digits > LONGEST_SIZE || stop == end || !memchr("wxh", *stop, 3)) return 0;
    return number_in(digits, stop);
}

/* The largest candidate of a `srcset`; of equals the first. */
static int find_best(Slice raw, Slice *best) {
    const uint8_t *at = raw.at, *end = at + raw.size;
    double most = -1;
    if (raw.size > LONGEST_SET) return -1;
    *best = nothing;
    while (at < end) {
        at = past_space(at, end);
        while (at < end && *at == ',') at++;
        at = past_space(at, end);
        const uint8_t *begin = at, *last = at;
        for (int size; at < end && !is_space_at(at, end, &size);) {
            at += size;
            if (at[-1] != ',') last = at;
        }
        if (last == begin) return at == begin ? 0 : -1; /* commas with space between them: where an address begins takes a pattern */
        double value = size_at(last, end);
        if (value < 0) return -1;
        Slice address = usable((Slice){begin, last - begin});
        if (value > most && address.size) *best = address, most = value;
        at = memchr(last, ',', (size_t)(end - last));
        if (!at) break;
        at++;
    }
    return 0;
}

static int find_in_sets(Nodes *nodes, const Node *element, Slice *best) {
    *best = nothing;
    for (size_t i = 0; i < COUNT(sets) && !best->size; i++) {
        Slice raw = attribute_of(nodes, element, sets[i]);
        if (raw.size && find_best(raw, best)) return -1;
    }
    return 0;
}

static int find_in_picture(Nodes *nodes, Node *image, Slice *best) {
    Node *picture = closest(image, PICTURE);
    *best = nothing;
    if (!picture) return 0;
    for (const Node *at = picture; (at = next_node(picture, at));) {
        /* What a rule may take away or move says nothing for sure. */
        if (at->tag != TAG_source && at->tag != TAG_img && !is_text(at)) return -1;
        if (at->tag == TAG_source && !best->size && find_in_sets(nodes, at, best)) return -1;
    }
    return 0;
}

int find_source(Nodes *nodes, Node *image, Slice *source) {
    Slice own = usable_attribute(nodes, image, "src");
    for (size_t i = 0; i < COUNT(lazy); i++)
        if ((*source = usable_attribute(nodes, image, lazy[i])).size) return 0;
    int is_held = own.size ? is_placeholder(own) : 0;
    if (is_held < 0) return -1;
    *source = own;
    if (own.size && !is_held) return 0;
    for (size_t i = 0; i < COUNT(rarely_lazy); i++)
        if ((*source = usable_attribute(nodes, image, rarely_lazy[i])).size) return 0;
    if (find_in_sets(nodes, image, source)) return -1;
    if (!source->size && find_in_picture(nodes, image, source)) return -1;
    if (!source->size) *source = own;
    return 0;
}

/* `name : value` somewhere in a style, in small letters or large. */
static int says(Slice style, const char *name, const char *value) {
    for (int64_t found; (found = find_folded(style, name)) >= 0;) {
        int64_t at = found + (int64_t)strlen(name);
        while (at < style.size && is_blank_byte(style.at[at])) at++;
        if (at < style.size && style.at[at] == ':') {
            for (at++; at < style.size && is_blank_byte(style.at[at]);) at++;
            if (is_at(style, at, value)) return 1;
        }
        style.at += at, style.size -= at;
    }
    return 0;
}

int is_pixel(Nodes *nodes, const Node *element) {
    if (is_one_of(attribute_of(nodes, element, "width"), no_size, COUNT(no_size))) return 1;
    if (is_one_of(attribute_of(nodes, element, "height"), no_size, COUNT(no_size))) return 1;
    Slice style = attribute_of(nodes, element, "style");
    for (int64_t i = 0; i < style.size; i++)
        if (style.at[i] >= 0x80) return -1;
    return says(style, "display", "none") || says(style, "visibility", "hidden");
}

int shows_formula(Nodes *nodes, const Node *image) {
    Slice classes = attribute_of(nodes, image, "class");
    if (!classes.size || !(has_token(classes, "latex") || has_token(classes, "tex") || has_token(classes, "math"))) return 0;
    return stripped(attribute_of(nodes, image, "alt")).size > 0;
}

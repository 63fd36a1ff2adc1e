/* What a page's own words say of its parts: labels and the words of the title. `wording.py` says what each number means, tells the
 * vocabulary, and computes the same where this was not compiled.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { BEGINS, ENDS, WORDS, LINKED, ELEMENT = 13 };
enum { PARENT, LEVEL, FIRST, LAST };
enum { LABEL_SLOTS = 2048, LABEL_BYTES = 24, MOST_SINCE = 32, LEVELS = 8, LABEL_WORDS = 8, HEADING_WORDS = 14, SURE_WORDS = 6 };
enum { TITLE_BYTES = 4, TITLE_WORDS = 64, TITLE_SLOTS = 256, TITLE_COLUMNS = 7 };
enum { SIGN = 1, BEGINS_WORD = 256 }; /* so far apart that eight of each go into one number */
#define FAR 999.0f

typedef struct { uint8_t size, group; char name[LABEL_BYTES]; } Label;
typedef struct { const uint8_t *at; int64_t size; } Token;

static Label labels[LABEL_SLOTS];
static uint32_t sizes_from[1024]; /* by the first two letters: how long the labels are that begin so, as bits */
static int64_t since[MOST_SINCE], since_count, group_count;

static uint8_t lower(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 32 : byte; }
static uint8_t upper(uint8_t byte) { return byte >= 'a' && byte <= 'z' ? byte & 95 : byte; }
static int is_letter(uint8_t byte) { return (uint8_t)((byte | 32) - 'a') < 26 || byte >= 128; }
static int is_sign(uint8_t byte) { return is_letter(byte) || (uint8_t)(byte - '0') < 10; }

static uint32_t hash_of(const uint8_t *at, int64_t size) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ lower(at[i])) * 16777619u;
    return hash ^ (hash >> 15);
}

static int is_same(const uint8_t *at, const uint8_t *other, int64_t size) {
    for (int64_t i = 0; i < size; i++) if (lower(at[i]) != lower(other[i])) return 0;
    return 1;
}

static int pair_of(const uint8_t *at, int64_t size) { return (at[0] & 31) << 5 | (size > 1 ? at[1] & 31 : 0); }

static Label *label_slot(const uint8_t *name, int64_t size) {
    uint32_t slot = hash_of(name, size) % LABEL_SLOTS;
    while (labels[slot].size && (labels[slot].size != size || !is_same(name, (const uint8_t *)labels[slot].name, size)))
        slot = (slot + 1) % LABEL_SLOTS;
    return &labels[slot];
}

EXPORT int64_t learn_label(const uint8_t *name, int64_t size, int64_t group) {
    if (size >= LABEL_BYTES) return -1;
    Label *label = label_slot(name, size);
    label->size = (uint8_t)size, label->group = (uint8_t)group;
    memcpy(label->name, name, (size_t)size);
    sizes_from[pair_of(name, size)] |= (uint32_t)1 << size;
    return 0;
}

/* The groups, as bits, whose last label counts, and how many groups there are. */
EXPORT void learn_since(const int64_t *bits, int64_t count, int64_t groups) {
    since_count = count < MOST_SINCE ? count : MOST_SINCE, group_count = groups;
    memcpy(since, bits, (size_t)since_count * sizeof *since);
}

static int64_t label_of(const uint8_t *at, const uint8_t *end) {
    int64_t bits = 0;
    while (at < end) {
        if (!is_letter(*at)) { at++; continue; }
        const uint8_t *begin = at;
        while (at < end && is_letter(*at)) at++;
        if (at - begin >= LABEL_BYTES || !(sizes_from[pair_of(begin, at - begin)] >> (at - begin) & 1)) continue;
        const Label *label = label_slot(begin, at - begin);
        if (label->size) bits |= (int64_t)1 << label->group;
    }
    return bits;
}

static void describe_under(int64_t n, const int64_t *heading, const int64_t *label, float *out) {
    int64_t level[LEVELS], bits[LEVELS], depth = 0, own = 0, above = 0;
    for (int64_t b = 0; b < n; b++) {
        if (heading[b]) {
            while (depth && level[depth - 1] >= heading[b]) depth--;
            above = 0;
            for (int64_t i = 0; i < depth; i++) above |= bits[i];
            level[depth] = heading[b], bits[depth++] = own = label[b]; /* levels rise from 1 to 6: there is room */
        }
        if (!(own | above)) {
            for (int64_t g = 0; g < group_count; g++) out[g * n + b] = 0.0f;
            continue;
        }
        for (int64_t g = 0; g < group_count; g++) out[g * n + b] = own >> g & 1 ? 2.0f : (float)(above >> g & 1);
    }
}

static void describe_since(int64_t n, const int64_t *words, const int64_t *linked, const int64_t *heading, const int64_t *label, float *out) {
    for (int64_t s = 0; s < since_count; s++, out += n) {
        int64_t last = -1;
        for (int64_t b = 0; b < n; b++) {
            if (label[b] & since[s] && words[b] <= SURE_WORDS && ((double)linked[b] < 0.5 * (double)words[b] || heading[b])) last = b;
            out[b] = last >= 0 ? (float)(b - last) : FAR;
        }
    }
}

/* The words of the title that are long enough, each once, and by its hash where it stands among them; what each byte may be,
 * and which two letters they begin with. */
typedef struct { Token word[TITLE_WORDS]; int64_t count; int8_t slots[TITLE_SLOTS]; uint16_t may_be[256]; uint8_t begins[1024]; } Title;

static int64_t place_of(const Title *title, const uint8_t *at, int64_t size, uint32_t *slot) {
    *slot = hash_of(at, size) % TITLE_SLOTS;
    for (; title->slots[*slot] >= 0; *slot = (*slot + 1) % TITLE_SLOTS) {
        const Token *known = &title->word[title->slots[*slot]];
        if (known->size == size && is_same(known->at, at, size)) return title->slots[*slot];
    }
    return -1;
}

static void read_title(Title *title, const uint8_t *at, const uint8_t *end) {
    title->count = 0;
    memset(title->slots, 255, sizeof title->slots), memset(title->begins, 0, sizeof title->begins);
    for (int byte = 0; byte < 256; byte++) title->may_be[byte] = is_sign((uint8_t)byte) ? SIGN : 0;
    while (at < end && title->count < TITLE_WORDS) {
        if (!is_sign(*at)) { at++; continue; }
        const uint8_t *begin = at;
        uint32_t slot;
        while (at < end && is_sign(*at)) at++;
        if (at - begin < TITLE_BYTES || place_of(title, begin, at - begin, &slot) >= 0) continue;
        title->may_be[lower(*begin)] |= BEGINS_WORD, title->may_be[upper(*begin)] |= BEGINS_WORD;
        title->begins[pair_of(begin, at - begin)] = 1;
        title->slots[slot] = (int8_t)title->count;
        title->word[title->count++] = (Token){begin, at - begin};
    }
}

/* Where in the next bytes a word begins that may be one of the title's, as bits. `was_sign`: whether the byte before them was one. */
static uint64_t beginnings(const Title *title, const uint8_t *at, int64_t size, uint64_t *was_sign) {
    uint64_t signs = 0, begins = 0;
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) {
        unsigned found = 0;
        for (int in = 0; in < 8; in++) found |= (unsigned)title->may_be[at[i + in]] << in;
        signs |= (uint64_t)(found & 255) << i, begins |= (uint64_t)(found >> 8) << i;
    }
    for (; i < size; i++) {
        unsigned found = title->may_be[at[i]];
        signs |= (uint64_t)(found & 255) << i, begins |= (uint64_t)(found >> 8) << i;
    }
    begins &= ~(signs << 1 | *was_sign);
    *was_sign = signs >> 63;
    return begins;
}

static int64_t said_of(const Title *title, const uint8_t *at, const uint8_t *end, int64_t *distinct) {
    uint64_t seen = 0, was_sign = 0;
    int64_t said = 0;
    for (; at < end; at += 64) {
        uint64_t begins = beginnings(title, at, end - at < 64 ? end - at : 64, &was_sign);
        for (; begins; begins &= begins - 1) {
            const uint8_t *begin = at + __builtin_ctzll(begins), *stop = begin;
            if (!title->begins[pair_of(begin, end - begin)]) continue;
            while (stop < end && title->may_be[*stop]) stop++;
            uint32_t slot;
            int64_t place = stop - begin < TITLE_BYTES ? -1 : place_of(title, begin, stop - begin, &slot);
            if (place >= 0) said++, seen |= (uint64_t)1 << place;
        }
    }
    for (*distinct = 0; seen; seen &= seen - 1) ++*distinct;
    return said;
}

static double against(const int64_t *hits, const int64_t *run, int64_t first, int64_t last, double page) {
    double words = (double)(run[last] - run[first]);
    return (double)(hits[last] - hits[first]) / (words > 1.0 ? words : 1.0) / page;
}

static void describe_title_words(int64_t n, int64_t rows, const int64_t *blocks, const int64_t *elements, const uint8_t *text,
                                 const int64_t *heading, int64_t at, int64_t *hits, float *out) {
    Title title = {.count = 0};
    const int64_t *begins = blocks + BEGINS * n, *ends = blocks + ENDS * n, *words = blocks + WORDS * n;
    if (at >= 0) read_title(&title, text + begins[at], text + ends[at]);
    if (!title.count) {
        for (int64_t i = 0; i < TITLE_COLUMNS * n; i++) out[i] = -1.0f;
        return;
    }
    int64_t *run = hits + n + 1;
    hits[0] = run[0] = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t distinct, said = said_of(&title, text + begins[b], text + ends[b], &distinct);
        hits[b + 1] = hits[b] + said, run[b + 1] = run[b] + words[b];
        out[b] = (float)said, out[n + b] = (float)((double)distinct / (double)title.count);
    }
    double page = (double)hits[n] / (double)run[n] + 1e-6;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && !heading[end]; end++) {}
        float value = (float)against(hits, run, begin, end, page);
        for (int64_t b = begin; b < end; b++) out[2 * n + b] = value;
    }
    const int64_t *parent = elements + PARENT * rows, *first = elements + FIRST * rows, *last = elements + LAST * rows;
    for (int64_t b = 0; b < n; b++) {
        int64_t row = blocks[ELEMENT * n + b];
        for (int step = 1, column = 3; step <= 4; step++) {
            row = row >= 0 ? parent[row] : -1;
            if (step != 3) out[column++ * n + b] = row >= 0 ? (float)against(hits, run, first[row], last[row], page) : 1.0f;
        }
        out[6 * n + b] = (float)page;
    }
}

/* Fills `out`, a row a feature; how many, or -1. `title` is the block that is the page's title, -1 without one. */
int64_t describe_wording(int64_t n, int64_t rows, const int64_t *blocks, const int64_t *elements, const uint8_t *text, const int64_t *heading,
                         int64_t title, float *out) {
    int64_t *label = malloc((size_t)(3 * n + 2) * sizeof(int64_t));
    if (!label) return -1;
    const int64_t *begins = blocks + BEGINS * n, *ends = blocks + ENDS * n, *words = blocks + WORDS * n, *linked = blocks + LINKED * n;
    for (int64_t b = 0; b < n; b++)
        label[b] = words[b] <= LABEL_WORDS || (heading[b] && words[b] <= HEADING_WORDS) ? label_of(text + begins[b], text + ends[b]) : 0;
    describe_under(n, heading, label, out);
    describe_since(n, words, linked, heading, label, out + group_count * n);
    describe_title_words(n, rows, blocks, elements, text, heading, title, label + n, out + (group_count + since_count) * n);
    free(label);
    return group_count + since_count + TITLE_COLUMNS;
}

/* The two loops of choosing content that are worth compiling: cutting a serialised page into blocks, and asking the trees.
 *
 * `blocks.segment` and `scorer.Trees.scores` say in numpy what is done here, step by step, and do it themselves where this file
 * was not compiled; a test holds both to the same bytes. Everything is counted in integers, and sums of floats are added in
 * one order, so the two never differ. Called through ctypes: no Python headers are needed to build it, and no Python version
 * is built into it. What words and tags mean is told by Python (`learn_tag`, `learn_word`); nothing of it is written here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define VERSION 10

enum { TAG_SLOTS = 1024, WORD_SLOTS = 4096, NAME_BYTES = 24, NAMES_BYTES = 400, DEPTH = 4096, LEAST_COMPOUND = 6, KNOWN_BYTES = 16, KNOWN_SLOTS = 1024 };
enum { TILE = 32 };
enum { KIND_SPACE = 0, KIND_OTHER = 1, KINDS = 8, INLINE = 1, VOID = 2 };

typedef struct { uint8_t size; char name[NAME_BYTES]; uint8_t number; uint8_t flags; } Tag;
typedef struct { uint8_t size; char name[NAME_BYTES]; int64_t marks; } Word;

static Tag tags[TAG_SLOTS];
static Word words[WORD_SLOTS];
static uint8_t longest_from[1024]; /* by the first two letters: the longest word that may stand within another */
static uint32_t crc_table[256];
static uint64_t counted[256]; /* what a byte counts as: one in the eighth of the word that its kind has, and the lowest for unspaced script */
static uint8_t is_ink[256];
static int64_t least_within, taught; /* how often anything was learned: what was remembered of names before is forgotten */
static int link_number, image_number, break_number;
static uint8_t is_bold[256];

static uint32_t hash_of(const uint8_t *at, int64_t size) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 16777619u;
    return hash ^ (hash >> 15);
}

static Tag *tag_slot(const uint8_t *name, int64_t size) {
    uint32_t slot = hash_of(name, size) % TAG_SLOTS;
    while (tags[slot].size && (tags[slot].size != size || memcmp(tags[slot].name, name, (size_t)size))) slot = (slot + 1) % TAG_SLOTS;
    return &tags[slot];
}

static Word *word_slot(const uint8_t *name, int64_t size) {
    uint32_t slot = hash_of(name, size) % WORD_SLOTS;
    while (words[slot].size && (words[slot].size != size || memcmp(words[slot].name, name, (size_t)size))) slot = (slot + 1) % WORD_SLOTS;
    return &words[slot];
}

/* Whether a tag breaks no line. */
int is_inline_tag(const uint8_t *name, int64_t size) { return size < NAME_BYTES && tag_slot(name, size)->flags & INLINE; }

static int pair_of(const uint8_t *at) { return (at[0] & 31) << 5 | (at[1] & 31); }

EXPORT int64_t version(void) { return VERSION; }

/* `kinds` says of every byte what it counts as; `bold` names the tags whose text is bold; no shorter word than `least` counts within
 * another. */
EXPORT void begin(const uint8_t *kinds, const uint8_t *bold, int64_t link, int64_t image, int64_t line_break, int64_t least) {
    memset(tags, 0, sizeof tags);
    memset(words, 0, sizeof words);
    memset(longest_from, 0, sizeof longest_from);
    memcpy(is_bold, bold, 256);
    for (int byte = 0; byte < 256; byte++) {
        is_ink[byte] = kinds[byte] != KIND_SPACE;
        counted[byte] = is_ink[byte] ? (uint64_t)1 << 8 * kinds[byte] : 0;
        if (kinds[byte] == KIND_OTHER && byte >= 0xE3 && byte <= 0xE9) counted[byte]++;
    }
    least_within = least, taught++;
    link_number = (int)link, image_number = (int)image, break_number = (int)line_break;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
        crc_table[i] = crc;
    }
}

EXPORT int64_t learn_tag(const uint8_t *name, int64_t size, int64_t number, int64_t flags) {
    if (size >= NAME_BYTES) return -1;
    Tag *tag = tag_slot(name, size);
    tag->size = (uint8_t)size, tag->number = (uint8_t)number, tag->flags = (uint8_t)flags;
    memcpy(tag->name, name, (size_t)size);
    return 0;
}

/* `within` is 1 for words that count within longer ones too. */
EXPORT int64_t learn_word(const uint8_t *name, int64_t size, int64_t marks, int64_t within) {
    if (size >= NAME_BYTES) return -1;
    Word *word = word_slot(name, size);
    word->size = (uint8_t)size, word->marks = marks, taught++;
    memcpy(word->name, name, (size_t)size);
    if (within && longest_from[pair_of(name)] < size) longest_from[pair_of(name)] = (uint8_t)size;
    return 0;
}

/* Marks of one word: its own, or those of the words in it, the longest at each place first. */
static int64_t marks_of_word(const uint8_t *word, int64_t size) {
    if (size < NAME_BYTES) {
        const Word *known = word_slot(word, size);
        if (known->size && known->marks) return known->marks;
    }
    int64_t marks = 0;
    if (size < LEAST_COMPOUND) return 0;
    for (int64_t at = 0; at + least_within <= size;) {
        int64_t part = longest_from[pair_of(word + at)];
        if (part > size - at) part = size - at;
        for (; part >= least_within; part--) {
            const Word *known = word_slot(word + at, part);
            if (known->size) { marks |= known->marks; break; }
        }
        at += part >= least_within ? part : 1;
    }
    return marks;
}

static int is_lower(uint8_t byte) { return byte >= 'a' && byte <= 'z'; }
static int is_upper(uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }

/* Names are made of the same words again and again, on a page and on the next one: what was found of a word is kept where its hash
 * points, until another comes there. */
typedef struct { uint64_t word[2]; int64_t marks, taught; } Known;

/* `word` stands where KNOWN_BYTES can be read; which of them are not its own does not matter. */
static int64_t marks_known(Known *known, const uint8_t *word, int64_t size) {
    static const uint64_t whole[] = {UINT64_MAX, UINT64_MAX, 0, 0};
    uint64_t parts[2] = {0, 0}, own[2];
    if (size <= KNOWN_BYTES) {
        memcpy(parts, word, sizeof parts), memcpy(own, (const uint8_t *)whole + KNOWN_BYTES - size, sizeof own);
        parts[0] = (parts[0] | 0x2020202020202020ull) & own[0], parts[1] = (parts[1] | 0x2020202020202020ull) & own[1];
    }
    Known *slot = &known[((parts[0] ^ parts[1] * 31) * 0x9E3779B97F4A7C15ull >> 32) % KNOWN_SLOTS];
    if (slot->word[0] != parts[0] || slot->word[1] != parts[1] || slot->taught != taught || !parts[0]) {
        uint8_t plain[NAMES_BYTES];
        for (int64_t i = 0; i < size; i++) plain[i] = word[i] | 0x20;
        *slot = (Known){{parts[0], parts[1]}, marks_of_word(plain, size), taught};
    }
    return slot->marks;
}

/* Words are runs of lower-case letters with at most one capital before them, or runs of capitals. */
static int64_t marks_of_names(Known *known, const uint8_t *names, int64_t size) {
    int64_t marks = 0;
    for (int64_t at = 0; at < size;) {
        int64_t end = at;
        if (is_upper(names[at]) && at + 1 < size && is_lower(names[at + 1])) end++;
        if (end > at || is_lower(names[at])) {
            while (end < size && is_lower(names[end])) end++;
        } else if (is_upper(names[at])) {
            while (end < size && is_upper(names[end])) end++;
        } else {
            at++;
            continue;
        }
        marks |= marks_known(known, names + at, end - at);
        at = end;
    }
    return marks;
}

static int starts_with(const uint8_t *at, const uint8_t *end, const char *what) {
    size_t size = strlen(what);
    return (size_t)(end - at) >= size && !memcmp(at, what, size);
}

/* The length of an attribute's ` name="` where it is one that names its element, else 0. */
static int64_t naming(const uint8_t *at, const uint8_t *end) {
    static const char *const wanted[] = {" class=\"", " id=\"", " role=\"", " itemprop=\"", " data-testid=\"", " data-component=\"",
                                         " data-qa=\""};
    switch (at + 1 < end ? at[1] : 0) {
    case 'c': return starts_with(at, end, wanted[0]) ? 8 : 0;
    case 'r': return starts_with(at, end, wanted[2]) ? 7 : 0;
    case 'i': return starts_with(at, end, wanted[1]) ? 5 : starts_with(at, end, wanted[3]) ? 11 : 0;
    case 'd': return starts_with(at, end, wanted[4]) ? 14 : starts_with(at, end, wanted[5]) ? 17 : starts_with(at, end, wanted[6]) ? 10 : 0;
    default: return 0;
    }
}

/* What an element is called, all its names with a space between them. */
static int64_t names_of(const uint8_t *at, const uint8_t *end, uint8_t *names) {
    int64_t size = 0, found = 0;
    while (at < end && (at = memchr(at, ' ', (size_t)(end - at)))) {
        int64_t skip = naming(at, end);
        const uint8_t *value = at + skip, *close = skip ? memchr(value, '"', (size_t)(end - value)) : 0;
        if (!close) { at++; continue; }
        if (found++ && size < NAMES_BYTES) names[size++] = ' ';
        int64_t held = close - value < NAMES_BYTES - size ? close - value : NAMES_BYTES - size;
        memcpy(names + size, value, (size_t)held);
        size += held;
        at = close + 1;
    }
    return size;
}

static int64_t signature_of(const uint8_t *tag, int64_t size, const uint8_t *names, int64_t names_size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (int64_t i = 0; i < size; i++) crc = crc_table[(crc ^ tag[i]) & 255] ^ (crc >> 8);
    crc = crc_table[(crc ^ '|') & 255] ^ (crc >> 8);
    for (int64_t i = 0; i < names_size; i++)
        if (names[i] < '0' || names[i] > '9') crc = crc_table[(crc ^ names[i]) & 255] ^ (crc >> 8);
    return (int64_t)(crc ^ 0xFFFFFFFFu);
}

/* Rows of the two tables that `walk` fills, one column a block and one column an element. */
enum { BEGINS, ENDS, WORDS, LINKED, BOLD, KINDS_AT, ELEMENT = KINDS_AT + KINDS, LINKS, IMAGES, BREAKS, BLOCK_ROWS };
enum { PARENT, LEVEL, FIRST, LAST, NUMBER, MARKS, SIGNATURE, ORDER, ELEMENT_ROWS };

typedef struct { int64_t begins; int32_t words, linked, bold, unspaced, unspaced_linked, unspaced_bold, kinds[KINDS], links, images, breaks; } Span;

typedef struct {
    int64_t *blocks, *elements, *sizes;
    int64_t room, block_count, element_count, opened, depth, text_size;
    int64_t stack[DEPTH];
    Span span;
    int64_t span_element;
    Known known[KNOWN_SLOTS];
} State;

/* The span of text up to here is over; with a word in it, it is a block. */
static void end_span(State *state) {
    const Span *span = &state->span;
    int64_t count = span->words + span->unspaced / 2;
    if (count > 0) {
        int64_t *column = state->blocks + state->block_count++;
        int64_t room = state->room;
        column[BEGINS * room] = span->begins;
        column[ENDS * room] = state->text_size;
        column[WORDS * room] = count;
        column[LINKED * room] = span->linked + span->unspaced_linked / 2;
        column[BOLD * room] = span->bold + span->unspaced_bold / 2;
        for (int kind = 0; kind < KINDS; kind++) column[(KINDS_AT + kind) * room] = span->kinds[kind];
        column[ELEMENT * room] = state->span_element;
        column[LINKS * room] = span->links;
        column[IMAGES * room] = span->images;
        column[BREAKS * room] = span->breaks;
    }
}

/* An element that breaks the flow begins or ends. Not 0 where elements are not nested. */
static int break_flow(State *state, const Tag *tag, int step, const uint8_t *name, int64_t size, const uint8_t *end) {
    int64_t room = state->room;
    if (step > 0) {
        uint8_t names[NAMES_BYTES + KNOWN_BYTES];
        int64_t names_size = tag && tag->flags & INLINE ? 0 : names_of(name + size, end, names);
        int64_t at = state->element_count++;
        int64_t *column = state->elements + at;
        if (state->depth >= DEPTH) return -1;
        column[PARENT * room] = state->depth ? state->stack[state->depth - 1] : -1;
        state->stack[state->depth++] = at;
        column[LEVEL * room] = state->depth;
        column[FIRST * room] = column[LAST * room] = state->block_count;
        column[NUMBER * room] = tag ? tag->number : 0;
        column[MARKS * room] = marks_of_names(state->known, names, names_size);
        column[SIGNATURE * room] = signature_of(name, size, names, names_size);
        column[ORDER * room] = state->opened - 1;
    } else if (step < 0) {
        if (!state->depth) return -1;
        state->elements[state->stack[--state->depth] + LAST * room] = state->block_count;
    }
    state->span_element = state->depth ? state->stack[state->depth - 1] : 0;
    return 0;
}

/* Copies text and counts what is in it. `was_ink`: whether the byte before it, in the same span, was. All kinds are counted at once, in
 * the bytes of one word, which has room for as many as a byte counts. */
static void take_text(State *state, const uint8_t *at, const uint8_t *end, uint8_t *out, int linked, int bold, int *was_ink) {
    Span *span = &state->span;
    int64_t size = end - at;
    int32_t begun = 0, unspaced = 0;
    memcpy(out + state->text_size, at, (size_t)size);
    state->text_size += size;
    int ink = *was_ink;
    while (at < end) {
        const uint8_t *until = end - at > 255 ? at + 255 : end;
        uint64_t counts = 0;
        for (; at < until; at++) {
            int is = is_ink[*at];
            begun += is & ~ink, ink = is;
            counts += counted[*at];
        }
        unspaced += counts & 255;
        for (int kind = KIND_OTHER; kind < KINDS; kind++) span->kinds[kind] += counts >> 8 * kind & 255;
    }
    *was_ink = ink;
    span->words += begun, span->unspaced += unspaced;
    if (linked) span->linked += begun, span->unspaced_linked += unspaced;
    if (bold) span->bold += begun, span->unspaced_bold += unspaced;
}

/* Blocks and elements of a page. `sizes` gets: blocks, elements, opened tags, bytes of text. -1 where tags are not nested. */
EXPORT int64_t walk(const uint8_t *html, int64_t length, int64_t room, uint8_t *text, int64_t *blocks, int64_t *elements, int64_t *sizes) {
    static __thread State *kept; /* large for a stack, and found at once where it is */
    if (!kept) kept = calloc(1, sizeof *kept);
    State *state = kept;
    if (!state) return -1;
    state->span = (Span){.begins = 0};
    state->blocks = blocks, state->elements = elements, state->room = room;
    state->block_count = state->element_count = state->opened = state->depth = state->text_size = state->span_element = 0;
    const uint8_t *end = html + length, *at = memchr(html, '<', (size_t)length);
    int64_t links_open = 0, bold_open = 0, count = 0;
    int was_ink = 0;
    while (at) {
        const uint8_t *name = at + 1, *plain, *name_end, *close;
        int ends = name < end && *name == '/';
        for (name_end = plain = name + ends; name_end < end && *name_end != ' ' && *name_end != '>'; name_end++) {}
        close = name_end < end ? memchr(name_end, '>', (size_t)(end - name_end)) : 0;
        if (!close) break;
        int64_t size = name_end - plain;
        const Tag *tag = size < NAME_BYTES ? tag_slot(plain, size) : 0;
        if (tag && !tag->size) tag = 0;
        int step = ends ? -1 : tag && tag->flags & VOID ? 0 : 1;
        int number = tag ? tag->number : 0;
        state->opened += !ends;
        if (number == link_number) links_open += step;
        if (is_bold[number]) bold_open += step;
        if (!count++ || !(tag && tag->flags & INLINE)) {
            end_span(state);
            state->span = (Span){.begins = state->text_size};
            was_ink = 0;
            if (break_flow(state, tag, step, plain, size, close)) return -1;
        }
        state->span.links += number == link_number && step == 1;
        state->span.images += number == image_number;
        state->span.breaks += number == break_number;
        const uint8_t *begin_text = close + 1, *stop;
        at = begin_text < end ? memchr(begin_text, '<', (size_t)(end - begin_text)) : 0;
        stop = at ? at : end;
        if (stop > begin_text) take_text(state, begin_text, stop, text, links_open > 0, bold_open > 0, &was_ink);
    }
    end_span(state);
    sizes[0] = state->block_count, sizes[1] = state->element_count, sizes[2] = state->opened, sizes[3] = state->text_size;
    return state->depth ? -1 : 0;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* Trees as Python tells them. A scale is the bounds that are asked of a feature, in order, as many as a signed byte can count; a
 * question is a scale and a place on it. */
typedef struct {
    int64_t scales, trees, levels;
    const int64_t *feature, *begins; /* of each scale, and where its bounds begin */
    const float *bounds;
    const int64_t *scale;
    const int8_t *place;
    const float *value;
} Trees;

static int64_t whole_tiles(int64_t blocks) { return (blocks + TILE - 1) / TILE * TILE; }

/* How many bounds of a scale each block is above. Counted as wide as a float is, so that as many are compared at once. */
ALWAYS_INLINE void rank(const float *column, int64_t blocks, const float *bound, int64_t bounds, int8_t *ranks) {
    for (int64_t begin = 0; begin < blocks; begin += TILE, column += TILE, ranks += TILE) {
        float last[TILE];
        int32_t above[TILE] = {0};
        const float *value = blocks - begin < TILE ? last : column;
        if (value == last) for (int64_t b = 0; b < TILE; b++) last[b] = begin + b < blocks ? column[b] : 0.0f;
        for (int64_t i = 0; i < bounds; i++)
            for (int b = 0; b < TILE; b++) above[b] += value[b] > bound[i];
        for (int b = 0; b < TILE; b++) ranks[b] = (int8_t)above[b];
    }
}

/* Adds to each block's leaf what it answers to three questions; `bit` is the first one's. */
ALWAYS_INLINE void ask_three(const int8_t *ranks, int64_t room, const int64_t *scale, const int8_t *place, int bit, int8_t *restrict leaf) {
    const int8_t *one = ranks + scale[0] * room, *two = ranks + scale[1] * room, *three = ranks + scale[2] * room;
    const int8_t first = place[0], second = place[1], third = place[2];
    for (int64_t b = 0; b < room; b++) leaf[b] |= (one[b] > first ? bit : 0) | (two[b] > second ? 2 * bit : 0) | (three[b] > third ? 4 * bit : 0);
}

/* Bytes that `ask` needs to work in. */
EXPORT int64_t ask_room(const Trees *trees, int64_t blocks) { return (trees->scales + 1) * whole_tiles(blocks); }

/* Adds to `sums` what the trees say of each block, one tree after the other. `columns` has a row a feature; trees ask one question a
 * level, seven levels at most. Floats are compared with each bound once, and small numbers, many at a time, with each question. */
EXPORT FOR_EACH_PROCESSOR void ask(const float *columns, int64_t blocks, const Trees *trees, double *sums, int8_t *ranks) {
    int64_t room = whole_tiles(blocks), levels = trees->levels;
    for (int64_t s = 0; s < trees->scales; s++) {
        const float *bounds = trees->bounds + trees->begins[s];
        rank(columns + trees->feature[s] * blocks, blocks, bounds, trees->begins[s + 1] - trees->begins[s], ranks + s * room);
    }
    int8_t *leaf = ranks + trees->scales * room;
    for (int64_t tree = 0; tree < trees->trees; tree++) {
        const int64_t *scale = trees->scale + tree * levels;
        const int8_t *place = trees->place + tree * levels;
        int64_t level = 0;
        memset(leaf, 0, (size_t)room);
        for (; level + 3 <= levels; level += 3) ask_three(ranks, room, scale + level, place + level, 1 << level, leaf);
        for (; level < levels; level++)
            for (int64_t b = 0; b < room; b++) leaf[b] |= ranks[scale[level] * room + b] > place[level] ? 1 << level : 0;
        const float *leaves = trees->value + (tree << levels);
        for (int64_t b = 0; b < blocks; b++) sums[b] += (double)leaves[leaf[b]];
    }
}

/* Features from a page's own words: the labels that stand over a block ("Related", "Comments") and the words of the page's title. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { HEADING_LEVELS = 8, LABEL_WORDS = 8, HEADING_WORDS = 14, SURE_LABEL_WORDS = 6 };
enum { TITLE_WORD_LETTERS = 4, TITLE_WORDS = 64, TITLE_SLOTS = 256, TITLE_FEATURES = 7 };
static const float FAR = 999.0f;

int64_t wording_feature_count(const Vocabulary *v) { return v->settings.label_groups + v->settings.counted_label_count + TITLE_FEATURES; }

/* ---- labels ---- */

/* Appends a character in lower case to a word; a word that is too long is never looked up. */
static void append_folded(uint8_t *word, int64_t *size, const uint8_t *at, const Character *next) {
    uint32_t code = fold_case(next->code);
    if (*size + next->size > NAME_BYTES) {
        *size = NAME_BYTES + 1;
        return;
    }
    if (next->size == 2 && code != next->code) word[*size] = (uint8_t)(0xC0 | code >> 6), word[*size + 1] = (uint8_t)(0x80 | (code & 63));
    else if (next->size == 1) word[*size] = (uint8_t)code;
    else memcpy(word + *size, at, (size_t)next->size);
    *size += next->size;
}

/* The longest label that a text of a script without spaces begins with; NULL for none. */
static const LabelWord *label_at(const Vocabulary *v, const uint8_t *at, const uint8_t *end) {
    int64_t longest = end - at < NAME_BYTES ? end - at : NAME_BYTES;
    for (int64_t size = longest; size > 0; size--) {
        const LabelWord *label = find_label(v, at, size);
        if (label) return label;
    }
    return NULL;
}

/* The groups of all label words in a text, as bits. */
static int64_t labels_in(const Vocabulary *v, const uint8_t *at, const uint8_t *end) {
    int64_t groups = 0;
    while (at < end) {
        Character next = character_at(at, end);
        const LabelWord *label = NULL;
        if (next.is_joined) {
            label = label_at(v, at, end);
            at += label ? label->size : next.size;
        } else if (next.is_letter) {
            uint8_t word[NAME_BYTES];
            int64_t size = 0;
            for (; at < end; at += next.size) {
                next = character_at(at, end);
                if (!next.is_letter || next.is_joined) break;
                append_folded(word, &size, at, &next);
            }
            label = find_label(v, word, size);
        } else at += next.size;
        if (label) groups |= (int64_t)1 << label->group;
    }
    return groups;
}

/* 2 for labels in the nearest heading above a block, 1 for those in the headings above that one. */
static void add_labels_above(const Page *page, const int64_t *labels, float *out) {
    int64_t n = page->block_count, groups = page->vocabulary->settings.label_groups;
    int64_t level[HEADING_LEVELS], bits[HEADING_LEVELS], depth = 0, own = 0, above = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t heading = page->blocks[b].heading;
        if (heading) {
            while (depth && level[depth - 1] >= heading) depth--;
            above = 0;
            for (int64_t i = 0; i < depth; i++) above |= bits[i];
            level[depth] = heading, bits[depth++] = own = labels[b]; /* levels on the stack ascend from 1 to 6, so there is room */
        }
        for (int64_t g = 0; g < groups; g++) out[g * n + b] = own >> g & 1 ? 2.0f : (float)(above >> g & 1);
    }
}

/* How many blocks ago a short label of each counted group was. */
static void add_label_distances(const Page *page, const int64_t *labels, float *out) {
    int64_t n = page->block_count;
    for (int64_t i = 0; i < page->vocabulary->settings.counted_label_count; i++, out += n) {
        int64_t last = -1, group = page->vocabulary->counted_labels[i];
        for (int64_t b = 0; b < n; b++) {
            const Block *block = &page->blocks[b];
            int is_text = (double)block->linked < 0.5 * (double)block->words || block->heading;
            if (labels[b] & group && block->words <= SURE_LABEL_WORDS && is_text) last = b;
            out[b] = last >= 0 ? (float)(b - last) : FAR;
        }
    }
}

/* ---- title ---- */

typedef struct { const uint8_t *at; int64_t size; } Word;

/* The words of the title that have at least TITLE_WORD_LETTERS, each once, with a hash table of their indexes. */
typedef struct {
    Word words[TITLE_WORDS];
    int64_t count;
    int8_t slots[TITLE_SLOTS];
    uint8_t begins[PAIRS]; /* by the first two letters: whether a word begins so */
} Title;

/* The index of a word among those of the title, or -1 and the free slot for it. */
static int64_t title_index(const Title *title, const uint8_t *at, int64_t size, uint32_t *slot) {
    *slot = hash_lower(at, size) % TITLE_SLOTS;
    for (; title->slots[*slot] >= 0; *slot = (*slot + 1) % TITLE_SLOTS) {
        const Word *word = &title->words[title->slots[*slot]];
        if (word->size == size && equal_lower(word->at, at, size)) return title->slots[*slot];
    }
    return -1;
}

static int is_ascii_word(uint8_t byte) { return (uint8_t)((byte | 32) - 'a') < 26 || (uint8_t)(byte - '0') < 10; }
static int is_word(const Character *next) { return next->is_letter || next->class == CLASS_DIGIT; }

/* Moves behind a run of letters and digits in a script with spaces; returns its size in LETTERs. */
static int64_t skip_word(const uint8_t **at, const uint8_t *end) {
    int64_t letters = 0;
    for (; *at < end; letters += LETTER) {
        if (**at < 128) {
            if (!is_ascii_word(**at)) break;
            ++*at;
            continue;
        }
        Character next = character_at(*at, end);
        if (!is_word(&next) || next.words) break;
        *at += next.size, letters += next.letters - LETTER;
    }
    return letters;
}

/* The next word of a text with at least TITLE_WORD_LETTERS; 0 at its end. Where no spaces separate words, each two characters are one. */
static int next_word(const uint8_t **at, const uint8_t *end, Word *word) {
    while (*at < end) {
        if (**at < 128 && !is_ascii_word(**at)) {
            ++*at;
            continue;
        }
        Character first = character_at(*at, end);
        int64_t letters = 0;
        word->at = *at;
        if (first.words) {
            *at += first.size;
            Character second = *at < end ? character_at(*at, end) : (Character){0};
            if (second.words) letters = first.letters + second.letters;
            word->size = first.size + second.size;
        } else if (is_word(&first)) {
            letters = skip_word(at, end);
            word->size = *at - word->at;
        } else *at += first.size;
        if (letters >= TITLE_WORD_LETTERS * LETTER) return 1;
    }
    return 0;
}

static void read_title(Title *title, const uint8_t *at, const uint8_t *end) {
    Word word;
    uint32_t slot;
    memset(title->slots, 255, sizeof title->slots);
    while (title->count < TITLE_WORDS && next_word(&at, end, &word)) {
        if (title_index(title, word.at, word.size, &slot) >= 0) continue;
        title->begins[pair_of(word.at, word.size)] = 1;
        title->slots[slot] = (int8_t)title->count;
        title->words[title->count++] = word;
    }
}

/* How many words of a text are in the title, and how many words of the title are in the text. */
static int64_t count_title_words(const Title *title, const uint8_t *at, const uint8_t *end, int64_t *distinct) {
    uint64_t seen = 0;
    int64_t count = 0;
    Word word;
    uint32_t slot;
    while (next_word(&at, end, &word)) {
        if (!title->begins[pair_of(word.at, word.size)]) continue;
        int64_t index = title_index(title, word.at, word.size, &slot);
        if (index >= 0) count++, seen |= (uint64_t)1 << index;
    }
    for (*distinct = 0; seen; seen &= seen - 1) ++*distinct;
    return count;
}

/* The share of title words in a range of blocks, relative to that of the page. */
static double relative_share(const int64_t *hits, const int64_t *run, int64_t first, int64_t last, double page_share) {
    double words = (double)(run[last] - run[first]);
    return (double)(hits[last] - hits[first]) / (words > 1.0 ? words : 1.0) / page_share;
}

/* `hits` and `run` have room for running sums: title words and all words. */
static void add_title_words(const Page *page, int64_t title_block, int64_t *hits, int64_t *run, float *out) {
    int64_t n = page->block_count;
    const Block *blocks = page->blocks;
    Title title = {.count = 0};
    if (title_block >= 0) read_title(&title, page->text + blocks[title_block].begin, page->text + blocks[title_block].end);
    if (!title.count) {
        for (int64_t i = 0; i < TITLE_FEATURES * n; i++) out[i] = -1.0f;
        return;
    }
    hits[0] = run[0] = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t distinct, count = count_title_words(&title, page->text + blocks[b].begin, page->text + blocks[b].end, &distinct);
        hits[b + 1] = hits[b] + count, run[b + 1] = run[b] + blocks[b].words;
        out[b] = (float)count, out[n + b] = (float)((double)distinct / (double)title.count);
    }
    double page_share = (double)hits[n] / (double)run[n] + 1e-6;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && !blocks[end].heading; end++) {}
        float value = (float)relative_share(hits, run, begin, end, page_share);
        for (int64_t b = begin; b < end; b++) out[2 * n + b] = value;
    }
    for (int64_t b = 0; b < n; b++) {
        int64_t row = blocks[b].element;
        for (int step = 1, column = 3; step <= 4; step++) {
            row = row >= 0 ? page->elements[row].parent : -1;
            if (step == 3) continue;
            const Element *element = row >= 0 ? &page->elements[row] : NULL;
            out[column++ * n + b] = element ? (float)relative_share(hits, run, element->first, element->last, page_share) : 1.0f;
        }
        out[6 * n + b] = (float)page_share;
    }
}

int64_t compute_wording_features(const Page *page, int64_t title, float *out) {
    int64_t n = page->block_count;
    int64_t *labels = malloc((size_t)(3 * n + 2) * sizeof(int64_t));
    if (!labels) return STATUS_NO_MEMORY;
    for (int64_t b = 0; b < n; b++) {
        const Block *block = &page->blocks[b];
        int is_label = block->words <= LABEL_WORDS || (block->heading && block->words <= HEADING_WORDS);
        labels[b] = is_label ? labels_in(page->vocabulary, page->text + block->begin, page->text + block->end) : 0;
    }
    add_labels_above(page, labels, out);
    out += page->vocabulary->settings.label_groups * n;
    add_label_distances(page, labels, out);
    out += page->vocabulary->settings.counted_label_count * n;
    add_title_words(page, title, labels + n, labels + 2 * n + 1, out);
    free(labels);
    return STATUS_OK;
}

/* The features of a page's blocks, one row a feature, in the order of FEATURE_NAMES in content/vocabulary.py.
 *
 * Sums are of whole numbers and every quotient is taken once, in doubles, and then rounded to a float: results do not depend on the
 * compiler or the processor. A "good" block has at least ten words and few of them in links.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ANCESTORS = 9, GOOD_WORDS = 10, LONG_WORDS = 30, TITLE_REACH = 30, CARD_COUNT = 3, HOLDER_BLOCKS = 5 };
static const double FAR = 999.0, GOOD_LINKED = 0.35, LONG_LINKED = 0.25, WHOLE_PAGE = 0.75, CARD_SHARE = 0.6;

typedef struct {
    const Vocabulary *vocabulary;
    const VocabularySettings *known;
    const uint8_t *text;
    Block *blocks;
    const Element *elements;
    int64_t count, rows; /* blocks, elements */
    double *words, *linked, *good;             /* per block; `good`: its words if it is a good one, else 0 */
    double *run_words, *run_linked, *run_good; /* running sums, one more than there are blocks */
    double *held_words, *held_linked, *held_good, *share, *good_share, *density; /* per element */
    int64_t *tag;          /* per block: tag number of its element */
    uint8_t *is_secondary; /* per block: whether its surroundings set it apart from the page's own text */
    double total, total_good;
    float *out;
    int64_t column, columns, title;
    int is_overfull;
} Features;

static float *next_column(Features *f) {
    if (f->column == f->columns) f->is_overfull = 1, f->column--;
    return f->out + f->count * f->column++;
}

static double at_least_one(double value) { return value > 1.0 ? value : 1.0; }
static int is_space(uint8_t byte) { return byte == 32 || (byte >= 9 && byte <= 13); }

static int64_t heading_level(const Features *f, int64_t tag) {
    return tag >= f->known->h1 && tag <= f->known->h6 ? tag - f->known->h1 + 1 : 0;
}

static void put_constant(Features *f, double value) {
    float *column = next_column(f);
    for (int64_t b = 0; b < f->count; b++) column[b] = (float)value;
}

static void run(const double *values, int64_t count, double *running) {
    running[0] = 0.0;
    for (int64_t i = 0; i < count; i++) running[i + 1] = running[i] + values[i];
}

/* The part of a running sum that falls into an element. */
static double within(const Features *f, const double *running, int64_t row) {
    return running[f->elements[row].last] - running[f->elements[row].first];
}

/* Gives keys consecutive numbers in order of first sight. */
typedef struct { int64_t *slots, *keys, count; uint64_t mask; } KeyIndex;

static int key_index_create(KeyIndex *index, int64_t most) {
    uint64_t size = 16;
    while (size < (uint64_t)most * 2) size *= 2;
    index->mask = size - 1, index->count = 0;
    index->slots = malloc(size * sizeof(int64_t));
    index->keys = malloc((size_t)(most + 1) * sizeof(int64_t));
    if (index->slots) memset(index->slots, 255, size * sizeof(int64_t));
    return index->slots && index->keys;
}

static void key_index_free(KeyIndex *index) { free(index->slots), free(index->keys); }

static int64_t number_of(KeyIndex *index, int64_t key) {
    uint64_t slot = ((uint64_t)key * 0x9E3779B97F4A7C15ull) >> 20 & index->mask;
    while (index->slots[slot] >= 0 && index->keys[index->slots[slot]] != key) slot = (slot + 1) & index->mask;
    if (index->slots[slot] < 0) index->slots[slot] = index->count, index->keys[index->count++] = key;
    return index->slots[slot];
}

/* ---- the block itself and its neighbours ---- */

static void add_tags(Features *f) {
    float *tag = next_column(f), *outer = next_column(f), *heading = next_column(f), *level = next_column(f);
    for (int64_t b = 0; b < f->count; b++) {
        const Element *element = &f->elements[f->blocks[b].element];
        int64_t around = element->parent >= 0 ? f->elements[element->parent].tag : 0, own = heading_level(f, element->tag);
        f->tag[b] = element->tag;
        f->blocks[b].heading = own ? own : heading_level(f, around);
        tag[b] = (float)element->tag, outer[b] = (float)around;
        heading[b] = (float)f->blocks[b].heading, level[b] = (float)element->level;
    }
}

static void add_counts(Features *f) {
    float *words = next_column(f), *linked = next_column(f), *length = next_column(f), *digits = next_column(f), *stops = next_column(f);
    float *commas = next_column(f), *bars = next_column(f), *signs = next_column(f), *currency = next_column(f), *links = next_column(f);
    float *images = next_column(f), *breaks = next_column(f), *bold = next_column(f);
    for (int64_t b = 0; b < f->count; b++) {
        const Block *block = &f->blocks[b];
        double count = f->words[b], chars = at_least_one((double)block->chars);
        words[b] = (float)count, linked[b] = (float)(f->linked[b] / count), length[b] = (float)(chars / count);
        digits[b] = (float)((double)block->digits / chars), stops[b] = (float)((double)block->stops / count);
        commas[b] = (float)((double)block->commas / count);
        bars[b] = (float)block->bars, signs[b] = (float)block->signs, currency[b] = (float)block->currency;
        links[b] = (float)block->links, images[b] = (float)block->images, breaks[b] = (float)block->breaks;
        bold[b] = (float)((double)block->bold / count);
    }
}

/* A stop, an exclamation or question mark, a colon, a digit, another sign; 0 for a letter. */
static int kind_of_end(const Character *last) {
    if (last->class == CLASS_STOP) {
        int is_stop = last->code == '.' || last->code == 0x3002 || last->code == 0xFF0E || last->code == 0xFF61 || last->code == 0x06D4 ||
                      last->code == 0x0964 || last->code == 0x0589;
        return is_stop ? 5 : 4;
    }
    if (last->code == ':' || last->code == 0xFF1A) return 3;
    if (last->class == CLASS_DIGIT) return 1;
    return last->code >= 128 && !last->is_letter ? 6 : 0;
}

/* Most blocks begin with a capital letter, so letters of scripts without case count as one. */
static int kind_of_begin(const Character *first) {
    if (first->is_letter) return fold_case(first->code) != first->code || first->code >= 0x0530 ? 1 : 2;
    return first->code >= 128 ? 4 : 0;
}

static void add_first_and_last_character(Features *f) {
    float *ends_with = next_column(f), *begins_with = next_column(f);
    for (int64_t b = 0; b < f->count; b++) {
        const uint8_t *at = f->text + f->blocks[b].begin, *end = f->text + f->blocks[b].end;
        while (at < end && is_space(*at)) at++;
        while (end > at && is_space(end[-1])) end--;
        ends_with[b] = begins_with[b] = 0.0f;
        if (at == end) continue;
        const uint8_t *back = end - 1;
        while (back > at && end - back < 4 && (*back & 0xC0) == 0x80) back--;
        Character first = character_at(at, end), last = character_at(back, end);
        ends_with[b] = (float)kind_of_end(&last), begins_with[b] = (float)kind_of_begin(&first);
    }
}

static void add_neighbours(Features *f) {
    static const int64_t steps[] = {-2, -1, 1, 2}, reaches[] = {3, 8, 20};
    int64_t n = f->count;
    for (int s = 0; s < 4; s++) {
        float *words = next_column(f), *linked = next_column(f), *tag = next_column(f);
        for (int64_t b = 0; b < n; b++) {
            int64_t other = b + steps[s];
            int exists = other >= 0 && other < n;
            words[b] = exists ? (float)f->words[other] : 0.0f;
            linked[b] = exists ? (float)(f->linked[other] / f->words[other]) : -1.0f;
            tag[b] = exists ? (float)f->tag[other] : -1.0f;
        }
    }
    for (int64_t step = -1; step <= 1; step += 2) {
        float *heading = next_column(f);
        for (int64_t b = 0; b < n; b++) heading[b] = b + step >= 0 && b + step < n ? (float)f->blocks[b + step].heading : -1.0f;
    }
    for (int r = 0; r < 3; r++) {
        float *good = next_column(f), *linked = next_column(f), *words = next_column(f);
        for (int64_t b = 0; b < n; b++) {
            int64_t low = b > reaches[r] ? b - reaches[r] : 0, high = b + reaches[r] + 1 < n ? b + reaches[r] + 1 : n;
            double held = f->run_words[high] - f->run_words[low];
            good[b] = (float)((f->run_good[high] - f->run_good[low]) / held);
            linked[b] = (float)((f->run_linked[high] - f->run_linked[low]) / held);
            words[b] = (float)(held / (double)(high - low));
        }
    }
    float *after = next_column(f), *before = next_column(f);
    for (int64_t b = 0; b < n; b++) {
        after[b] = (float)(f->run_good[b + 9 < n ? b + 9 : n] - f->run_good[b + 1]);
        before[b] = (float)(f->run_good[b] - f->run_good[b > 8 ? b - 8 : 0]);
    }
}

static int is_long(const Features *f, int64_t b) { return f->words[b] >= LONG_WORDS && f->linked[b] < LONG_LINKED * f->words[b]; }

static void add_place(Features *f) {
    int64_t n = f->count;
    for (int of_long = 0; of_long < 2; of_long++) {
        float *to_next = next_column(f), *to_previous = next_column(f);
        int64_t seen = -1;
        for (int64_t b = 0; b < n; b++) {
            to_previous[b] = (float)(seen >= 0 ? (double)(b - seen) : FAR);
            if (of_long ? is_long(f, b) : f->good[b] > 0) seen = b;
        }
        seen = -1;
        for (int64_t b = n - 1; b >= 0; b--) {
            to_next[b] = (float)(seen >= 0 ? (double)(seen - b) : FAR);
            if (of_long ? is_long(f, b) : f->good[b] > 0) seen = b;
        }
    }
    float *place = next_column(f), *words_place = next_column(f), *left = next_column(f), *before = next_column(f), *after = next_column(f);
    for (int64_t b = 0; b < n; b++) {
        double rest = f->total_good - f->run_good[b + 1];
        place[b] = (float)((double)b / (double)n), words_place[b] = (float)(f->run_words[b] / f->total);
        left[b] = (float)(rest / f->total_good), before[b] = (float)f->run_good[b], after[b] = (float)rest;
    }
}

/* A section is a heading and what follows it up to the next one. */
static void add_sections(Features *f) {
    int64_t n = f->count, sections = 1;
    for (int64_t b = 0; b < n; b++) sections += f->blocks[b].heading > 0;
    float *column[10];
    for (int i = 0; i < 10; i++) column[i] = next_column(f);
    for (int64_t begin = 0, number = n && f->blocks[0].heading > 0; begin < n; number++) {
        int64_t end = begin + 1;
        while (end < n && !f->blocks[end].heading) end++;
        double words = f->run_words[end] - f->run_words[begin], good = f->run_good[end] - f->run_good[begin];
        double linked = f->run_linked[end] - f->run_linked[begin];
        for (int64_t b = begin; b < end; b++) {
            column[0][b] = (float)words, column[1][b] = (float)good, column[2][b] = (float)(good / f->total_good);
            column[3][b] = (float)(linked / at_least_one(words)), column[4][b] = (float)(end - begin);
            column[5][b] = (float)f->blocks[begin].heading, column[6][b] = (float)number, column[7][b] = (float)(sections - number);
            column[8][b] = (float)(b - begin), column[9][b] = (float)(f->run_words[b] - f->run_words[begin]);
        }
        begin = end;
    }
}

/* ---- the elements around it ---- */

/* Marks of an element that holds most of the page say nothing about a part of it, so they do not count. */
static int add_marks(Features *f) {
    int64_t n = f->count, rows = f->rows;
    int64_t *own = malloc((size_t)(rows * 3 + n) * sizeof(int64_t));
    if (!own) return 0;
    int64_t *all = own + rows, *landmarks = all + rows, *near = landmarks + rows;
    for (int64_t e = 0; e < rows; e++) {
        const Element *element = &f->elements[e];
        double most = f->share[e] > f->good_share[e] ? f->share[e] : f->good_share[e];
        own[e] = most > WHOLE_PAGE ? 0 : element->marks;
        all[e] = own[e] | (element->parent >= 0 ? all[element->parent] : 0);
        landmarks[e] = f->vocabulary->landmark[element->tag] | (element->parent >= 0 ? landmarks[element->parent] : 0);
    }
    for (int64_t b = 0; b < n; b++) {
        Block *block = &f->blocks[b];
        int64_t parent = f->elements[block->element].parent;
        block->marks = all[block->element], block->landmarks = landmarks[block->element];
        f->is_secondary[b] = (block->marks & f->known->secondary_marks) || (block->landmarks & f->known->secondary_landmarks);
        near[b] = own[block->element] | (parent >= 0 ? own[parent] : 0);
    }
    for (int64_t bit = 0; bit < f->known->mark_groups; bit++) {
        float *column = next_column(f);
        for (int64_t b = 0; b < n; b++) column[b] = (float)(int32_t)((f->blocks[b].marks >> bit & 1) + (near[b] >> bit & 1));
    }
    for (int64_t bit = 0; bit < f->known->landmarks; bit++) {
        float *column = next_column(f);
        for (int64_t b = 0; b < n; b++) column[b] = (float)(int32_t)(f->blocks[b].landmarks >> bit & 1);
    }
    free(own);
    return 1;
}

static void put_ancestor(const Features *f, float **column, int64_t b, int64_t row) {
    int exists = row >= 0;
    column[0][b] = exists ? (float)f->share[row] : 1.0f;
    column[1][b] = exists ? (float)f->good_share[row] : 1.0f;
    column[2][b] = exists ? (float)f->density[row] : 0.0f;
    column[3][b] = exists ? (float)(f->elements[row].last - f->elements[row].first) : 0.0f;
    column[4][b] = exists ? (float)(f->held_good[row] / at_least_one(f->held_words[row])) : 0.0f;
}

/* `sum`: words, good words and linked words of all cards like this one. */
static void put_card(const Features *f, float **column, int64_t b, int64_t row, int64_t cards, const double *sum) {
    int exists = row >= 0;
    column[0][b] = (float)cards;
    column[1][b] = exists ? (float)f->elements[row].tag : 0.0f;
    column[2][b] = exists ? (float)f->held_words[row] : 0.0f;
    column[3][b] = exists ? (float)f->density[row] : 0.0f;
    column[4][b] = exists ? (float)(b - f->elements[row].first) : -1.0f;
    column[5][b] = exists ? (float)(sum[0] / f->total) : 0.0f;
    column[6][b] = exists ? (float)(sum[1] / f->total_good) : 0.0f;
    column[7][b] = exists ? (float)(sum[2] / at_least_one(sum[0])) : 0.0f;
    column[8][b] = exists ? (float)(sum[0] / at_least_one((double)cards)) : 0.0f;
}

static void put_holder(const Features *f, float **column, int64_t b, int64_t row, const double *run_stops) {
    int exists = row >= 0;
    double words = exists ? at_least_one(f->held_words[row]) : 1.0;
    column[0][b] = exists ? (float)f->elements[row].tag : 0.0f;
    column[1][b] = exists ? (float)f->good_share[row] : 1.0f;
    column[2][b] = exists ? (float)f->density[row] : 0.0f;
    column[3][b] = exists ? (float)(f->held_good[row] / words) : 0.0f;
    column[4][b] = exists ? (float)(f->elements[row].last - f->elements[row].first) : 0.0f;
    column[5][b] = exists ? (float)(within(f, run_stops, row) / words) : 0.0f;
}

/* Ancestors one, two, three and five steps up; the card: the ancestor with the most siblings of its signature; the holder: the nearest
 * ancestor with several blocks. */
static void put_ancestors(Features *f, const int64_t *group, const int64_t *size, const double *sums, const double *run_stops) {
    float *near[4][5], *card[9], *holder[6];
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 5; i++) near[a][i] = next_column(f);
    for (int i = 0; i < 9; i++) card[i] = next_column(f);
    for (int i = 0; i < 6; i++) holder[i] = next_column(f);
    for (int64_t b = 0; b < f->count; b++) {
        int64_t at = f->blocks[b].element, card_row = -1, cards = 0, holder_row = -1;
        for (int step = 0; step < MAX_ANCESTORS; step++) {
            int which = step == 5 ? 3 : step >= 1 && step <= 3 ? step - 1 : -1;
            if (which >= 0) put_ancestor(f, near[which], b, at);
            if (at < 0) continue;
            int64_t alike = size[group[at]];
            if (alike >= CARD_COUNT && alike > cards && f->share[at] < CARD_SHARE && f->good_share[at] < CARD_SHARE) card_row = at, cards = alike;
            if (holder_row < 0 && f->elements[at].last - f->elements[at].first >= HOLDER_BLOCKS) holder_row = at;
            at = f->elements[at].parent;
        }
        put_card(f, card, b, card_row, cards, card_row >= 0 ? sums + group[card_row] * 3 : sums);
        put_holder(f, holder, b, holder_row, run_stops);
    }
}

static int add_ancestors(Features *f) {
    int64_t n = f->count, rows = f->rows;
    KeyIndex groups;
    int64_t *group = malloc((size_t)rows * sizeof(int64_t)), *size = calloc((size_t)rows, sizeof(int64_t));
    double *sums = calloc((size_t)rows * 3 + 1, sizeof(double)), *run_stops = malloc((size_t)(n + 1) * sizeof(double));
    int ready = key_index_create(&groups, rows) && group && size && sums && run_stops;
    if (ready) {
        for (int64_t e = 0; e < rows; e++) {
            int64_t g = group[e] = number_of(&groups, ((f->elements[e].parent + 1) << 32) + f->elements[e].signature);
            size[g]++;
            sums[g * 3] += f->held_words[e], sums[g * 3 + 1] += f->held_good[e], sums[g * 3 + 2] += f->held_linked[e];
        }
        run_stops[0] = 0.0;
        for (int64_t b = 0; b < n; b++) run_stops[b + 1] = run_stops[b] + (double)f->blocks[b].stops;
        put_ancestors(f, group, size, sums, run_stops);
    }
    key_index_free(&groups), free(group), free(size), free(sums), free(run_stops);
    return ready;
}

/* ---- where the page's own text is ---- */

/* The deepest element that holds at least this share of something, as an estimate of the main content. */
static void add_root(Features *f, const double *running, const double *held, double share) {
    int64_t n = f->count, root = -1, from = 0, to = n;
    const Element *elements = f->elements;
    if (running[n] > 0)
        for (int64_t e = 0; e < f->rows; e++) {
            if (held[e] < share) continue;
            int is_better = root < 0 || elements[e].level > elements[root].level;
            if (is_better || (elements[e].level == elements[root].level && held[e] >= held[root])) root = e;
        }
    if (root >= 0) from = elements[root].first, to = elements[root].last;
    else root = 0;
    float *blocks = next_column(f), *words = next_column(f), *to_end = next_column(f);
    for (int64_t b = 0; b < n; b++) {
        blocks[b] = (float)(b < from ? from - b : b >= to ? to - b - 1 : 0);
        words[b] = (float)(b < from ? f->run_words[from] - f->run_words[b] : b >= to ? f->run_words[b] - f->run_words[to] : 0.0);
        to_end[b] = (float)(to - b);
    }
    put_constant(f, f->density[root]), put_constant(f, f->share[root]);
}

static int add_roots(Features *f) {
    static const double shares[] = {0.4, 0.6, 0.8}, own_shares[] = {0.5, 0.7};
    int64_t n = f->count;
    for (int i = 0; i < 3; i++) add_root(f, f->run_good, f->good_share, shares[i]);
    double *own = malloc((size_t)(n + 1 + f->rows) * sizeof(double));
    if (!own) return 0;
    double *held = own + n + 1;
    for (int of_words = 0; of_words < 2; of_words++) {
        const double *counted = of_words ? f->words : f->good;
        own[0] = 0.0;
        for (int64_t b = 0; b < n; b++) own[b + 1] = own[b] + (f->is_secondary[b] ? 0.0 : counted[b]);
        double all = at_least_one(own[n]);
        for (int64_t e = 0; e < f->rows; e++) held[e] = within(f, own, e) / all;
        for (int i = 0; i < 2; i++) add_root(f, own, held, own_shares[i]);
    }
    free(own);
    return 1;
}

/* The largest element with a tag, if it holds a quarter of the page and this share of all elements with the tag; -1 if not. */
static int64_t largest(const Features *f, int64_t tag, double least) {
    int64_t found = -1;
    double sum = 0.0;
    for (int64_t e = 0; e < f->rows; e++) {
        if (f->elements[e].tag != tag) continue;
        sum += f->held_words[e];
        if (found < 0 || f->held_words[e] > f->held_words[found]) found = e;
    }
    return found >= 0 && f->share[found] >= 0.25 && f->held_words[found] >= least * sum ? found : -1;
}

static void add_marked(Features *f) {
    int64_t row = largest(f, f->known->article, 0.6);
    if (row < 0) row = largest(f, f->known->main, 0.0);
    int64_t first = row >= 0 ? f->elements[row].first : 0, last = row >= 0 ? f->elements[row].last : f->count;
    float *marked = next_column(f);
    for (int64_t b = 0; b < f->count; b++) {
        int is_inside = b >= first && b < last;
        marked[b] = (float)(is_inside ? (f->is_secondary[b] ? 1 : 2) : f->is_secondary[b] ? -1 : 0);
    }
    put_constant(f, row >= 0 ? f->share[row] : -1.0);
    float *to_end = next_column(f), *from_start = next_column(f);
    for (int64_t b = 0; b < f->count; b++) to_end[b] = (float)(last - b), from_start[b] = (float)(b - first);
}

/* The title is the h1 with the most good words in the blocks after it. */
static void add_title(Features *f) {
    int64_t n = f->count, titles = 0, title = -1;
    double most = 0.0;
    for (int64_t b = 0; b < n; b++) {
        if (f->blocks[b].heading != 1) continue;
        double follows = f->run_good[b + TITLE_REACH < n ? b + TITLE_REACH : n] - f->run_good[b];
        titles++;
        if (title < 0 || follows > most) title = b, most = follows;
    }
    put_constant(f, (double)titles);
    f->title = title;
    if (title < 0) {
        for (int i = 0; i < 4; i++) put_constant(f, -FAR);
        return;
    }
    float *blocks = next_column(f), *words = next_column(f), *share = next_column(f), *steps = next_column(f);
    for (int64_t b = 0; b < n; b++) {
        blocks[b] = (float)(b - title), words[b] = (float)(f->run_words[b] - f->run_words[title]);
        share[b] = 1.0f, steps[b] = (float)MAX_ANCESTORS;
    }
    int64_t row = f->blocks[title].element, done_from = 0, done_to = 0;
    for (int step = 0; step < MAX_ANCESTORS && row >= 0; step++, row = f->elements[row].parent) {
        int64_t first = f->elements[row].first, last = f->elements[row].last;
        for (int64_t b = first; b < last; b++)
            if (b < done_from || b >= done_to) share[b] = (float)(f->held_good[row] / f->total_good), steps[b] = (float)step;
        done_from = first, done_to = last; /* the blocks of an element are a part of those of the element around it */
    }
}

/* ---- repetition ---- */

/* A hash of a block's words, without case and the amount of white space. */
static int64_t text_key(const uint8_t *at, const uint8_t *end) {
    uint64_t hash = 0xCBF29CE484222325ull;
    int is_pending = 0, has_begun = 0;
    for (; at < end; at++) {
        if (is_space(*at)) {
            is_pending = has_begun;
            continue;
        }
        if (is_pending) hash = (hash ^ 32) * 0x100000001B3ull, is_pending = 0;
        has_begun = 1;
        hash = (hash ^ lower(*at)) * 0x100000001B3ull;
        hash ^= hash >> 29;
    }
    return (int64_t)hash;
}

/* Equal for blocks with equal text: a hash of their counts. */
static int64_t counts_key(const Block *block) {
    const int64_t counts[] = {block->words, block->chars, block->digits, block->stops, block->commas, block->bars, block->signs, block->currency};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) key = (key + (uint64_t)counts[i]) * 0x9E3779B97F4A7C15ull;
    return (int64_t)(key ^ key >> 32);
}

/* Few blocks have the counts of another one, and only the text of those is read. */
static int add_copies(Features *f) {
    int64_t n = f->count;
    KeyIndex counts, texts;
    int64_t *group = calloc((size_t)n * 4, sizeof(int64_t));
    int ready = key_index_create(&counts, n) & key_index_create(&texts, n) && group;
    if (ready) {
        int64_t *alike = group + n, *text = alike + n, *seen = text + n;
        for (int64_t b = 0; b < n; b++) alike[group[b] = number_of(&counts, counts_key(&f->blocks[b]))]++;
        for (int64_t b = 0; b < n; b++) {
            f->blocks[b].copy = 1;
            if (alike[group[b]] == 1) continue;
            text[b] = number_of(&texts, text_key(f->text + f->blocks[b].begin, f->text + f->blocks[b].end));
            f->blocks[b].copy = ++seen[text[b]];
        }
        float *copy = next_column(f), *copies = next_column(f);
        for (int64_t b = 0; b < n; b++) {
            f->blocks[b].copies = alike[group[b]] == 1 ? 1 : seen[text[b]];
            copy[b] = (float)f->blocks[b].copy, copies[b] = (float)f->blocks[b].copies;
        }
    }
    key_index_free(&counts), key_index_free(&texts), free(group);
    return ready;
}

/* A hash of the signatures of each element and the seven around it. */
static void hash_paths(const Features *f, int64_t *path, int64_t *other, int64_t *up, int64_t *higher) {
    static const int64_t factors[] = {31, 961, 923521};
    for (int64_t e = 0; e < f->rows; e++) path[e] = f->elements[e].signature, up[e] = f->elements[e].parent;
    for (int i = 0; i < 3; i++) {
        for (int64_t e = 0; e < f->rows; e++) {
            other[e] = (path[e] + factors[i] * (up[e] >= 0 ? path[up[e]] : 0)) % 2147483647;
            higher[e] = up[e] >= 0 ? up[up[e]] : -1;
        }
        memcpy(path, other, (size_t)f->rows * sizeof(int64_t)), memcpy(up, higher, (size_t)f->rows * sizeof(int64_t));
    }
}

/* Blocks in elements with the same markup. */
static int add_markup(Features *f) {
    int64_t n = f->count, rows = f->rows;
    KeyIndex paths;
    int64_t *path = malloc((size_t)rows * 4 * sizeof(int64_t));
    int64_t *group = calloc((size_t)n * 4, sizeof(int64_t));
    double *sums = calloc((size_t)n * 3 + 1, sizeof(double));
    int ready = key_index_create(&paths, n) && path && group && sums;
    if (ready) {
        int64_t *size = group + n, *first = size + n, *last = first + n;
        hash_paths(f, path, path + rows, path + 2 * rows, path + 3 * rows);
        for (int64_t b = 0; b < n; b++) {
            int64_t g = group[b] = number_of(&paths, path[f->blocks[b].element]);
            if (!size[g]++) first[g] = b;
            last[g] = b;
            sums[g * 3] += f->words[b], sums[g * 3 + 1] += f->good[b], sums[g * 3 + 2] += f->linked[b];
        }
        float *column[7];
        for (int i = 0; i < 7; i++) column[i] = next_column(f);
        for (int64_t b = 0; b < n; b++) {
            int64_t g = group[b];
            column[0][b] = (float)size[g], column[1][b] = (float)(sums[g * 3] / f->total);
            column[2][b] = (float)(sums[g * 3 + 1] / f->total_good), column[3][b] = (float)(sums[g * 3 + 2] / sums[g * 3]);
            column[4][b] = (float)(sums[g * 3] / (double)size[g]), column[5][b] = (float)((double)(last[g] - first[g]) / (double)n);
            column[6][b] = (float)(b - first[g]);
        }
    }
    key_index_free(&paths), free(path), free(group), free(sums);
    return ready;
}

/* ---- the page as a whole ---- */

static void add_page(Features *f) {
    int64_t n = f->count, headings = 0, paragraphs = 0, articles = 0, listings = 0, currency = 0, good_blocks = 0;
    double longest = 0.0;
    for (int64_t b = 0; b < n; b++) {
        headings += f->blocks[b].heading > 0, paragraphs += f->tag[b] == f->known->paragraph, currency += f->blocks[b].currency;
        good_blocks += f->good[b] > 0;
        if (f->good[b] > longest) longest = f->good[b];
    }
    for (int64_t e = 0; e < f->rows; e++)
        articles += f->elements[e].tag == f->known->article, listings += f->elements[e].tag == f->known->listing;
    put_constant(f, f->total), put_constant(f, f->total_good / f->total), put_constant(f, f->run_linked[n] / f->total);
    put_constant(f, (double)n), put_constant(f, (double)headings), put_constant(f, (double)paragraphs / (double)n);
    put_constant(f, (double)articles), put_constant(f, (double)listings), put_constant(f, (double)currency);
    put_constant(f, (double)good_blocks), put_constant(f, f->total_good / at_least_one((double)good_blocks));
    put_constant(f, longest / f->total_good);
}

static void add_sums(Features *f) {
    int64_t n = f->count;
    for (int64_t b = 0; b < n; b++) {
        double words = (double)f->blocks[b].words, linked = (double)f->blocks[b].linked;
        f->words[b] = words, f->linked[b] = linked;
        f->good[b] = words >= GOOD_WORDS && linked < GOOD_LINKED * words ? words : 0.0;
    }
    run(f->words, n, f->run_words), run(f->linked, n, f->run_linked), run(f->good, n, f->run_good);
    f->total = f->run_words[n], f->total_good = at_least_one(f->run_good[n]);
    for (int64_t e = 0; e < f->rows; e++) {
        f->held_words[e] = within(f, f->run_words, e), f->held_linked[e] = within(f, f->run_linked, e);
        f->held_good[e] = within(f, f->run_good, e);
        f->share[e] = f->held_words[e] / f->total, f->good_share[e] = f->held_good[e] / f->total_good;
        f->density[e] = f->held_linked[e] / at_least_one(f->held_words[e]);
    }
}

/* 0 when memory is out. */
static int add_all(Features *f) {
    add_sums(f);
    add_tags(f), add_counts(f), add_first_and_last_character(f);
    add_neighbours(f), add_place(f), add_sections(f);
    if (!add_marks(f) || !add_ancestors(f) || !add_roots(f)) return 0;
    add_marked(f), add_title(f);
    if (!add_copies(f) || !add_markup(f)) return 0;
    add_page(f);
    return 1;
}

int64_t compute_features(Page *page) {
    int64_t n = page->block_count, rows = page->element_count, columns = page->vocabulary->settings.features;
    int64_t wording = wording_feature_count(page->vocabulary);
    if (columns <= wording) return STATUS_OTHER_FEATURES;
    Features f = {.vocabulary = page->vocabulary, .known = &page->vocabulary->settings, .text = page->text, .blocks = page->blocks,
                  .elements = page->elements, .count = n, .rows = rows, .columns = columns - wording};
    double *sums = malloc((size_t)(n * 6 + 3 + rows * 6) * sizeof(double));
    f.tag = malloc((size_t)n * sizeof *f.tag), f.is_secondary = malloc((size_t)n);
    f.out = page->features = malloc((size_t)(n * columns) * sizeof(float));
    int64_t status = STATUS_NO_MEMORY;
    if (sums && f.tag && f.is_secondary && f.out) {
        f.words = sums, f.linked = sums + n, f.good = sums + 2 * n;
        f.run_words = sums + 3 * n, f.run_linked = f.run_words + n + 1, f.run_good = f.run_linked + n + 1;
        f.held_words = f.run_good + n + 1, f.held_linked = f.held_words + rows, f.held_good = f.held_linked + rows;
        f.share = f.held_good + rows, f.good_share = f.share + rows, f.density = f.good_share + rows;
        if (add_all(&f)) status = compute_wording_features(page, f.title, f.out + f.columns * n);
        if (status == STATUS_OK && (f.is_overfull || f.column != f.columns)) status = STATUS_OTHER_FEATURES;
    }
    free(sums), free(f.tag), free(f.is_secondary);
    page->feature_count = columns;
    return status;
}

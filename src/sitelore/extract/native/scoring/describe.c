/* The features of a page's blocks. `block_features.py` says in numpy what each one means, and computes them where this was not
 * compiled; a test holds both to the same numbers. Sums are of whole numbers and every quotient is taken once, in doubles, and
 * then rounded to a float, so there is one right answer for each.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { BEGINS, ENDS, WORDS, LINKED, BOLD, KINDS_AT, DIGITS = KINDS_AT + 2, STOPS, COMMAS, BARS, SIGNS, CURRENCY, ELEMENT, LINKS, IMAGES, BREAKS };
enum { PARENT, LEVEL, FIRST, LAST, NUMBER, MARKS, SIGNATURE, ORDER };
enum { H1, H6, ARTICLE, MAIN, P, PRE, GROUPS, LANDMARKS, APART, ASIDE, LANDMARK_OF };
enum { MAX_ANCESTORS = 9, KINDS = 8 };
#define FAR 999.0

int64_t describe_wording(int64_t n, int64_t rows, const int64_t *blocks, const int64_t *elements, const uint8_t *text, const int64_t *heading,
                         int64_t title, float *out);

typedef struct {
    int64_t count, rows;
    const int64_t *block, *element, *told;
    const uint8_t *text;
    double *words, *linked, *good, *run_words, *run_linked, *run_good;      /* per block, running sums with one more */
    double *held_words, *held_linked, *held_good, *share, *good_share, *density; /* per element */
    int64_t *tag, *heading, *marks, *around, *copy, *copies, *apart;
    double total, total_good;
    float *out;
    int64_t column, title;
} Page;

static const int64_t *of_blocks(const Page *page, int row) { return page->block + row * page->count; }
static const int64_t *of_elements(const Page *page, int row) { return page->element + row * page->rows; }
static float *next(Page *page) { return page->out + page->count * page->column++; }
static double at_least_one(double value) { return value > 1.0 ? value : 1.0; }
static int is_space(uint8_t byte) { return byte == 32 || (byte >= 9 && byte <= 13); }

static int64_t heading_level(const Page *page, int64_t number) {
    return number >= page->told[H1] && number <= page->told[H6] ? number - page->told[H1] + 1 : 0;
}

static void constant(Page *page, double value) {
    float *column = next(page);
    for (int64_t b = 0; b < page->count; b++) column[b] = (float)value;
}

static void whole(Page *page, const int64_t *values) {
    float *column = next(page);
    for (int64_t b = 0; b < page->count; b++) column[b] = (float)values[b];
}

static void run(const double *values, int64_t count, double *running) {
    running[0] = 0.0;
    for (int64_t i = 0; i < count; i++) running[i + 1] = running[i] + values[i];
}

static double within(const double *running, const Page *page, int64_t row) {
    return running[of_elements(page, LAST)[row]] - running[of_elements(page, FIRST)[row]];
}

/* Numbers for keys, in order of first sight: who else is written the same. */
typedef struct { int64_t *slots, *key_of, count; uint64_t mask; } Numbering;

static int begin_numbering(Numbering *numbering, int64_t most) {
    uint64_t size = 16;
    while (size < (uint64_t)most * 2) size *= 2;
    numbering->mask = size - 1, numbering->count = 0;
    numbering->slots = malloc(size * sizeof(int64_t));
    numbering->key_of = malloc((size_t)(most + 1) * sizeof(int64_t));
    if (numbering->slots) memset(numbering->slots, 255, size * sizeof(int64_t));
    return numbering->slots && numbering->key_of;
}

static void end_numbering(Numbering *numbering) { free(numbering->slots), free(numbering->key_of); }

static int64_t number_of(Numbering *numbering, int64_t key) {
    uint64_t slot = ((uint64_t)key * 0x9E3779B97F4A7C15ull) >> 20 & numbering->mask;
    while (numbering->slots[slot] >= 0 && numbering->key_of[numbering->slots[slot]] != key) slot = (slot + 1) & numbering->mask;
    if (numbering->slots[slot] < 0) numbering->slots[slot] = numbering->count, numbering->key_of[numbering->count++] = key;
    return numbering->slots[slot];
}

static void describe_blocks(Page *page) {
    int64_t n = page->count;
    const int64_t *element = of_blocks(page, ELEMENT), *number = of_elements(page, NUMBER), *parent = of_elements(page, PARENT);
    float *tag = next(page), *outer = next(page), *heading = next(page), *level = next(page);
    for (int64_t b = 0; b < n; b++) {
        int64_t e = element[b], out = parent[e] >= 0 ? number[parent[e]] : 0;
        page->tag[b] = number[e];
        page->heading[b] = heading_level(page, number[e]);
        if (!page->heading[b]) page->heading[b] = heading_level(page, out);
        tag[b] = (float)number[e], outer[b] = (float)out, heading[b] = (float)page->heading[b];
        level[b] = (float)of_elements(page, LEVEL)[e];
    }
    float *words = next(page), *linked = next(page), *length = next(page), *digits = next(page), *stops = next(page), *commas = next(page);
    for (int64_t b = 0; b < n; b++) {
        int64_t chars = 0;
        for (int kind = 1; kind < KINDS; kind++) chars += of_blocks(page, KINDS_AT + kind)[b];
        double count = page->words[b], ink = chars > 1 ? (double)chars : 1.0;
        words[b] = (float)count;
        linked[b] = (float)(page->linked[b] / count);
        length[b] = (float)(ink / count);
        digits[b] = (float)((double)of_blocks(page, DIGITS)[b] / ink);
        stops[b] = (float)((double)of_blocks(page, STOPS)[b] / count);
        commas[b] = (float)((double)of_blocks(page, COMMAS)[b] / count);
    }
    whole(page, of_blocks(page, BARS)), whole(page, of_blocks(page, SIGNS)), whole(page, of_blocks(page, CURRENCY));
    whole(page, of_blocks(page, LINKS)), whole(page, of_blocks(page, IMAGES)), whole(page, of_blocks(page, BREAKS));
    float *bold = next(page), *ends_with = next(page), *begins_with = next(page);
    for (int64_t b = 0; b < n; b++) {
        const uint8_t *at = page->text + of_blocks(page, BEGINS)[b], *end = page->text + of_blocks(page, ENDS)[b];
        while (at < end && is_space(*at)) at++;
        while (end > at && is_space(end[-1])) end--;
        uint8_t first = at < end ? *at : 0, last = at < end ? end[-1] : 0;
        int is_digit = last >= '0' && last <= '9';
        bold[b] = (float)((double)of_blocks(page, BOLD)[b] / page->words[b]);
        ends_with[b] = (float)((last == '.' ? 5 : last == '!' || last == '?' ? 4 : last == ':' ? 3 : is_digit) + (last >= 128 ? 6 : 0));
        begins_with[b] = (float)(first >= 'A' && first <= 'Z' ? 1 : first >= 'a' && first <= 'z' ? 2 : first >= 128 ? 4 : 0);
    }
}

static void describe_neighbours(Page *page) {
    static const int64_t steps[] = {-2, -1, 1, 2}, reaches[] = {3, 8, 20};
    int64_t n = page->count;
    for (int s = 0; s < 4; s++) {
        float *words = next(page), *linked = next(page), *tag = next(page);
        for (int64_t b = 0; b < n; b++) {
            int64_t other = b + steps[s];
            int there = other >= 0 && other < n;
            words[b] = there ? (float)page->words[other] : 0.0f;
            linked[b] = there ? (float)(page->linked[other] / page->words[other]) : -1.0f;
            tag[b] = there ? (float)page->tag[other] : -1.0f;
        }
    }
    for (int64_t step = -1; step <= 1; step += 2) {
        float *heading = next(page);
        for (int64_t b = 0; b < n; b++) heading[b] = b + step >= 0 && b + step < n ? (float)page->heading[b + step] : -1.0f;
    }
    for (int r = 0; r < 3; r++) {
        float *good = next(page), *linked = next(page), *words = next(page);
        for (int64_t b = 0; b < n; b++) {
            int64_t low = b > reaches[r] ? b - reaches[r] : 0, high = b + reaches[r] + 1 < n ? b + reaches[r] + 1 : n;
            double held = page->run_words[high] - page->run_words[low];
            good[b] = (float)((page->run_good[high] - page->run_good[low]) / held);
            linked[b] = (float)((page->run_linked[high] - page->run_linked[low]) / held);
            words[b] = (float)(held / (double)(high - low));
        }
    }
    float *after = next(page), *before = next(page);
    for (int64_t b = 0; b < n; b++) {
        after[b] = (float)(page->run_good[b + 9 < n ? b + 9 : n] - page->run_good[b + 1]);
        before[b] = (float)(page->run_good[b] - page->run_good[b > 8 ? b - 8 : 0]);
    }
}

static void describe_place(Page *page) {
    int64_t n = page->count;
    for (int which = 0; which < 2; which++) {
        float *to_next = next(page), *to_previous = next(page);
        int64_t seen = -1;
        for (int64_t b = 0; b < n; b++) {
            to_previous[b] = (float)(seen >= 0 ? (double)(b - seen) : FAR);
            if (which ? page->words[b] >= 30 && page->linked[b] < 0.25 * page->words[b] : page->good[b] > 0) seen = b;
        }
        seen = -1;
        for (int64_t b = n - 1; b >= 0; b--) {
            to_next[b] = (float)(seen >= 0 ? (double)(seen - b) : FAR);
            if (which ? page->words[b] >= 30 && page->linked[b] < 0.25 * page->words[b] : page->good[b] > 0) seen = b;
        }
    }
    float *place = next(page), *words_place = next(page), *left = next(page), *before = next(page), *after = next(page);
    for (int64_t b = 0; b < n; b++) {
        double rest = page->total_good - page->run_good[b + 1];
        place[b] = (float)((double)b / (double)n);
        words_place[b] = (float)(page->run_words[b] / page->total);
        left[b] = (float)(rest / page->total_good);
        before[b] = (float)page->run_good[b];
        after[b] = (float)rest;
    }
}

static void describe_sections(Page *page) {
    int64_t n = page->count, sections = 1;
    for (int64_t b = 0; b < n; b++) sections += page->heading[b] > 0;
    float *column[10];
    for (int i = 0; i < 10; i++) column[i] = next(page);
    for (int64_t begin = 0, number = n && page->heading[0] > 0; begin < n; number++) {
        int64_t end = begin + 1;
        while (end < n && !page->heading[end]) end++;
        double words = page->run_words[end] - page->run_words[begin], good = page->run_good[end] - page->run_good[begin];
        double linked = page->run_linked[end] - page->run_linked[begin];
        for (int64_t b = begin; b < end; b++) {
            column[0][b] = (float)words, column[1][b] = (float)good, column[2][b] = (float)(good / page->total_good);
            column[3][b] = (float)(linked / at_least_one(words)), column[4][b] = (float)(end - begin);
            column[5][b] = (float)page->heading[begin], column[6][b] = (float)number, column[7][b] = (float)(sections - number);
            column[8][b] = (float)(b - begin), column[9][b] = (float)(page->run_words[b] - page->run_words[begin]);
        }
        begin = end;
    }
}

static int describe_marks(Page *page) {
    int64_t n = page->count, rows = page->rows;
    const int64_t *parent = of_elements(page, PARENT), *element = of_blocks(page, ELEMENT);
    int64_t *own = malloc((size_t)(rows * 3 + n) * sizeof(int64_t)), *all = own + rows, *around = all + rows, *near = around + rows;
    if (!own) return -1;
    for (int64_t e = 0; e < rows; e++) {
        double most = page->share[e] > page->good_share[e] ? page->share[e] : page->good_share[e];
        own[e] = most > 0.75 ? 0 : of_elements(page, MARKS)[e];
        all[e] = own[e] | (parent[e] >= 0 ? all[parent[e]] : 0);
        around[e] = page->told[LANDMARK_OF + of_elements(page, NUMBER)[e]] | (parent[e] >= 0 ? around[parent[e]] : 0);
    }
    for (int64_t b = 0; b < n; b++) {
        page->marks[b] = all[element[b]], page->around[b] = around[element[b]];
        page->apart[b] = (page->marks[b] & page->told[APART]) != 0 || (page->around[b] & page->told[ASIDE]) != 0;
    }
    for (int64_t b = 0; b < n; b++) {
        int64_t e = element[b];
        near[b] = own[e] | (parent[e] >= 0 ? own[parent[e]] : 0);
    }
    for (int64_t bit = 0; bit < page->told[GROUPS]; bit++) {
        float *column = next(page);
        for (int64_t b = 0; b < n; b++) column[b] = (float)(int32_t)((page->marks[b] >> bit & 1) + (near[b] >> bit & 1));
    }
    for (int64_t bit = 0; bit < page->told[LANDMARKS]; bit++) {
        float *column = next(page);
        for (int64_t b = 0; b < n; b++) column[b] = (float)(int32_t)(page->around[b] >> bit & 1);
    }
    free(own);
    return 0;
}

static void describe_ancestor(Page *page, float **column, int64_t b, int64_t row) {
    int there = row >= 0;
    column[0][b] = there ? (float)page->share[row] : 1.0f;
    column[1][b] = there ? (float)page->good_share[row] : 1.0f;
    column[2][b] = there ? (float)page->density[row] : 0.0f;
    column[3][b] = there ? (float)(of_elements(page, LAST)[row] - of_elements(page, FIRST)[row]) : 0.0f;
    column[4][b] = there ? (float)(page->held_good[row] / at_least_one(page->held_words[row])) : 0.0f;
}

static int describe_ancestors(Page *page) {
    int64_t n = page->count, rows = page->rows;
    const int64_t *parent = of_elements(page, PARENT), *first = of_elements(page, FIRST), *last = of_elements(page, LAST);
    Numbering groups;
    int64_t *group = malloc((size_t)rows * 2 * sizeof(int64_t)), *size = group + rows;
    double *sums = calloc((size_t)rows * 3 + 1, sizeof(double)), *stops = malloc((size_t)(n + 1) * sizeof(double));
    int ready = begin_numbering(&groups, rows) && group && sums && stops;
    if (ready) {
        memset(size, 0, (size_t)rows * sizeof(int64_t));
        for (int64_t e = 0; e < rows; e++) {
            group[e] = number_of(&groups, ((parent[e] + 1) << 32) + of_elements(page, SIGNATURE)[e]);
            size[group[e]]++;
            sums[group[e] * 3] += page->held_words[e], sums[group[e] * 3 + 1] += page->held_good[e], sums[group[e] * 3 + 2] += page->held_linked[e];
        }
        stops[0] = 0.0;
        for (int64_t b = 0; b < n; b++) stops[b + 1] = stops[b] + (double)of_blocks(page, STOPS)[b];
        float *near[4][5], *card[9], *holder[6];
        for (int a = 0; a < 4; a++) for (int i = 0; i < 5; i++) near[a][i] = next(page);
        for (int i = 0; i < 9; i++) card[i] = next(page);
        for (int i = 0; i < 6; i++) holder[i] = next(page);
        for (int64_t b = 0; b < n; b++) {
            int64_t at = of_blocks(page, ELEMENT)[b], its_card = -1, cards = 0, held_by = -1;
            for (int step = 0; step < MAX_ANCESTORS; step++) {
                int which = step == 5 ? 3 : step >= 1 && step <= 3 ? step - 1 : -1;
                if (which >= 0) describe_ancestor(page, near[which], b, at);
                if (at < 0) continue;
                int64_t alike = size[group[at]];
                if (alike >= 3 && alike > cards && page->share[at] < 0.6 && page->good_share[at] < 0.6) its_card = at, cards = alike;
                if (held_by < 0 && last[at] - first[at] >= 5) held_by = at;
                at = parent[at];
            }
            int there = its_card >= 0;
            const double *sum = there ? sums + group[its_card] * 3 : sums;
            card[0][b] = (float)cards;
            card[1][b] = there ? (float)of_elements(page, NUMBER)[its_card] : 0.0f;
            card[2][b] = there ? (float)page->held_words[its_card] : 0.0f;
            card[3][b] = there ? (float)page->density[its_card] : 0.0f;
            card[4][b] = there ? (float)(b - first[its_card]) : -1.0f;
            card[5][b] = there ? (float)(sum[0] / page->total) : 0.0f;
            card[6][b] = there ? (float)(sum[1] / page->total_good) : 0.0f;
            card[7][b] = there ? (float)(sum[2] / at_least_one(sum[0])) : 0.0f;
            card[8][b] = there ? (float)(sum[0] / at_least_one((double)cards)) : 0.0f;
            there = held_by >= 0;
            double words = there ? at_least_one(page->held_words[held_by]) : 1.0;
            holder[0][b] = there ? (float)of_elements(page, NUMBER)[held_by] : 0.0f;
            holder[1][b] = there ? (float)page->good_share[held_by] : 1.0f;
            holder[2][b] = there ? (float)page->density[held_by] : 0.0f;
            holder[3][b] = there ? (float)(page->held_good[held_by] / words) : 0.0f;
            holder[4][b] = there ? (float)(last[held_by] - first[held_by]) : 0.0f;
            holder[5][b] = there ? (float)(within(stops, page, held_by) / words) : 0.0f;
        }
    }
    end_numbering(&groups), free(group), free(sums), free(stops);
    return ready ? 0 : -1;
}

static void describe_root(Page *page, const double *running, const double *held, double share) {
    int64_t n = page->count, found = -1, from = 0, to = n;
    const int64_t *level = of_elements(page, LEVEL);
    if (running[n] > 0)
        for (int64_t e = 0; e < page->rows; e++)
            if (held[e] >= share && (found < 0 || level[e] > level[found] || (level[e] == level[found] && held[e] >= held[found]))) found = e;
    if (found >= 0) from = of_elements(page, FIRST)[found], to = of_elements(page, LAST)[found];
    else found = 0;
    float *blocks = next(page), *words = next(page), *to_end = next(page);
    for (int64_t b = 0; b < n; b++) {
        blocks[b] = (float)(b < from ? from - b : b >= to ? to - b - 1 : 0);
        words[b] = (float)(b < from ? page->run_words[from] - page->run_words[b] : b >= to ? page->run_words[b] - page->run_words[to] : 0.0);
        to_end[b] = (float)(to - b);
    }
    constant(page, page->density[found]), constant(page, page->share[found]);
}

static int describe_roots(Page *page) {
    static const double shares[] = {0.4, 0.6, 0.8}, own_shares[] = {0.5, 0.7};
    int64_t n = page->count;
    for (int i = 0; i < 3; i++) describe_root(page, page->run_good, page->good_share, shares[i]);
    double *own = malloc((size_t)(n + 1 + page->rows) * sizeof(double)), *held = own + n + 1;
    if (!own) return -1;
    for (int which = 0; which < 2; which++) {
        const double *counted = which ? page->words : page->good;
        own[0] = 0.0;
        for (int64_t b = 0; b < n; b++) own[b + 1] = own[b] + (page->apart[b] ? 0.0 : counted[b]);
        double all = at_least_one(own[n]);
        for (int64_t e = 0; e < page->rows; e++) held[e] = within(own, page, e) / all;
        for (int i = 0; i < 2; i++) describe_root(page, own, held, own_shares[i]);
    }
    free(own);
    return 0;
}

static int64_t largest(const Page *page, int64_t number, double least) {
    int64_t found = -1;
    double sum = 0.0;
    for (int64_t e = 0; e < page->rows; e++)
        if (of_elements(page, NUMBER)[e] == number) {
            sum += page->held_words[e];
            if (found < 0 || page->held_words[e] > page->held_words[found]) found = e;
        }
    return found >= 0 && page->share[found] >= 0.25 && page->held_words[found] >= least * sum ? found : -1;
}

static void describe_marked(Page *page) {
    int64_t row = largest(page, page->told[ARTICLE], 0.6);
    if (row < 0) row = largest(page, page->told[MAIN], 0.0);
    int64_t first = row >= 0 ? of_elements(page, FIRST)[row] : 0, last = row >= 0 ? of_elements(page, LAST)[row] : page->count;
    float *marked = next(page);
    for (int64_t b = 0; b < page->count; b++) {
        int inside = b >= first && b < last;
        marked[b] = (float)(inside ? (page->apart[b] ? 1 : 2) : page->apart[b] ? -1 : 0);
    }
    constant(page, row >= 0 ? page->share[row] : -1.0);
    float *to_end = next(page), *from_start = next(page);
    for (int64_t b = 0; b < page->count; b++) to_end[b] = (float)(last - b), from_start[b] = (float)(b - first);
}

static void describe_title(Page *page) {
    int64_t n = page->count, titles = 0, title = -1;
    double most = 0.0;
    for (int64_t b = 0; b < n; b++)
        if (page->heading[b] == 1) {
            double follows = page->run_good[b + 30 < n ? b + 30 : n] - page->run_good[b];
            titles++;
            if (title < 0 || follows > most) title = b, most = follows;
        }
    constant(page, (double)titles);
    page->title = title;
    if (title < 0) {
        for (int i = 0; i < 4; i++) constant(page, -FAR);
        return;
    }
    float *blocks = next(page), *words = next(page), *share = next(page), *steps = next(page);
    for (int64_t b = 0; b < n; b++) {
        blocks[b] = (float)(b - title), words[b] = (float)(page->run_words[b] - page->run_words[title]);
        share[b] = 1.0f, steps[b] = (float)MAX_ANCESTORS;
    }
    int64_t row = of_blocks(page, ELEMENT)[title], done_from = 0, done_to = 0;
    for (int step = 0; step < MAX_ANCESTORS && row >= 0; step++, row = of_elements(page, PARENT)[row]) {
        int64_t first = of_elements(page, FIRST)[row], last = of_elements(page, LAST)[row];
        for (int64_t b = first; b < last; b++)
            if (b < done_from || b >= done_to) share[b] = (float)(page->held_good[row] / page->total_good), steps[b] = (float)step;
        done_from = first, done_to = last; /* an element's blocks stand together, and within those of the one around it */
    }
}

/* A number for the words of a block, spaces and case aside. */
int64_t line_key(const uint8_t *at, const uint8_t *end) {
    uint64_t hash = 0xCBF29CE484222325ull;
    int pending = 0, begun = 0;
    for (; at < end; at++) {
        uint8_t byte = *at;
        if (is_space(byte)) { pending = begun; continue; }
        if (pending) hash = (hash ^ 32) * 0x100000001B3ull, pending = 0;
        begun = 1;
        hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte | 32 : byte)) * 0x100000001B3ull;
        hash ^= hash >> 29;
    }
    return (int64_t)hash;
}

/* What two blocks that say the same have in common, whatever their spaces and case: words, and signs of each kind. */
static int64_t shape_key(const Page *page, int64_t b) {
    uint64_t key = (uint64_t)of_blocks(page, WORDS)[b];
    for (int kind = 1; kind < KINDS; kind++) key = (key + (uint64_t)of_blocks(page, KINDS_AT + kind)[b]) * 0x9E3779B97F4A7C15ull;
    return (int64_t)(key ^ key >> 32);
}

/* Few blocks have a shape that another has as well: only their text is read. */
static int describe_copies(Page *page) {
    int64_t n = page->count;
    Numbering shapes, lines;
    int64_t *shape = calloc((size_t)n * 4, sizeof(int64_t)), *alike = shape + n, *line = alike + n, *seen = line + n;
    int ready = begin_numbering(&shapes, n) & begin_numbering(&lines, n) && shape;
    if (ready) {
        for (int64_t b = 0; b < n; b++) alike[shape[b] = number_of(&shapes, shape_key(page, b))]++;
        for (int64_t b = 0; b < n; b++) {
            page->copy[b] = 1;
            if (alike[shape[b]] == 1) continue;
            line[b] = number_of(&lines, line_key(page->text + of_blocks(page, BEGINS)[b], page->text + of_blocks(page, ENDS)[b]));
            page->copy[b] = ++seen[line[b]];
        }
        for (int64_t b = 0; b < n; b++) page->copies[b] = alike[shape[b]] == 1 ? 1 : seen[line[b]];
        whole(page, page->copy), whole(page, page->copies);
    }
    end_numbering(&shapes), end_numbering(&lines), free(shape);
    return ready ? 0 : -1;
}

static int describe_markup(Page *page) {
    static const int64_t factors[] = {31, 961, 923521};
    int64_t n = page->count, rows = page->rows;
    Numbering paths;
    int64_t *path = malloc((size_t)rows * 4 * sizeof(int64_t)), *other = path + rows, *up = other + rows, *higher = up + rows;
    int64_t *group = malloc((size_t)n * 4 * sizeof(int64_t)), *size = group + n, *first = size + n, *last = first + n;
    double *sums = calloc((size_t)n * 3 + 1, sizeof(double));
    int ready = begin_numbering(&paths, n) && path && group && sums;
    if (ready) {
        memcpy(path, of_elements(page, SIGNATURE), (size_t)rows * sizeof(int64_t));
        memcpy(up, of_elements(page, PARENT), (size_t)rows * sizeof(int64_t));
        for (int i = 0; i < 3; i++) {
            for (int64_t e = 0; e < rows; e++) {
                other[e] = (path[e] + factors[i] * (up[e] >= 0 ? path[up[e]] : 0)) % 2147483647;
                higher[e] = up[e] >= 0 ? up[up[e]] : -1;
            }
            memcpy(path, other, (size_t)rows * sizeof(int64_t)), memcpy(up, higher, (size_t)rows * sizeof(int64_t));
        }
        memset(size, 0, (size_t)n * sizeof(int64_t));
        for (int64_t b = 0; b < n; b++) {
            int64_t g = group[b] = number_of(&paths, path[of_blocks(page, ELEMENT)[b]]);
            if (!size[g]++) first[g] = b;
            last[g] = b;
            sums[g * 3] += page->words[b], sums[g * 3 + 1] += page->good[b], sums[g * 3 + 2] += page->linked[b];
        }
        float *column[7];
        for (int i = 0; i < 7; i++) column[i] = next(page);
        for (int64_t b = 0; b < n; b++) {
            int64_t g = group[b];
            column[0][b] = (float)size[g], column[1][b] = (float)(sums[g * 3] / page->total);
            column[2][b] = (float)(sums[g * 3 + 1] / page->total_good), column[3][b] = (float)(sums[g * 3 + 2] / sums[g * 3]);
            column[4][b] = (float)(sums[g * 3] / (double)size[g]), column[5][b] = (float)((double)(last[g] - first[g]) / (double)n);
            column[6][b] = (float)(b - first[g]);
        }
    }
    end_numbering(&paths), free(path), free(group), free(sums);
    return ready ? 0 : -1;
}

static void describe_page(Page *page) {
    int64_t n = page->count, headings = 0, paragraphs = 0, articles = 0, code = 0, currency = 0, good_blocks = 0;
    double longest = 0.0;
    for (int64_t b = 0; b < n; b++) {
        headings += page->heading[b] > 0, paragraphs += page->tag[b] == page->told[P], currency += of_blocks(page, CURRENCY)[b];
        good_blocks += page->good[b] > 0;
        if (page->good[b] > longest) longest = page->good[b];
    }
    for (int64_t e = 0; e < page->rows; e++) {
        articles += of_elements(page, NUMBER)[e] == page->told[ARTICLE], code += of_elements(page, NUMBER)[e] == page->told[PRE];
    }
    constant(page, page->total), constant(page, page->total_good / page->total), constant(page, page->run_linked[n] / page->total);
    constant(page, (double)n), constant(page, (double)headings), constant(page, (double)paragraphs / (double)n);
    constant(page, (double)articles), constant(page, (double)code), constant(page, (double)currency), constant(page, (double)good_blocks);
    constant(page, page->total_good / at_least_one((double)good_blocks)), constant(page, longest / page->total_good);
}

static void measure(Page *page) {
    int64_t n = page->count;
    for (int64_t b = 0; b < n; b++) {
        double words = (double)of_blocks(page, WORDS)[b], linked = (double)of_blocks(page, LINKED)[b];
        page->words[b] = words, page->linked[b] = linked;
        page->good[b] = words >= 10 && linked < 0.35 * words ? words : 0.0;
    }
    run(page->words, n, page->run_words), run(page->linked, n, page->run_linked), run(page->good, n, page->run_good);
    page->total = page->run_words[n], page->total_good = at_least_one(page->run_good[n]);
    for (int64_t e = 0; e < page->rows; e++) {
        page->held_words[e] = within(page->run_words, page, e), page->held_linked[e] = within(page->run_linked, page, e);
        page->held_good[e] = within(page->run_good, page, e);
        page->share[e] = page->held_words[e] / page->total, page->good_share[e] = page->held_good[e] / page->total_good;
        page->density[e] = page->held_linked[e] / at_least_one(page->held_words[e]);
    }
}

/* Fills `out`, a row a feature, and `facts`: heading, landmarks around, marks around, copies. The number of features, or -1. */
EXPORT int64_t describe(int64_t count, int64_t rows, const int64_t *blocks, const int64_t *elements, const uint8_t *text,
                        const int64_t *told, float *out, int64_t *facts) {
    Page page = {.count = count, .rows = rows, .block = blocks, .element = elements, .told = told, .text = text, .out = out};
    double *sums = malloc((size_t)(count * 6 + 3 + rows * 6) * sizeof(double));
    int64_t *whole_numbers = malloc((size_t)count * 3 * sizeof(int64_t));
    if (!sums || !whole_numbers) return free(sums), free(whole_numbers), -1;
    page.words = sums, page.linked = sums + count, page.good = sums + 2 * count;
    page.run_words = sums + 3 * count, page.run_linked = page.run_words + count + 1, page.run_good = page.run_linked + count + 1;
    page.held_words = page.run_good + count + 1, page.held_linked = page.held_words + rows, page.held_good = page.held_linked + rows;
    page.share = page.held_good + rows, page.good_share = page.share + rows, page.density = page.good_share + rows;
    page.heading = facts, page.around = facts + count, page.marks = facts + 2 * count, page.copies = facts + 3 * count;
    page.tag = whole_numbers, page.copy = whole_numbers + count, page.apart = whole_numbers + 2 * count;
    measure(&page);
    describe_blocks(&page);
    describe_neighbours(&page);
    describe_place(&page);
    describe_sections(&page);
    int failed = describe_marks(&page) || describe_ancestors(&page) || describe_roots(&page);
    if (!failed) {
        describe_marked(&page);
        describe_title(&page);
        failed = describe_copies(&page) || describe_markup(&page);
    }
    if (!failed) {
        describe_page(&page);
        int64_t more = describe_wording(count, rows, blocks, elements, text, page.heading, page.title, out + page.column * count);
        page.column += more, failed = more < 0;
    }
    free(sums), free(whole_numbers);
    return failed ? -1 : page.column;
}

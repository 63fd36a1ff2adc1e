/* From a page's HTML to the blocks that are kept: cuts it (`walk`), describes the blocks (`describe`), asks the trees (`ask`) and
 * decides. `scorer.py` and `trimming.py` say in numpy what is decided and why, and do it where this was not compiled; a test
 * holds both to the same choice. One page at a time and thread; its memory is kept for the next one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { BEGINS, ENDS, WORDS, LINKED, ELEMENT = 13, BLOCK_ROWS = 17 };
enum { PARENT, LEVEL, FIRST, LAST, NUMBER, MARKS, SIGNATURE, ORDER, ELEMENT_ROWS };
enum { HEADING, AROUND, ITS_MARKS, COPIES, FACTS };
enum { HOLE_BLOCKS = 5, HOLE_WORDS = 40, REPEATED_WORDS = 4, TITLE_BLOCKS = 8, DOCUMENTATION_CODE = 3, TAGS = 128 };
static const double HOLE_SCORE = 0.1, TITLE_SCORE = 0.3, KEPT_AROUND = 0.5;
static const size_t MOST_KEPT = 1u << 18;

int64_t walk(const uint8_t *html, int64_t length, int64_t room, uint8_t *text, int64_t *blocks, int64_t *elements, int64_t *sizes);
int64_t describe(int64_t count, int64_t rows, const int64_t *blocks, const int64_t *elements, const uint8_t *text, const int64_t *told,
                 float *out, int64_t *facts);
int64_t ask_room(const void *trees, int64_t blocks);
void ask(const float *columns, int64_t blocks, const void *trees, double *sums, int8_t *ranks);
int64_t ask_network(const float *columns, int64_t blocks, int64_t features, int64_t hidden, const float *even, const float *weight,
                    const int64_t *tagged, int64_t tags, const float *by_tag, const float *first, const float *last, double *sums);
int64_t line_key(const uint8_t *at, const uint8_t *end);

typedef struct { void *data; size_t size; } Room;

enum { HTML, TEXT, BLOCK_TABLE, ELEMENT_TABLE, MATRIX, FACT_TABLE, RANKS, SUMS, WHOLE, PLAN, ROOMS };

/* What a page was cut into. Rooms grow with the largest page; those past all measure are given back (`let_go`). */
static __thread struct {
    Room rooms[ROOMS];
    int64_t count, rows;
} page;

static void *room_for(int which, size_t size) {
    Room *room = &page.rooms[which];
    if (room->size < size) {
        free(room->data);
        room->size = size + size / 4;
        room->data = malloc(room->size);
        if (!room->data) room->size = 0;
    }
    return room->data;
}

/* A large page's memory is not kept while the rest is done with it. What `decide` told of is read before. */
EXPORT void let_go(void) {
    for (int which = 0; which < ROOMS; which++)
        if (page.rooms[which].size > MOST_KEPT) free(page.rooms[which].data), page.rooms[which] = (Room){0, 0};
}

static const int64_t *of_blocks(int row) { return (const int64_t *)page.rooms[BLOCK_TABLE].data + row * page.count; }
static const int64_t *of_elements(int row) { return (const int64_t *)page.rooms[ELEMENT_TABLE].data + row * page.rows; }
static const int64_t *fact(int row) { return (const int64_t *)page.rooms[FACT_TABLE].data + row * page.count; }

/* A copy in which `&nbsp;` is a space and `&amp;` is itself, so that words are counted as they read. */
static int64_t plain(const uint8_t *html, int64_t length, uint8_t *out) {
    const uint8_t *at = html, *end = html + length;
    uint8_t *to = out;
    while (at < end) {
        const uint8_t *mark = memchr(at, '&', (size_t)(end - at));
        size_t size = (size_t)((mark ? mark : end) - at);
        memcpy(to, at, size), to += size, at += size;
        if (!mark) break;
        if (end - at >= 6 && !memcmp(at, "&nbsp;", 6)) *to++ = ' ', at += 6;
        else if (end - at >= 5 && !memcmp(at, "&amp;", 5)) *to++ = '&', at += 5;
        else *to++ = *at++;
    }
    return to - out;
}

static void close_ranks(int64_t *table, int rows, int64_t room, int64_t count) {
    for (int row = 1; row < rows; row++) memmove(table + row * count, table + row * room, (size_t)count * sizeof *table);
}

/* Cuts and describes a page. `sizes` gets: blocks, elements that break the flow, all elements, words. 1 where it has more blocks or
 * fewer words than asked, -1 where this cannot do it. */
EXPORT int64_t look(const uint8_t *html, int64_t length, const int64_t *told, int64_t features, int64_t most_blocks, int64_t few_words,
                    int64_t *sizes) {
    uint8_t *source = room_for(HTML, (size_t)length + 128), *text = room_for(TEXT, (size_t)length + 1);
    if (!source || !text) return -1;
    length = plain(html, length, source);
    memset(source + length, 0, 128);
    int64_t room = 1, found[4];
    for (int64_t at = 0; at < length; at += 128) { /* so few that a byte counts them, which is done many at a time */
        uint8_t tags = 0;
        for (int i = 0; i < 128; i++) tags += source[at + i] == '<';
        room += tags;
    }
    int64_t *blocks = room_for(BLOCK_TABLE, (size_t)room * BLOCK_ROWS * sizeof(int64_t));
    int64_t *elements = room_for(ELEMENT_TABLE, (size_t)room * ELEMENT_ROWS * sizeof(int64_t));
    if (!blocks || !elements || walk(source, length, room, text, blocks, elements, found)) return -1;
    page.count = found[0], page.rows = found[1];
    close_ranks(blocks, BLOCK_ROWS, room, page.count), close_ranks(elements, ELEMENT_ROWS, room, page.rows);
    int64_t words = 0;
    for (int64_t b = 0; b < page.count; b++) words += of_blocks(WORDS)[b];
    sizes[0] = page.count, sizes[1] = page.rows, sizes[2] = found[2], sizes[3] = words;
    if (page.count > most_blocks || words < few_words) return 1;
    float *matrix = room_for(MATRIX, (size_t)(page.count * features) * sizeof(float));
    int64_t *facts = room_for(FACT_TABLE, (size_t)page.count * FACTS * sizeof(int64_t));
    if (!page.count || !matrix || !facts) return -1;
    return describe(page.count, page.rows, blocks, elements, text, told, matrix, facts) == features ? 0 : -1;
}

/* The network as Python holds it: sizes, then where its parts stand. */
typedef struct { int64_t features, hidden, tags; const float *even, *weight; const int64_t *tagged; const float *by_tag, *first, *last; } Network;

/* What the trees and the network say of each block that was looked at. */
EXPORT int64_t ask_all(const void *trees, const Network *net, double *sums) {
    int8_t *ranks = room_for(RANKS, (size_t)ask_room(trees, page.count));
    if (!ranks) return -1;
    memset(sums, 0, (size_t)page.count * sizeof *sums);
    ask(page.rooms[MATRIX].data, page.count, trees, sums, ranks);
    return ask_network(page.rooms[MATRIX].data, page.count, net->features, net->hidden, net->even, net->weight, net->tagged, net->tags, net->by_tag,
                       net->first, net->last, sums);
}

/* Blocks by score, the highest first; equal ones as they stand. */
static void sort_by_score(const double *scores, int64_t count, int64_t *order, int64_t *other) {
    for (int64_t i = 0; i < count; i++) order[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t low = 0; low < count; low += 2 * width) {
            int64_t middle = low + width < count ? low + width : count, high = low + 2 * width < count ? low + 2 * width : count;
            int64_t left = low, right = middle;
            for (int64_t to = low; to < high; to++)
                other[to] = left < middle && (right >= high || scores[order[left]] >= scores[order[right]]) ? order[left++] : order[right++];
        }
        memcpy(order, other, (size_t)count * sizeof *order);
    }
}

static double best_expected(const double *scores, int64_t *order, int64_t *other) {
    const int64_t *words = of_blocks(WORDS);
    double all = 0.0, mass = 0.0, held = 0.0, best = 0.0;
    for (int64_t b = 0; b < page.count; b++) all += scores[b] * (double)words[b];
    sort_by_score(scores, page.count, order, other);
    for (int64_t i = 0; i < page.count; i++) {
        int64_t b = order[i];
        mass += scores[b] * (double)words[b], held += (double)words[b];
        double expected = 2 * mass / (held + all);
        if (!i || expected > best) best = expected;
    }
    return best;
}

static int64_t parent_of(int64_t block) { return of_elements(PARENT)[of_blocks(ELEMENT)[block]]; }

static void fill_holes(const double *scores, double threshold, uint8_t *kept) {
    int64_t before = -1;
    for (int64_t b = 0; b < page.count; b++) {
        if (scores[b] < threshold) continue;
        if (before >= 0 && b - before > 1 && b - before <= HOLE_BLOCKS && parent_of(before) == parent_of(b)) {
            int64_t words = 0, linked = 0;
            int spoken_for = 1;
            for (int64_t in = before + 1; in < b; in++) {
                words += of_blocks(WORDS)[in], linked += of_blocks(LINKED)[in];
                if (scores[in] < HOLE_SCORE) spoken_for = 0;
            }
            if (spoken_for && words <= HOLE_WORDS && (double)linked <= 0.5 * (double)words) memset(kept + before + 1, 1, (size_t)(b - before - 1));
        }
        before = b;
    }
}

static void keep_atoms_whole(const double *scores, double threshold, const double *most_words, const int64_t *run_words, double *mass, uint8_t *kept) {
    const int64_t *first = of_elements(FIRST), *last = of_elements(LAST), *tag = of_elements(NUMBER);
    mass[0] = 0.0;
    for (int64_t b = 0; b < page.count; b++) mass[b + 1] = mass[b] + scores[b] * (double)of_blocks(WORDS)[b];
    for (int64_t e = 0; e < page.rows; e++) {
        double words = (double)(run_words[last[e]] - run_words[first[e]]);
        if (last[e] - first[e] > 1 && words <= most_words[tag[e]])
            memset(kept + first[e], mass[last[e]] - mass[first[e]] >= threshold * words, (size_t)(last[e] - first[e]));
    }
}

static int drop_repeats(int64_t listing, int64_t may_repeat, uint8_t *kept) {
    int64_t code = 0, candidates = 0;
    for (int64_t e = 0; e < page.rows; e++) code += of_elements(NUMBER)[e] == listing;
    if (code > DOCUMENTATION_CODE) return 0;
    uint8_t *is_candidate = kept + page.count;
    for (int64_t b = 0; b < page.count; b++) {
        is_candidate[b] = kept[b] && !(fact(AROUND)[b] & may_repeat) && of_blocks(WORDS)[b] >= REPEATED_WORDS && fact(COPIES)[b] > 1;
        candidates += is_candidate[b];
    }
    if (!candidates) return 0;
    uint64_t size = 16;
    while (size < (uint64_t)candidates * 2) size *= 2;
    int64_t *slots = calloc(size * 2, sizeof(int64_t));
    if (!slots) return -1;
    const uint8_t *text = page.rooms[TEXT].data;
    for (int64_t b = 0; b < page.count; b++) {
        if (!is_candidate[b]) continue;
        int64_t key = line_key(text + of_blocks(BEGINS)[b], text + of_blocks(ENDS)[b]);
        uint64_t slot = ((uint64_t)key * 0x9E3779B97F4A7C15ull) >> 20 & (size - 1);
        while (slots[slot * 2] && slots[slot * 2 + 1] != key) slot = (slot + 1) & (size - 1);
        if (slots[slot * 2]) kept[b] = 0;
        slots[slot * 2] = 1, slots[slot * 2 + 1] = key;
    }
    free(slots);
    return 0;
}

static void drop_bare_headings(uint8_t *kept) {
    const int64_t *level = fact(HEADING);
    uint8_t *is_bare = kept + page.count;
    for (int64_t b = 0; b < page.count; b++)
        is_bare[b] = kept[b] && b + 1 < page.count && !(kept[b + 1] && !level[b + 1]) && level[b] > 1 &&
                     (double)of_blocks(LINKED)[b] < 0.5 * (double)of_blocks(WORDS)[b];
    for (int64_t b = page.count - 1; b >= 0; b--) {
        if (!is_bare[b]) continue;
        int64_t around = parent_of(b), end = around >= 0 ? of_elements(LAST)[around] : page.count, at = b + 1;
        while (at < end && !(level[at] > 0 && level[at] <= level[b]) && !kept[at]) at++;
        if (at > b + 1 && (at >= end || !kept[at] || (level[at] > 0 && level[at] <= level[b]))) kept[b] = 0;
    }
}

static void keep_title(const double *scores, uint8_t *kept) {
    const int64_t *level = fact(HEADING);
    int64_t first = -1, above = -1;
    for (int64_t b = 0; b < page.count; b++) {
        if (level[b] == 1 && kept[b]) return;
        if (kept[b] && first < 0) first = b;
        if (level[b] == 1 && first < 0) above = b;
    }
    if (first >= 0 && above >= 0 && first - above <= TITLE_BLOCKS && scores[above] >= TITLE_SCORE) kept[above] = 1;
}

/* Which elements go, as their places among all elements, and which texts that stand directly in one that stays: three numbers a
 * text, the place of its element and where the text begins and ends. */
static void plan_cuts(const uint8_t *kept, const uint8_t *never_alone, int64_t *runs, uint8_t *stays, int64_t *plan, int64_t *counts) {
    int64_t n = page.count, rows = page.rows, *run_kept = runs, *run_held = run_kept + n + 1, *run_all = run_held + n + 1;
    uint8_t *stayed = stays + rows;
    const int64_t *first = of_elements(FIRST), *last = of_elements(LAST), *parent = of_elements(PARENT), *tag = of_elements(NUMBER);
    run_kept[0] = run_held[0] = run_all[0] = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t words = of_blocks(WORDS)[b];
        run_kept[b + 1] = run_kept[b] + kept[b], run_held[b + 1] = run_held[b] + (kept[b] ? words : 0), run_all[b + 1] = run_all[b] + words;
    }
    for (int64_t e = 0; e < rows; e++) {
        stays[e] = run_kept[last[e]] > run_kept[first[e]];
        if (first[e] != last[e]) continue;
        int64_t up = parent[e] > 0 ? parent[e] : 0, words = run_all[last[up]] - run_all[first[up]], at = first[e];
        int beside = (at < n && kept[at]) || (at > 0 && kept[at - 1]);
        double share = (double)(run_held[last[up]] - run_held[first[up]]) / (double)(words > 1 ? words : 1);
        if (beside && share >= KEPT_AROUND && words > 0) stays[e] = 1;
    }
    memcpy(stayed, stays, (size_t)rows);
    for (int64_t e = 0; e < rows; e++) {
        int64_t up = parent[e] > 0 ? parent[e] : 0;
        if (first[e] == last[e] && stayed[up] && (first[up] == last[up] || never_alone[tag[e]])) stays[e] = 1;
    }
    stays[0] = 1;
    int64_t going = 0, loose = 0;
    for (int64_t e = 0; e < rows; e++)
        if (!stays[e] && stays[parent[e] > 0 ? parent[e] : 0]) plan[going++] = of_elements(ORDER)[e];
    for (int64_t b = 0; b < n; b++) {
        int64_t row = of_blocks(ELEMENT)[b], *text = plan + going + loose * 3;
        if (!kept[b] && stays[row]) text[0] = of_elements(ORDER)[row], text[1] = of_blocks(BEGINS)[b], text[2] = of_blocks(ENDS)[b], loose++;
    }
    counts[0] = going, counts[1] = loose;
}

/* Chooses among the blocks that were looked at. `told`: the number of a listing's tag, the landmarks within which lines may repeat.
 * `figures` gets the threshold and the expected F1; `counts` what goes, what is loose, words kept, and where plan, text and the
 * flags of kept blocks stand. */
EXPORT int64_t decide(const double *scores, const double *most_words, const uint8_t *never_alone, const int64_t *told, double *figures,
                      int64_t *counts) {
    int64_t n = page.count, rows = page.rows;
    double *mass = room_for(SUMS, (size_t)(n + 1) * sizeof(double));
    int64_t *whole = room_for(WHOLE, (size_t)(4 * n + 4) * sizeof(int64_t) + (size_t)(2 * rows + 2 * n));
    int64_t *plan = room_for(PLAN, (size_t)(rows + 3 * n) * sizeof(int64_t));
    if (!mass || !whole || !plan) return -1;
    int64_t *run_words = whole + 3 * n + 3;
    uint8_t *stays = (uint8_t *)(run_words + n + 1), *kept = stays + 2 * rows; /* each with as much room again, to work in */
    double highest = scores[0];
    for (int64_t b = 1; b < n; b++) if (scores[b] > highest) highest = scores[b];
    double expected = best_expected(scores, whole, whole + n), threshold = expected / 2 < highest ? expected / 2 : highest;
    run_words[0] = 0;
    for (int64_t b = 0; b < n; b++) run_words[b + 1] = run_words[b] + of_blocks(WORDS)[b], kept[b] = scores[b] >= threshold;
    fill_holes(scores, threshold, kept);
    keep_atoms_whole(scores, threshold, most_words, run_words, mass, kept);
    if (drop_repeats(told[0], told[1], kept)) return -1;
    drop_bare_headings(kept);
    keep_title(scores, kept);
    int64_t words = 0;
    for (int64_t b = 0; b < n; b++) if (kept[b]) words += of_blocks(WORDS)[b];
    plan_cuts(kept, never_alone, whole, stays, plan, counts);
    figures[0] = threshold, figures[1] = expected;
    counts[2] = words, counts[3] = (int64_t)(intptr_t)plan, counts[4] = (int64_t)(intptr_t)page.rooms[TEXT].data, counts[5] = (int64_t)(intptr_t)kept;
    return 0;
}

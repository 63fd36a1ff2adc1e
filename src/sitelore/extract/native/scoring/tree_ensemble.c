/* Evaluates oblivious decision trees for all blocks of a page.
 *
 * Each feature is compared with each of its bounds once, which gives a rank per scale; the trees then compare small integers, many
 * blocks at a time. Leaves are added one tree after the other, so the sums do not depend on the processor.
 */
#include "cpu.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 32 };

/* How many bounds of a scale each block is above, counted in the width of a float so that the loop vectorises. */
ALWAYS_INLINE void rank(const float *column, int64_t blocks, const float *bounds, int64_t count, int8_t *ranks) {
    for (int64_t begin = 0; begin < blocks; begin += TILE, column += TILE, ranks += TILE) {
        float last[TILE];
        int32_t above[TILE] = {0};
        const float *values = blocks - begin < TILE ? last : column;
        if (values == last)
            for (int64_t b = 0; b < TILE; b++) last[b] = begin + b < blocks ? column[b] : 0.0f;
        for (int64_t i = 0; i < count; i++)
            for (int b = 0; b < TILE; b++) above[b] += values[b] > bounds[i];
        for (int b = 0; b < TILE; b++) ranks[b] = (int8_t)above[b];
    }
}

/* Adds the answers to three questions to the leaf index of each block; `bit` is that of the first question. */
ALWAYS_INLINE void answer_three(const int8_t *ranks, int64_t room, const int64_t *scale, const int8_t *position, int bit, int8_t *restrict leaf) {
    const int8_t *one = ranks + scale[0] * room, *two = ranks + scale[1] * room, *three = ranks + scale[2] * room;
    const int8_t first = position[0], second = position[1], third = position[2];
    for (int64_t b = 0; b < room; b++)
        leaf[b] |= (one[b] > first ? bit : 0) | (two[b] > second ? 2 * bit : 0) | (three[b] > third ? 4 * bit : 0);
}

/* `ranks` has a row of `room` entries a scale and one for the leaf indexes; `room` is a multiple of TILE. */
ALWAYS_INLINE void evaluate(const float *features, int64_t blocks, const TreeEnsemble *trees, int64_t room, int8_t *ranks, double *sums) {
    int64_t levels = trees->levels;
    for (int64_t s = 0; s < trees->scales; s++) {
        int64_t begin = trees->scale_begin[s], end = trees->scale_begin[s + 1];
        rank(features + trees->scale_feature[s] * blocks, blocks, trees->bounds + begin, end - begin, ranks + s * room);
    }
    int8_t *leaf = ranks + trees->scales * room;
    for (int64_t tree = 0; tree < trees->trees; tree++) {
        const int64_t *scale = trees->question_scale + tree * levels;
        const int8_t *position = trees->question_rank + tree * levels;
        int64_t level = 0;
        memset(leaf, 0, (size_t)room);
        for (; level + 3 <= levels; level += 3) answer_three(ranks, room, scale + level, position + level, 1 << level, leaf);
        for (; level < levels; level++)
            for (int64_t b = 0; b < room; b++) leaf[b] |= ranks[scale[level] * room + b] > position[level] ? 1 << level : 0;
        const float *leaves = trees->leaves + (tree << levels);
        for (int64_t b = 0; b < blocks; b++) sums[b] += (double)leaves[leaf[b]];
    }
}

#ifdef __x86_64__
TARGET_AVX2 static void evaluate_avx2(const float *features, int64_t blocks, const TreeEnsemble *trees, int64_t room, int8_t *ranks, double *sums) {
    evaluate(features, blocks, trees, room, ranks, sums);
}
#endif

int64_t add_tree_scores(const Page *page, const TreeEnsemble *trees, double *sums) {
    int64_t room = (page->block_count + TILE - 1) / TILE * TILE;
    int8_t *ranks = malloc((size_t)((trees->scales + 1) * room));
    if (!ranks) return STATUS_NO_MEMORY;
#ifdef __x86_64__
    if (cpu_has_avx2()) evaluate_avx2(page->features, page->block_count, trees, room, ranks, sums);
    else
#endif
        evaluate(page->features, page->block_count, trees, room, ranks, sums);
    free(ranks);
    return STATUS_OK;
}

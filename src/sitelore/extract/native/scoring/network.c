/* A small network that is asked beside the trees: one layer over all features of a block. `network.py` says what is computed, in the
 * same order and in single floats, where this was not compiled; both give the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { STRETCH = 64, TOGETHER = 4, MOST_HIDDEN = 128, TAGS = 64 };
static const double SURE = 8.0;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

static int64_t tag_row(float tag) {
    int64_t row = (int64_t)tag + 1;
    return row < 0 ? 0 : row < TAGS ? row : TAGS - 1;
}

/* About the logarithm of what is one more, with its sign: what a float's own bits say of it, piecewise linear between powers of two. */
static inline __attribute__((always_inline)) void even_out(float *value, float mean, float scale) {
    int32_t bits[STRETCH], sign[STRETCH];
    memcpy(sign, value, sizeof sign);
    for (int b = 0; b < STRETCH; b++) sign[b] &= INT32_MIN;
    for (int b = 0; b < STRETCH; b++) value[b] = fabsf(value[b]) + 1.0f;
    memcpy(bits, value, sizeof bits);
    for (int b = 0; b < STRETCH; b++) value[b] = (float)(bits[b] - (127 << 23)) * (1.0f / 8388608.0f);
    memcpy(bits, value, sizeof bits);
    for (int b = 0; b < STRETCH; b++) bits[b] |= sign[b];
    memcpy(value, bits, sizeof bits);
    for (int b = 0; b < STRETCH; b++) {
        float found = (value[b] - mean) * scale;
        found = found > -4.0f ? found : -4.0f;
        value[b] = found < 4.0f ? found : 4.0f;
    }
}

/* Adds to `sums` what the network says of each block. `even` holds a mean and a scale a feature; `weight` a row a feature, one column a
 * hidden unit; `by_tag` such a row for every tag that the features in `tagged` may be; `last` what each unit counts, the bias, and the
 * network's share of the score. */
EXPORT FOR_EACH_PROCESSOR int64_t ask_network(const float *columns, int64_t blocks, int64_t features, int64_t hidden, const float *even,
                                              const float *weight, const int64_t *tagged, int64_t tags, const float *by_tag,
                                              const float *first, const float *last, double *sums) {
    float held[MOST_HIDDEN][STRETCH], value[TOGETHER][STRETCH];
    if (hidden > MOST_HIDDEN) return -1;
    for (int64_t begin = 0; begin < blocks; begin += STRETCH) {
        int64_t count = blocks - begin < STRETCH ? blocks - begin : STRETCH;
        memset(value, 0, sizeof value);
        for (int64_t h = 0; h < hidden; h++) for (int b = 0; b < STRETCH; b++) held[h][b] = first[h];
        for (int64_t t = 0; t < tags; t++) {
            const float *tag = columns + tagged[t] * blocks + begin;
            for (int64_t b = 0; b < count; b++) {
                const float *row = by_tag + (t * TAGS + tag_row(tag[b])) * hidden;
                for (int64_t h = 0; h < hidden; h++) held[h][b] += row[h];
            }
        }
        for (int64_t f = 0; f < features; f += TOGETHER) {
            int64_t some = features - f < TOGETHER ? features - f : TOGETHER;
            for (int64_t i = 0; i < some; i++) {
                memcpy(value[i], columns + (f + i) * blocks + begin, (size_t)count * sizeof(float));
                even_out(value[i], even[2 * (f + i)], even[2 * (f + i) + 1]);
            }
            const float *row = weight + f * hidden;
            if (some < TOGETHER) {
                for (int64_t i = 0; i < some; i++)
                    for (int64_t h = 0; h < hidden; h++)
                        for (int b = 0; b < STRETCH; b++) held[h][b] += row[i * hidden + h] * value[i][b];
                continue;
            }
            for (int64_t h = 0; h < hidden; h++) {
                float one = row[h], two = row[hidden + h], three = row[2 * hidden + h], four = row[3 * hidden + h];
                for (int b = 0; b < STRETCH; b++) /* one after the other, as the plain way adds them */
                    held[h][b] = (((held[h][b] + one * value[0][b]) + two * value[1][b]) + three * value[2][b]) + four * value[3][b];
            }
        }
        double said[STRETCH];
        for (int b = 0; b < STRETCH; b++) said[b] = (double)last[hidden];
        for (int64_t h = 0; h < hidden; h++)
            for (int b = 0; b < STRETCH; b++) said[b] += (double)last[h] * (double)(held[h][b] > 0.0f ? held[h][b] : 0.0f);
        for (int64_t b = 0; b < count; b++) {
            double sure = said[b] > -SURE ? said[b] : -SURE;
            sums[begin + b] += (double)last[hidden + 1] * (sure < SURE ? sure : SURE);
        }
    }
    return 0;
}

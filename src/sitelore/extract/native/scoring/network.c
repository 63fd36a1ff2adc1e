/* Evaluates a network with one hidden layer for all blocks of a page, 64 blocks at a time.
 *
 * Products are added in one fixed order and in single floats, so the result does not depend on the processor.
 */
#include "cpu.h"
#include "page.h"

#include <math.h>
#include <string.h>

enum { STRETCH = 64, TOGETHER = 4 };
static const double MAX_LOG_ODDS = 8.0;

static int64_t tag_row(float tag) {
    int64_t row = (int64_t)tag + 1;
    return row < 0 ? 0 : row < NETWORK_TAGS ? row : NETWORK_TAGS - 1;
}

/* About sign(x) * log2(1 + |x|), read off the bits of the float (linear between powers of two); then normalised and clipped to +-4.
 * log_scale in bench/train_network.py computes the same in training. */
ALWAYS_INLINE void normalise(float *value, float mean, float scale) {
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
        float normal = (value[b] - mean) * scale;
        normal = normal > -4.0f ? normal : -4.0f;
        value[b] = normal < 4.0f ? normal : 4.0f;
    }
}

/* Adds the weights of the tags to the hidden units. */
ALWAYS_INLINE void add_tags(const float *features, int64_t blocks, int64_t begin, int64_t count, const Network *net, float held[][STRETCH]) {
    for (int64_t t = 0; t < net->tag_features; t++) {
        const float *tag = features + net->tag_feature[t] * blocks + begin;
        for (int64_t b = 0; b < count; b++) {
            const float *row = net->tag_weights + (t * NETWORK_TAGS + tag_row(tag[b])) * net->hidden;
            for (int64_t h = 0; h < net->hidden; h++) held[h][b] += row[h];
        }
    }
}

ALWAYS_INLINE void evaluate(const float *features, int64_t blocks, const Network *net, double *sums) {
    float held[NETWORK_HIDDEN_MAX][STRETCH], value[TOGETHER][STRETCH];
    int64_t hidden = net->hidden;
    for (int64_t begin = 0; begin < blocks; begin += STRETCH) {
        int64_t count = blocks - begin < STRETCH ? blocks - begin : STRETCH;
        memset(value, 0, sizeof value);
        for (int64_t h = 0; h < hidden; h++)
            for (int b = 0; b < STRETCH; b++) held[h][b] = net->hidden_bias[h];
        add_tags(features, blocks, begin, count, net, held);
        for (int64_t f = 0; f < net->features; f += TOGETHER) {
            int64_t some = net->features - f < TOGETHER ? net->features - f : TOGETHER;
            for (int64_t i = 0; i < some; i++) {
                memcpy(value[i], features + (f + i) * blocks + begin, (size_t)count * sizeof(float));
                normalise(value[i], net->normalisation[2 * (f + i)], net->normalisation[2 * (f + i) + 1]);
            }
            const float *row = net->weights + f * hidden;
            if (some < TOGETHER) {
                for (int64_t i = 0; i < some; i++)
                    for (int64_t h = 0; h < hidden; h++)
                        for (int b = 0; b < STRETCH; b++) held[h][b] += row[i * hidden + h] * value[i][b];
                continue;
            }
            for (int64_t h = 0; h < hidden; h++) {
                float one = row[h], two = row[hidden + h], three = row[2 * hidden + h], four = row[3 * hidden + h];
                for (int b = 0; b < STRETCH; b++)
                    held[h][b] = (((held[h][b] + one * value[0][b]) + two * value[1][b]) + three * value[2][b]) + four * value[3][b];
            }
        }
        double output[STRETCH];
        for (int b = 0; b < STRETCH; b++) output[b] = (double)net->output[hidden];
        for (int64_t h = 0; h < hidden; h++)
            for (int b = 0; b < STRETCH; b++) output[b] += (double)net->output[h] * (double)(held[h][b] > 0.0f ? held[h][b] : 0.0f);
        for (int64_t b = 0; b < count; b++) {
            double clipped = output[b] > -MAX_LOG_ODDS ? output[b] : -MAX_LOG_ODDS;
            sums[begin + b] += (double)net->output[hidden + 1] * (clipped < MAX_LOG_ODDS ? clipped : MAX_LOG_ODDS);
        }
    }
}

#ifdef __x86_64__
TARGET_AVX2 static void evaluate_avx2(const float *features, int64_t blocks, const Network *net, double *sums) {
    evaluate(features, blocks, net, sums);
}
#endif

void add_network_scores(const Page *page, const Network *network, double *sums) {
#ifdef __x86_64__
    if (cpu_has_avx2()) {
        evaluate_avx2(page->features, page->block_count, network, sums);
        return;
    }
#endif
    evaluate(page->features, page->block_count, network, sums);
}

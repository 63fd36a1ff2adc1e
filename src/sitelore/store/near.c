/* Compares a query vector with every vector of a site, both quantised to eight bits a number.
 *
 * The sums are exact for the quantised numbers. vector_rows.Rows bounds the error of the quantisation and compares the candidates that
 * may be among the nearest again in full precision. Called through ctypes.
 */
#include "cpu.h"

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define VERSION 1

EXPORT int64_t version(void);
EXPORT void compare(int64_t count, int64_t dims, const int8_t *codes, const int16_t *asked, int32_t *sums);

int64_t version(void) { return VERSION; }

/* The caller scales the query so that no sum exceeds 32 bits. */
ALWAYS_INLINE void compare_rows(int64_t count, int64_t dims, const int8_t *codes, const int16_t *asked, int32_t *sums) {
    for (int64_t row = 0; row < count; row++) {
        const int8_t *code = codes + row * dims;
        int32_t sum = 0;
        for (int64_t i = 0; i < dims; i++) sum += (int32_t)code[i] * (int32_t)asked[i];
        sums[row] = sum;
    }
}

#ifdef __x86_64__
TARGET_AVX2 static void compare_avx2(int64_t count, int64_t dims, const int8_t *codes, const int16_t *asked, int32_t *sums) {
    compare_rows(count, dims, codes, asked, sums);
}
#endif

void compare(int64_t count, int64_t dims, const int8_t *codes, const int16_t *asked, int32_t *sums) {
#ifdef __x86_64__
    if (cpu_has_avx2()) {
        compare_avx2(count, dims, codes, asked, sums);
        return;
    }
#endif
    compare_rows(count, dims, codes, asked, sums);
}

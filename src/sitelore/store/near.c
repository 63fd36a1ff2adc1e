/* The one loop of search that is worth compiling: a question's vector against every vector of a site, eight bits to a number.
 *
 * What comes out is exact for the rounded numbers. `vector_rows.Rows` knows how far off those may be, and compares the few that
 * may be among the nearest again in full; without this file it compares all in full. Called through ctypes.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define VERSION 1

/* A library for every processor of its kind, that uses what the one at hand can do. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

EXPORT int64_t version(void) { return VERSION; }

/* The caller sees to it that no sum leaves 32 bits. */
EXPORT WIDE void compare(int64_t count, int64_t dims, const int8_t *codes, const int16_t *asked, int32_t *sums) {
    for (int64_t row = 0; row < count; row++) {
        const int8_t *code = codes + row * dims;
        int32_t sum = 0;
        for (int64_t i = 0; i < dims; i++) sum += (int32_t)code[i] * (int32_t)asked[i];
        sums[row] = sum;
    }
}

/* Dot products of a query vector with every vector of a site, both quantised: int8 rows, int16 query.
 *
 * The products are exact for the quantised numbers. in_memory.QuantisedVectors bounds the error of the quantisation and compares
 * the candidates that may be among the nearest again in full precision. Called through ctypes.
 */
#include "cpu.h"

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define VERSION 2

EXPORT int64_t version(void);
EXPORT void dot_products(int64_t count, int64_t dims, const int8_t *codes, const int16_t *query, int32_t *products);

int64_t version(void) { return VERSION; }

/* The caller scales the query so that no product exceeds 32 bits. */
ALWAYS_INLINE void dot_product_rows(int64_t count, int64_t dims, const int8_t *codes, const int16_t *query, int32_t *products) {
    for (int64_t row = 0; row < count; row++) {
        const int8_t *code = codes + row * dims;
        int32_t sum = 0;
        for (int64_t i = 0; i < dims; i++) sum += (int32_t)code[i] * (int32_t)query[i];
        products[row] = sum;
    }
}

#ifdef __x86_64__
TARGET_AVX2 static void dot_products_avx2(int64_t count, int64_t dims, const int8_t *codes, const int16_t *query, int32_t *products) {
    dot_product_rows(count, dims, codes, query, products);
}
#endif

void dot_products(int64_t count, int64_t dims, const int8_t *codes, const int16_t *query, int32_t *products) {
#ifdef __x86_64__
    if (cpu_has_avx2()) {
        dot_products_avx2(count, dims, codes, query, products);
        return;
    }
#endif
    dot_product_rows(count, dims, codes, query, products);
}

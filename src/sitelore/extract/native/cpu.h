/* Run-time detection of AVX2. Kernels are compiled twice, for the baseline processor and for AVX2, and chosen when they are called.
 *
 * target_clones would do the same, but needs ifunc support, and clang's __builtin_cpu_supports does not link with every toolchain.
 */
#ifndef SITELORE_CPU_H
#define SITELORE_CPU_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#ifdef __x86_64__
#include <cpuid.h>

#define TARGET_AVX2 __attribute__((target("avx2,bmi,popcnt")))

/* Whether the processor has AVX2, BMI and POPCNT and the system saves the wide registers. */
static inline int cpu_has_avx2(void) {
    static int known; /* 0: not tested yet; every thread that tests writes the same value */
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!found) {
        unsigned a, b, c, d, saved = 0;
        int is_wide = __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE && c & bit_POPCNT;
        if (is_wide) __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
        is_wide = is_wide && (saved & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_AVX2 && b & bit_BMI;
        found = is_wide ? 2 : 1;
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found == 2;
}
#endif

#endif

/* Which instruction sets this processor and operating system offer: one bit for each level that can run here. */

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned long long enabled_state(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

int wordveil_levels(void) {
    unsigned a, b, c, d, e, f, g, h;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0;
    const int fma = (c >> 12) & 1;
    const unsigned long long state = enabled_state();
    if (!__get_cpuid_count(7, 0, &e, &f, &g, &h)) return 0;
    const int avx2 = fma && ((f >> 5) & 1) && (state & 6) == 6;
    /* AVX-512 foundation, DQ, BW and VL, with the system saving the wide registers. */
    const int avx512 = avx2 && ((f >> 16) & 1) && ((f >> 17) & 1) && ((f >> 30) & 1) && ((f >> 31) & 1) &&
                       (state & 0xe6) == 0xe6;
    const int amx = avx512 && ((h >> 22) & 1) && ((h >> 24) & 1) && (state & 0x60000) == 0x60000;
    unsigned bfloat = 0;
    if (__get_cpuid_count(7, 1, &e, &f, &g, &h)) bfloat = (e >> 5) & 1;
    return avx2 | avx512 << 1 | (amx && bfloat) << 2;
}
#elif defined(__aarch64__)
int wordveil_levels(void) { return 1 << 3; }
#else
int wordveil_levels(void) { return 0; }
#endif

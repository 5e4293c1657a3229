/* Ceilings of block masses: sums of b(y) exp(-rate min(distance, cap)) over distances that are never too large.

   The product of a row [-x, a, 1] with a column [y; 1; a] is a lower bound on |x - y|^2 / 2: Python lays out a, which is
   |x|^2 / 2 less every error that the number type can make. What is done here errs by less than 2^-11 of a sum, and
   Python raises the sums by more. */

#include "products.h"

#ifdef __AVX512F__
typedef float weights __attribute__((vector_size(64), aligned(4)));
typedef int32_t bits __attribute__((vector_size(64), aligned(4)));
#define LARGER(a, b) (weights)_mm512_max_ps((__m512)(a), (__m512)(b))
#define ROOT(h) ((h) * (weights)_mm512_rsqrt14_ps((__m512)(h)))
#else
typedef float weights __attribute__((vector_size(32), aligned(4)));
typedef int32_t bits __attribute__((vector_size(32), aligned(4)));
#define LARGER(a, b) (weights)_mm256_max_ps((__m256)(a), (__m256)(b))
#define ROOT(h) (weights)_mm256_sqrt_ps((__m256)(h))
#endif
#define AT_ONCE ((int)(sizeof(weights) / sizeof(float)))

/* 2^max(scale sqrt(h), lowest), scale < 0, lowest >= -125, within 7.5e-5 beside the error of the root. The reciprocal
   root of 0 is infinite, so h is taken to be 2^-126 at least. */
static inline __attribute__((always_inline)) weights weigh(weights h, float scale, float lowest) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low bits */
    const weights zero = {0};
    weights x = LARGER(ROOT(LARGER(h, zero + 0x1p-126f)) * scale, zero + lowest);
    weights shifted = x + magic, f = x - (shifted - magic);
    weights p = f * 0.05517167f + 0.24261114f;
    p = p * f + 0.69326097f;
    p = p * f + 0.99992806f;
    return (weights)((bits)p + ((bits)shifted << 23));
}

/* out (n, blocks) of n rows, a multiple of 32; a block has `columns` columns, a multiple of 32. base: (blocks, columns)
   or NULL. scale: -rate sqrt(2) log2(e); lowest: -rate cap log2(e), at least -125. */
void wordveil_ceilings(const number *left, int64_t n, const number *right, int64_t k, int64_t blocks, int64_t columns,
                       const float *base, float scale, float lowest, float *out) {
    begin();
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t row = 0; row < n; row += SIDE) {
            weights sums[SIDE][LANES / AT_ONCE];
            memset(sums, 0, sizeof sums);
            for (int64_t c = 0; c < columns; c += SIDE) {
                float tile[SIDE][SIDE] __attribute__((aligned(64)));
                product(left + row * k, right + (block * columns + c) * k, k, tile);
                const float *share = base ? base + block * columns + c : 0;
                for (int r = 0; r < SIDE; r++)
                    for (int i = 0; i < SIDE; i += AT_ONCE) {
                        weights w = weigh(*(const weights *)(tile[r] + i), scale, lowest);
                        if (share) w *= *(const weights *)(share + i);
                        sums[r][i % LANES / AT_ONCE] += w;
                    }
            }
            for (int r = 0; r < SIDE; r++) {
                double total = 0;
                for (int i = 0; i < LANES; i++) total += (double)((const float *)sums[r])[i];
                out[(row + r) * blocks + block] = (float)total;
            }
        }
    end();
}

/* Ceilings of block masses: sums of b(y) exp(-rate min(distance, cap)) over distances that are never too large.

   The product of a row [-x, a(x), 1] with a column [y; 1; a(y)] is a lower bound on |x - y|^2 / 2: a(x) is kept |x|^2 / 2 -
   flush, which Python chooses to be less by all that float32 sums can lose. For bfloat16 two columns more take away what
   rounding the vectors can, |x - x'||y| + |x'||y - y'|, and a takes three columns. The sums err by less than 2^-13, and
   Python raises them by 2^-11. */

#include "products.h"

#include <math.h>

#if PAIR == 2
#define PARTS_OF_A 3
#define EXTRA 8 /* columns beside the vector's */
#else
#define PARTS_OF_A 1
#define EXTRA 2
#endif
#define MOST_K 4160 /* selection.c takes 4096 columns; here come up to 8 more, in whole tiles */
#define PADDING 1e37 /* a of columns that hold no word, as in kernels/ceilings.py */

int wordveil_ceiling_columns(void) { return EXTRA; }

/* Round to nearest; numbers below 2^-126, which products would flush, become 0. */
static inline float narrow(float x) {
    union {
        float single;
        uint32_t raw;
    } u = {.single = x};
#if PAIR == 2
    u.raw = (u.raw + 0x7FFF + (u.raw >> 16 & 1)) & 0xFFFF0000u;
#endif
    return fabsf(u.single) < 0x1p-126f ? 0.0f : u.single;
}

/* A narrow number as the products read it. */
static inline number stored(float narrowed) {
#if PAIR == 2
    union {
        float single;
        uint32_t raw;
    } u = {.single = narrowed};
    return (number)(u.raw >> 16);
#else
    return narrowed;
#endif
}

/* Squared norms of a vector and of what rounding it loses, in eight running sums. */
static void measure(const float *x, int64_t d, double *squared, double *lost) {
    double norm[8] = {0}, rest[8] = {0};
#define ADD(j, number)                                            \
    do {                                                          \
        const double whole = number, gap = number - narrow(number); \
        norm[j] += whole * whole;                                 \
        rest[j] += gap * gap;                                     \
    } while (0)
    int64_t i = 0;
    for (; i + 8 <= d; i += 8)
        for (int j = 0; j < 8; j++) ADD(j, x[i + j]);
    for (; i < d; i++) ADD(0, x[i]);
    *squared = *lost = 0;
    for (int j = 0; j < 8; j++) *squared += norm[j], *lost += rest[j];
}

/* One vector as a row of k numbers, or, with `words`, as a column; x = 0 is a column that holds no word. */
static void lay(const float *x, int64_t d, int64_t k, double kept, double flush, int words, number *line) {
    const float sign = words ? 1.0f : -1.0f;
    double squared = 0, lost = 0;
    for (int64_t i = 0; x && i < d; i++) line[i] = stored(narrow(sign * x[i]));
    if (x) measure(x, d, &squared, &lost);
    for (int64_t i = x ? d : 0; i < k; i++) line[i] = 0;
    double a = x ? kept * (0.5 * squared) - flush : PADDING;
    for (int i = 0; i < PARTS_OF_A; i++) {
        const float part = narrow((float)a);
        line[d + i + (words ? PARTS_OF_A : 0)] = stored(part);
        line[d + i + (words ? 0 : PARTS_OF_A)] = stored(1.0f);
        a -= part;
    }
#if PAIR == 2
    const double up = sign * (1 + 0x1p-6), least = sign * 0x1p-125; /* norms rounded up, or by more */
    line[d + 6] = stored(narrow((float)(up * sqrt(words ? squared : lost) + least)));
    line[d + 7] = stored(narrow((float)(up * sqrt(words ? lost : squared) + least)));
#endif
}

/* Lay out n vectors, (n, d) float32, as rows of k <= MOST_K numbers, or, with `words`, as columns in tiles, as many as
   fill `lines`: those after n stand for words infinitely far away. Returns 1 if k is larger. */
int wordveil_ceiling_factor(const float *vectors, int64_t n, int64_t d, int64_t k, int64_t lines, double kept,
                            double flush, int words, number *out) {
    number line[MOST_K];
    if (k > MOST_K) return 1;
    for (int64_t r = 0; r < lines; r++) {
        lay(r < n ? vectors + r * d : 0, d, k, kept, flush, words, words ? line : out + r * k);
        number *tile = out + r / LANES * LANES * k + r % LANES * PAIR;
        for (int64_t i = 0; words && i < k; i += PAIR) memcpy(tile + i * LANES, line + i, PAIR * sizeof *line);
    }
    return 0;
}

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

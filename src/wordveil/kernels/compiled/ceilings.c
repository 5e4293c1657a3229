/* Ceilings of block masses: sums of b(y) exp(-rate min(distance, cap)), never too small, the same bytes on every engine.

   Coordinates are integers, so that products are exact in any order. What follows are IEEE operations in a fixed order,
   16 sums side by side, whatever the registers: no product is added to anything unless it is exact (halving), so that a
   fused multiply-add would change nothing. kernels/ceilings.py does the same in NumPy, and states and proves the bound.

   Columns come in tiles of 16: for each tile, for each pair of coordinates, 16 columns of two numbers. */

#if defined(__aarch64__)
#include <arm_neon.h>
#define TALL 4
#define BYTES 16
#else
#include <immintrin.h>
#ifdef __AVX512BW__
#define TALL 16
#define BYTES 64
#define PAIRS(a, b) (lanes)_mm512_madd_epi16((__m512i)(a), (__m512i)(b))
#else
#define TALL 4
#define BYTES 32
#define PAIRS(a, b) (lanes)_mm256_madd_epi16((__m256i)(a), (__m256i)(b))
#endif
#endif
#include <stdint.h>
#include <string.h>


#define LANES 16
#define SIDE 32 /* rows that are taken together */
#define BEND_A 2338577 /* as in kernels/ceilings.py */
#define BEND_B 168
#define WIDTH (BYTES / 4)
#define PARTS (LANES / WIDTH)

typedef int32_t lanes __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef float floats __attribute__((vector_size(BYTES), aligned(4), may_alias));

/* 16 columns of two coordinates, and what they add to the sums of a row that has two numbers there. */
#if defined(__aarch64__)
typedef struct { int16x8x2_t half[2]; } columns;
static inline columns load(const int16_t *from) { return (columns){{vld2q_s16(from), vld2q_s16(from + LANES)}}; }
static inline void add(lanes sum[PARTS], columns some, const int16_t *own) {
    for (int h = 0; h < 2; h++)
        for (int c = 0; c < 2; c++) {
            const int16x8_t column = some.half[h].val[c];
            sum[2 * h] = (lanes)vmlal_n_s16((int32x4_t)sum[2 * h], vget_low_s16(column), own[c]);
            sum[2 * h + 1] = (lanes)vmlal_high_n_s16((int32x4_t)sum[2 * h + 1], column, own[c]);
        }
}
#else
typedef struct { lanes part[PARTS]; } columns;
static inline columns load(const int16_t *from) { return *(const columns *)from; }
static inline void add(lanes sum[PARTS], columns some, const int16_t *own) {
    int32_t both;
    memcpy(&both, own, sizeof both);
    for (int p = 0; p < PARTS; p++) sum[p] += PAIRS(some.part[p], (lanes){0} + both);
}
#endif

/* Nothing has to be asked of the system. */
int wordveil_prepare(void) { return 0; }

/* Products of 32 rows with 16 columns of k coordinates, k even. */
static inline void product(const int16_t *left, const int16_t *right, int64_t k, int32_t out[SIDE][LANES]) {
    for (int row = 0; row < SIDE; row += TALL) {
        lanes sum[TALL][PARTS];
        for (int r = 0; r < TALL; r++)
            for (int p = 0; p < PARTS; p++) sum[r][p] = (lanes){0};
        for (int64_t i = 0; i < k; i += 2) {
            const columns some = load(right + i * LANES);
            for (int r = 0; r < TALL; r++) add(sum[r], some, left + (row + r) * k + i);
        }
        for (int r = 0; r < TALL; r++)
            for (int p = 0; p < PARTS; p++) *(lanes *)(out[row + r] + p * WIDTH) = sum[r][p];
    }
}

/* What an angle is of its chord, less a little: 1 + a q + b q^2 with q 2^12 = h >> shift. The last product is exact. */
static inline __attribute__((always_inline)) floats bend(lanes h, int shift) {
    const lanes q = h >> shift;
    return __builtin_convertvector(((BEND_A + BEND_B * q) >> 8) * q, floats) * 0x1p-30f + 1.0f;
}

/* 2^max(max(scale sqrt(h), lowest) + share, -126) or more, by the chord; the root by one Newton step, never above. With
   a shift h is that of unit vectors, whose angle counts. */
static inline __attribute__((always_inline)) floats weigh(lanes h, float scale, float lowest, floats share, int shift) {
    const floats zero = {0};
    lanes low = h < 1;
    const floats squared = __builtin_convertvector((h & ~low) - low, floats);
    const floats inverse = (floats)(0x5f375a86 - ((lanes)squared >> 1));
    const floats root = squared * inverse;
    floats x = root * (1.5f - 0.5f * (root * inverse)) * scale;
    if (shift) x *= bend(h, shift);
    low = x < lowest;
    x = (floats)(((lanes)x & ~low) | ((lanes)(zero + lowest) & low)) + share;
    low = x < -126.0f;
    x = (floats)(((lanes)x & ~low) | ((lanes)(zero - 126.0f) & low));
    return (floats)(__builtin_convertvector(x * 8388608.0f, lanes) + 0x3f800000);
}

/* out (n, blocks) of n rows, a multiple of 32; a block has `columns` columns, a multiple of 32. own (n) and norms (blocks,
   columns): squared lengths. shares (blocks, columns): logarithms, base 2, of the base measure. scale: -rate log2(e), for
   one unit of the coordinates; lowest: -rate cap log2(e); shift: of an angle, else 0. */
void wordveil_ceilings(const int16_t *left, const int32_t *own, int64_t n, const int16_t *right, const int32_t *norms,
                       const float *shares, int64_t k, int64_t blocks, int64_t columns, float scale, float lowest,
                       int shift, float *out) {
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t row = 0; row < n; row += SIDE) {
            floats sums[SIDE][PARTS];
            memset(sums, 0, sizeof sums);
            for (int64_t c = block * columns; c < (block + 1) * columns; c += LANES) {
                int32_t tile[SIDE][LANES];
                product(left + row * k, right + c * k, k, tile);
                for (int r = 0; r < SIDE; r++)
                    for (int p = 0; p < PARTS; p++) {
                        const lanes dot = *(const lanes *)(tile[r] + p * WIDTH);
                        const lanes h = *(const lanes *)(norms + c + p * WIDTH) + own[row + r] - (dot + dot);
                        const floats share = *(const floats *)(shares + c + p * WIDTH);
                        sums[r][p] += weigh(h, scale, lowest, share, shift);
                    }
            }
            for (int r = 0; r < SIDE; r++) {
                double total = 0;
                for (int i = 0; i < LANES; i++) total += (double)sums[r][i / WIDTH][i % WIDTH];
                out[(row + r) * blocks + block] = (float)total;
            }
        }
}

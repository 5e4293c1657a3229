/* Rows of weights b(y) exp(-rate min(|x - y|, cap)): squared distances in float64, the rest in float32, in one pass.

   Every value comes from the same operations in the same order whatever the batch, so that a row's bits depend on
   nothing but its input. Vectors of 64 bytes are split by the compiler where registers are narrower.

   left   (n, d + 2) float64 rows [-2x, |x|^2, 1]     right  (blocks, d + 2, width) float64 columns [y; 1; |y|^2]
   twins  of row i: columns twin[twin_start[i]] .. , ascending, whose vector equals x: distance exactly 0 */

#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#define BYTES 64
#define TALL 12 /* rows of one product: its sums fill the registers */
#else
#define BYTES 32
#define TALL 2
#endif
#define PANEL 16 /* columns of one product */
#define STRIP 64 /* columns packed together: they stay in the first cache */
#define DOUBLES (BYTES / 8)
#define FLOATS (BYTES / 4)
#define PARTS (PANEL / DOUBLES)

typedef double wide __attribute__((vector_size(BYTES), aligned(8)));
typedef float narrow __attribute__((vector_size(BYTES / 2), aligned(4)));
typedef float lanes __attribute__((vector_size(BYTES), aligned(4)));
typedef int32_t bits __attribute__((vector_size(BYTES), aligned(4)));

#define MOST_K 4096
typedef struct {
    const double *left, *right, *base;           /* base: (blocks, width) or NULL */
    const int64_t *edges, *twin_start, *twin;    /* edges: first column of each block, and the end */
    int64_t k, width;
    float rate, floor;                           /* exponent = max(-rate * distance, floor) */
} problem;

/* Squared distances of R rows to 16 columns, as float32 in out[row][stride]. */
#define PRODUCT(R)                                                                                                 \
    static inline __attribute__((always_inline)) void product_##R(                                                 \
        const double *const *left, const double *right, int64_t step, int64_t k, float *out, int64_t stride) {     \
        wide sum[R][PARTS], column[PARTS];                                                                         \
        const double *one = right + (k - 2) * step, *norm = right + (k - 1) * step;                                \
        for (int r = 0; r < R; r++)                                                                                \
            for (int h = 0; h < PARTS; h++)                                                                        \
                sum[r][h] = left[r][k - 2] * *(const wide *)(one + DOUBLES * h) + *(const wide *)(norm + DOUBLES * h); \
        for (int64_t i = 0; i < k - 2; i++) {                                                                      \
            for (int h = 0; h < PARTS; h++) column[h] = *(const wide *)(right + i * step + DOUBLES * h);           \
            for (int r = 0; r < R; r++)                                                                            \
                for (int h = 0; h < PARTS; h++) sum[r][h] += left[r][i] * column[h];                               \
        }                                                                                                          \
        for (int r = 0; r < R; r++)                                                                                \
            for (int h = 0; h < PARTS; h++)                                                                        \
                *(narrow *)(out + r * stride + DOUBLES * h) = __builtin_convertvector(sum[r][h], narrow);          \
    }

#define STEP(R)                                                                                                 \
    for (; rows - r >= R; r += R)                                                                               \
        for (int64_t c = 0; c < columns; c += PANEL)                                                            \
            product_##R(left + r, right + c, step, k, out + r * stride + c, stride);

PRODUCT(1)
PRODUCT(2)
#if TALL > 2
PRODUCT(4)
PRODUCT(12)
#endif

/* Squared distances of `rows` <= TALL rows to `columns` columns (a multiple of 16). */
static void products(const double *const *left, int rows, const double *right, int64_t step, int64_t k, int64_t columns,
                     float *out, int64_t stride) {
    int r = 0;
#if TALL > 2
    STEP(12)
    STEP(4)
#endif
    STEP(2)
    STEP(1)
}

/* exp(x) for x in [-87, 0], within two units in the last place: x = n ln 2 + r, polynomial of degree 7 in r. */
static inline __attribute__((always_inline)) lanes exponential(lanes x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low bits */
    lanes shifted = x * 1.44269504088896341f + magic, n = shifted - magic;
    lanes r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return (lanes)((bits)p + ((bits)shifted << 23));
}

/* Turn squared distances into weights in place; `columns` is a multiple of 16. */
static inline __attribute__((always_inline)) void weigh(const problem *p, float *tile, const double *base,
                                                        int64_t columns) {
    const float lowest = p->floor > -87.0f ? p->floor : -87.0f;
    for (int64_t c = 0; c < columns; c++) tile[c] = tile[c] > 0.0f ? tile[c] : 0.0f;
    for (int64_t c = 0; c < columns; c++) {
        const float exponent = __builtin_sqrtf(tile[c]) * -p->rate;
        tile[c] = exponent > lowest ? exponent : lowest;
    }
    for (int64_t c = 0; c < columns; c += FLOATS) *(lanes *)(tile + c) = exponential(*(lanes *)(tile + c));
    if (base)
        for (int64_t c = 0; c < columns; c++) tile[c] *= (float)base[c];
}

/* Sum in float64: eight running sums, then pairs of them, whatever the width of the registers. */
static inline __attribute__((always_inline)) double total(const float *tile, int64_t columns) {
    wide sum[8 / DOUBLES] = {{0}};
    double part[8];
    for (int64_t c = 0; c < columns; c += 8)
        for (int h = 0; h < 8 / DOUBLES; h++)
            sum[h] += __builtin_convertvector(*(const narrow *)(tile + c + DOUBLES * h), wide);
    memcpy(part, sum, sizeof part);
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* Weights of up to TALL rows over columns [from, from + STRIP) of a block, 0 beyond its end. */
static void strip_weights(const problem *p, const double *const *left, const int64_t *row, int rows, int64_t block,
                          const double *right, int64_t step, int64_t from, int64_t columns, float tile[][STRIP]) {
    const int64_t end = p->edges[block + 1] - p->edges[block];
    products(left, rows, right, step, p->k, columns, tile[0], STRIP);
    for (int r = 0; r < rows; r++) {
        const int64_t first = p->edges[block] + from;
        for (int64_t t = p->twin_start[row[r]]; t < p->twin_start[row[r] + 1] && p->twin[t] < first + columns; t++)
            if (p->twin[t] >= first) tile[r][p->twin[t] - first] = 0.0f;
        weigh(p, tile[r], p->base ? p->base + block * p->width + from : 0, columns);
        for (int64_t c = end > from ? end - from : 0; c < columns; c++) tile[r][c] = 0.0f;
    }
}

/* Mass of every block for each of n rows: out (n, blocks) float32, summed in float64.
   Where `whole` is given, all weights too: (n, blocks, width) float32. */
int wordveil_masses(const problem *p, int64_t n, int64_t blocks, float *out, float *whole) {
    if (p->k > MOST_K) return 1;
    double packed[STRIP * MOST_K / 8] __attribute__((aligned(64)));
    double *const strip = packed;
    const int pack = p->k * STRIP <= (int64_t)(sizeof packed / sizeof *packed);
    double sums[512];
    for (int64_t top = 0; top < n; top += 512) {
        const int64_t bottom = top + 512 < n ? top + 512 : n;
        for (int64_t block = 0; block < blocks; block++) {
            const double *right = p->right + block * p->k * p->width;
            memset(sums, 0, sizeof sums);
            for (int64_t from = 0; from < p->width; from += STRIP) {
                const int64_t columns = p->width - from < STRIP ? p->width - from : STRIP;
                if (pack)
                    for (int64_t i = 0; i < p->k; i++)
                        memcpy(strip + i * columns, right + i * p->width + from, (size_t)columns * sizeof *strip);
                for (int64_t i = top; i < bottom; i += TALL) {
                    const int rows = bottom - i < TALL ? (int)(bottom - i) : TALL;
                    const double *left[TALL];
                    int64_t row[TALL];
                    float tile[TALL][STRIP] __attribute__((aligned(64)));
                    for (int r = 0; r < rows; r++) row[r] = i + r, left[r] = p->left + (i + r) * p->k;
                    strip_weights(p, left, row, rows, block, pack ? strip : right + from, pack ? columns : p->width,
                                  from, columns, tile);
                    for (int r = 0; r < rows; r++) {
                        sums[i + r - top] += total(tile[r], columns);
                        if (whole)
                            memcpy(whole + ((i + r) * blocks + block) * p->width + from, tile[r],
                                   (size_t)columns * sizeof(float));
                    }
                }
            }
            for (int64_t i = top; i < bottom; i++) out[i * blocks + block] = (float)sums[i - top];
        }
    }
    return 0;
}

/* Column inside its block that each random word falls into, a share of its pair's ceiling, by running sums of weights.
   Pairs (row, block) are sorted by block; the tokens of pair i are start[i] .. start[i + 1]. A word beyond the weights
   gets column -1; one whose column could be another if each weight were up to `range` times as large or small, -2. */
void wordveil_draw(const problem *p, int64_t pairs, const int64_t *pair_row, const int64_t *pair_block,
                   const int64_t *start, const double *ceiling, const uint64_t *word, int64_t *column, double range) {
    for (int64_t i = 0; i < pairs;) {
        int rows = 0;
        const double *left[TALL];
        int64_t row[TALL];
        const int64_t block = pair_block[i];
        float tile[TALL][STRIP] __attribute__((aligned(64)));
        double sums[TALL][512];
        while (rows < TALL && i + rows < pairs && pair_block[i + rows] == block) {
            row[rows] = pair_row[i + rows];
            left[rows] = p->left + row[rows] * p->k;
            rows++;
        }
        for (int64_t from = 0; from < p->width; from += STRIP) {
            const int64_t columns = p->width - from < STRIP ? p->width - from : STRIP;
            strip_weights(p, left, row, rows, block, p->right + block * p->k * p->width + from, p->width, from,
                          columns, tile);
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < columns; c++) sums[r][from + c] = (double)tile[r][c];
        }
        for (int r = 0; r < rows; r++, i++) {
            for (int64_t c = 1; c < p->width; c++) sums[r][c] += sums[r][c - 1];
            for (int64_t t = start[i]; t < start[i + 1]; t++) {
                const double point = (double)word[t] * 0x1p-64 * ceiling[i];
                const double least = point * (1 - 0x1p-50), most = point * (1 + 0x1p-50) + 0x1p-63 * ceiling[i];
                int64_t c = 0;
                while (c < p->width && sums[r][c] * range <= least) c++;
                const int open = c < p->width && sums[r][c] < most * range;
                column[t] = open ? -2 : c < p->width ? c : -1;
            }
        }
    }
}

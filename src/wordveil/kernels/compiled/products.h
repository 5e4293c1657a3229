/* Products of 32 rows with 32 columns: bfloat16 in the matrix registers, float32 elsewhere.

   Columns come in tiles of 16, laid out as the products read them: for each tile, for each run of PAIR rows of the
   factor, 16 columns of PAIR numbers. Rows lie one after another, k numbers each, k a multiple of 32 for bfloat16.
   Every sum runs in the same order whatever the batch. Matrix registers need `begin` before and `end` after. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES 16
#define SIDE 32 /* rows, and columns, of one product */

#if defined(__AMX_BF16__)
typedef uint16_t number;
#define PAIR 2

static void begin(void) {
    struct {
        uint8_t palette, start, unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } c __attribute__((aligned(64)));
    memset(&c, 0, sizeof c);
    c.palette = 1;
    for (int i = 0; i < 8; i++) c.bytes[i] = 64, c.rows[i] = 16;
    _tile_loadconfig(&c);
}
static void end(void) { _tile_release(); }

static inline void product(const number *left, const number *right, int64_t k, float out[SIDE][SIDE]) {
    const number *next = right + k * LANES;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t i = 0; i < k; i += 32) {
        _tile_loadd(4, left + i, k * sizeof *left);
        _tile_loadd(5, left + LANES * k + i, k * sizeof *left);
        _tile_loadd(6, right + i * LANES, 64);
        _tile_loadd(7, next + i * LANES, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, &out[0][0], sizeof out[0]);
    _tile_stored(1, &out[0][LANES], sizeof out[0]);
    _tile_stored(2, &out[LANES][0], sizeof out[0]);
    _tile_stored(3, &out[LANES][LANES], sizeof out[0]);
}

#else
typedef float number;
#define PAIR 1

static void begin(void) {}
static void end(void) {}

#ifdef __AVX512F__
#define WIDTH 16
#define TALL 8
#else
#define WIDTH 8
#define TALL 2
#endif
#define PARTS (SIDE / WIDTH)

typedef float lanes __attribute__((vector_size(4 * WIDTH), aligned(4)));

static inline void product(const number *left, const number *right, int64_t k, float out[SIDE][SIDE]) {
    for (int row = 0; row < SIDE; row += TALL) {
        lanes sum[TALL][PARTS];
        for (int r = 0; r < TALL; r++)
            for (int p = 0; p < PARTS; p++) sum[r][p] = (lanes){0};
        const number *rows = left + row * k;
        for (int64_t i = 0; i < k; i++) {
            lanes column[PARTS];
            for (int p = 0; p < PARTS; p++)
                column[p] = *(const lanes *)(right + (p * WIDTH / LANES * k + i) * LANES + p * WIDTH % LANES);
            for (int r = 0; r < TALL; r++)
                for (int p = 0; p < PARTS; p++) sum[r][p] += rows[r * k + i] * column[p];
        }
        for (int r = 0; r < TALL; r++)
            for (int p = 0; p < PARTS; p++) *(lanes *)(out[row + r] + p * WIDTH) = sum[r][p];
    }
}

#endif

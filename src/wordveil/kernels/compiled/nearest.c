/* Screening for the nearest words: scores q.y - |y|^2/2 in bfloat16, of which only maxima are kept, and the words that can
   be nearest, picked out by float64 direct differences. Python states and adds the error bounds.

   Products are taken in the matrix registers (AMX), 32 rows by 32 columns. Columns come in tiles of 16, laid out as the
   registers read them: for each tile, for each pair of numbers of the factor, 16 columns of two numbers. Rows lie one
   after another, k numbers each, k a multiple of 32. GROUP tiles share 16 maxima, so that maximum (g, lane) is over the
   words (g * GROUP + t) * 16 + lane. Query rows are padded to a multiple of 32. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LANES 16
#define SIDE 32 /* rows, and columns, of one product */
#define GROUP 32

typedef uint16_t number;

/* Ask the system for the matrix registers; 0 on success. */
int wordveil_prepare(void) {
    return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* XTILEDATA */) == 0 ? 0 : 1;
}

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

/* Raise the running maxima of 32 queries by the scores of two tiles of words. */
static inline void scores(const number *left, const number *right, int64_t k, float best[SIDE][LANES]) {
    float out[SIDE][SIDE] __attribute__((aligned(64)));
    product(left, right, k, out);
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < LANES; c++) {
            const float larger = out[r][c] > out[r][c + LANES] ? out[r][c] : out[r][c + LANES];
            best[r][c] = larger > best[r][c] ? larger : best[r][c];
        }
}

typedef struct {
    const float *vectors;                 /* all words, (v, d) */
    const int32_t *outputs;               /* ids searched, ascending */
    const double *length, *residue, *own; /* of each maximum's words, for `bound` */
    int64_t d, count, groups;             /* dimensions, ids searched, groups of 16 maxima */
} table;

/* How far maximum i of a query may lie from the exact one: scale[0] length + scale[1] residue + own. */
static inline double bound(const table *t, const double *scale, int64_t i) {
    return scale[0] * t->length[i] + scale[1] * t->residue[i] + t->own[i];
}

/* Maxima of n queries (a multiple of 32) over every group, out (groups, n, 16), and for each query and lane the
   largest maximum less its bound, floors (n, 16), which some word certainly reaches. */
void wordveil_screen(const table *t, const number *left, int64_t n, const number *right, int64_t k,
                     const double *scales, float *out, double *floors) {
    begin();
    for (int64_t i = 0; i < n * LANES; i++) floors[i] = -1e308;
    for (int64_t g = 0; g < t->groups; g++) {
        const number *words = right + g * GROUP * LANES * k;
        for (int64_t row = 0; row < n; row += SIDE) {
            float(*best)[LANES] = (float(*)[LANES])(out + (g * n + row) * LANES);
            for (int r = 0; r < SIDE; r++)
                for (int c = 0; c < LANES; c++) best[r][c] = -3.4e38f;
            for (int i = 0; i < GROUP; i += 2) scores(left + row * k, words + i * LANES * k, k, best);
            for (int r = 0; r < SIDE; r++)
                for (int c = 0; c < LANES; c++) {
                    const double low = (double)best[r][c] - bound(t, scales + 2 * (row + r), g * LANES + c);
                    double *floor = floors + (row + r) * LANES + c;
                    *floor = low > *floor ? low : *floor;
                }
        }
    }
    _tile_release();
}

/* Maxima that, with their bound, reach their query's floor: (query, maximum) in hits, at most `room` pairs.
   Returns their number, or -1 if they do not fit. */
int64_t wordveil_hits(const table *t, int64_t n, int64_t padded, const float *maxima, const double *scales,
                      const double *floors, int64_t room, int64_t *query, int64_t *maximum) {
    int64_t found = 0;
    for (int64_t g = 0; g < t->groups; g++)
        for (int64_t r = 0; r < n; r++) {
            const float *row = maxima + (g * padded + r) * LANES;
            int any = 0;
            for (int c = 0; c < LANES; c++)
                any |= (double)row[c] + bound(t, scales + 2 * r, g * LANES + c) >= floors[r];
            if (!any) continue;
            if (found + LANES > room) return -1;
            for (int c = 0; c < LANES; c++)
                if ((double)row[c] + bound(t, scales + 2 * r, g * LANES + c) >= floors[r])
                    query[found] = r, maximum[found++] = g * LANES + c;
        }
    return found;
}

static double squared_distance(const double *query, const float *word, int64_t d) {
    double sums[8] = {0}, rest = 0;
    int64_t i = 0;
    for (; i + 8 <= d; i += 8)
        for (int j = 0; j < 8; j++) {
            const double difference = query[i + j] - (double)word[i + j];
            sums[j] += difference * difference;
        }
    for (; i < d; i++) rest += (query[i] - (double)word[i]) * (query[i] - (double)word[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) + rest;
}

/* Keep, of candidates [first, end), those within rounding of the nearest; of equal vectors the first id only. */
static int64_t nearest_only(const table *t, int64_t *column, double *distance, int64_t first, int64_t end,
                            double rounding) {
    double least = 1e308;
    for (int64_t i = first; i < end; i++) least = distance[i] < least ? distance[i] : least;
    int64_t kept = first;
    for (int64_t i = first; i < end; i++) {
        if (distance[i] > least * (1 + rounding)) continue;
        const size_t bytes = (size_t)t->d * sizeof(float);
        int64_t same = first;
        while (same < kept && same < first + 16 &&
               memcmp(t->vectors + t->outputs[column[same]] * t->d, t->vectors + t->outputs[column[i]] * t->d, bytes))
            same++;
        if (same < kept && same < first + 16) {
            if (column[i] < column[same]) column[same] = column[i];
        } else
            distance[kept] = distance[i], column[kept++] = column[i];
    }
    return kept;
}

/* Candidates of queries [from, n): every word, among those of the query's maxima, whose squared distance is at most
   limit[r]; with `one`, only those within `rounding` of the nearest. Query r has maxima hit[start[r]] .. start[r + 1].
   Stops before a row that may not fit into `room`; returns the first row not done. ends[r]: where its candidates end. */
int64_t wordveil_candidates(const table *t, int64_t from, int64_t n, const double *queries, const int64_t *start,
                            const int64_t *hit, const double *limit, double rounding, int one, int64_t room,
                            int64_t *column, double *distance, int64_t *ends) {
    int64_t end = 0;
    for (int64_t r = from; r < n; r++) {
        const int64_t first = end;
        if (end + (start[r + 1] - start[r]) * GROUP > room) return r;
        for (int64_t h = start[r]; h < start[r + 1]; h++)
            for (int g = 0; g < GROUP; g++) {
                const int64_t word = (hit[h] / LANES * GROUP + g) * LANES + hit[h] % LANES;
                if (word >= t->count) break;
                const float *vector = t->vectors + (int64_t)t->outputs[word] * t->d;
                const double squared = squared_distance(queries + r * t->d, vector, t->d);
                if (squared <= limit[r]) column[end] = word, distance[end++] = squared;
            }
        if (one) end = nearest_only(t, column, distance, first, end, rounding);
        ends[r] = end;
    }
    return n;
}

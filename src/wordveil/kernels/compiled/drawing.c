/* Random words of many documents at once: AES-128 in counter mode, byte for byte the streams of randomness.py.

   By the processor's own instructions where it has them, else bit by bit, without a table whose lines in the cache would
   tell the key (FIPS 197 for the cipher; Biham 1997 for bits of many blocks side by side; Warren, Hacker's Delight, 7-3 for
   turning them). Eight blocks are in work at once either way.
*/
#include "text.h"

enum { ROUNDS = 10, NONCE = 10, WIDE = 8, BLOCK = 16 }; /* bytes of a nonce; blocks in work at once; bytes of a block */

typedef byte lot[WIDE][BLOCK];

/* Bit by bit: of eight blocks, bit k of byte i is byte i of plane k, and block b its bit b. */
typedef uint64_t plane __attribute__((vector_size(BLOCK)));
typedef uint32_t columns __attribute__((vector_size(BLOCK)));

static void turn(lot blocks, plane *planes, int back) {
    for (int i = 0; i < BLOCK; i++) {
        uint64_t x = 0;
        for (int k = 0; k < 8; k++) x |= (uint64_t)(back ? ((byte *)&planes[k])[i] : blocks[k][i]) << 8 * k;
        x = (x & 0xAA55AA55AA55AA55u) | (x & 0x00AA00AA00AA00AAu) << 7 | (x >> 7 & 0x00AA00AA00AA00AAu);
        x = (x & 0xCCCC3333CCCC3333u) | (x & 0x0000CCCC0000CCCCu) << 14 | (x >> 14 & 0x0000CCCC0000CCCCu);
        x = (x & 0xF0F0F0F00F0F0F0Fu) | (x & 0x00000000F0F0F0F0u) << 28 | (x >> 28 & 0x00000000F0F0F0F0u);
        for (int k = 0; k < 8; k++) *(back ? &blocks[k][i] : (byte *)&planes[k] + i) = (byte)(x >> 8 * k);
    }
}

/* The product of two polynomials, bit by bit, less multiples of x^8 + x^4 + x^3 + x + 1. */
static void multiply(const plane *a, const plane *b, plane *out) {
    plane sum[15] = {{0}};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sum[i + j] ^= a[i] & b[j];
    for (int i = 14; i >= 8; i--) sum[i - 4] ^= sum[i], sum[i - 5] ^= sum[i], sum[i - 7] ^= sum[i], sum[i - 8] ^= sum[i];
    memcpy(out, sum, 8 * sizeof *out);
}

/* a^(2^times): squares put zeros between the bits. */
static void square(const plane *a, int times, plane *out) {
    memmove(out, a, 8 * sizeof *out);
    for (; times; times--) {
        plane sum[15] = {{0}};
        for (int i = 0; i < 8; i++) sum[2 * i] = out[i];
        for (int i = 14; i >= 8; i--) sum[i - 4] ^= sum[i], sum[i - 5] ^= sum[i], sum[i - 7] ^= sum[i], sum[i - 8] ^= sum[i];
        memcpy(out, sum, 8 * sizeof *out);
    }
}

/* Every byte x becomes the affine image of x^254, which is 1/x, and 0 of 0. */
static void substitute(plane *x) {
    plane two[8], three[8], twelve[8], all[8];
    square(x, 1, two);
    multiply(two, x, three);
    square(three, 2, twelve);
    multiply(twelve, three, all);   /* x^15 */
    square(all, 4, all);            /* x^240 */
    multiply(all, twelve, all);     /* x^252 */
    multiply(all, two, all);
    for (int i = 0; i < 8; i++) {
        x[i] = all[i] ^ all[(i + 4) % 8] ^ all[(i + 5) % 8] ^ all[(i + 6) % 8] ^ all[(i + 7) % 8];
        if (0x63 >> i & 1) x[i] = ~x[i];
    }
}

static void shift_rows(plane *x) {
    for (int k = 0; k < 8; k++) {
        byte old[BLOCK];
        memcpy(old, &x[k], BLOCK);
        for (int i = 0; i < BLOCK; i++) ((byte *)&x[k])[i] = old[(i + 4 * (i % 4)) % BLOCK];
    }
}

static plane rotated(plane x, int bytes) { /* a column's byte r becomes that of row r + bytes */
    columns c = (columns)x;
    return (plane)(c >> 8 * bytes | c << (32 - 8 * bytes));
}

static void mix_columns(plane *x) {
    plane sum[8], out[8];
    for (int k = 0; k < 8; k++) sum[k] = x[k] ^ rotated(x[k], 1);
    for (int k = 0; k < 8; k++) {
        out[k] = rotated(x[k], 1) ^ rotated(sum[k], 2);
        if (k) out[k] ^= sum[k - 1];
        if (0x1B >> k & 1) out[k] ^= sum[7];
    }
    memcpy(x, out, sizeof out);
}

typedef plane turned[ROUNDS + 1][8];

static void turn_keys(const byte (*keys)[BLOCK], turned planes) {
    for (int round = 0; round <= ROUNDS; round++) {
        lot same;
        for (int b = 0; b < WIDE; b++) memcpy(same[b], keys[round], BLOCK);
        turn(same, planes[round], 0);
    }
}

static void encrypt_by_bits(const turned keys, lot blocks) {
    plane x[8];
    turn(blocks, x, 0);
    for (int round = 0; round <= ROUNDS; round++) {
        if (round) substitute(x), shift_rows(x);
        if (round && round < ROUNDS) mix_columns(x);
        for (int k = 0; k < 8; k++) x[k] ^= keys[round][k];
    }
    turn(blocks, x, 1);
}

static void expand(const byte *key, byte (*keys)[BLOCK]) {
    memcpy(keys[0], key, BLOCK);
    byte constant = 1;
    for (int round = 1; round <= ROUNDS; round++) {
        lot word = {{0}};
        plane x[8];
        for (int i = 0; i < 4; i++) word[0][i] = keys[round - 1][12 + (i + 1) % 4];
        turn(word, x, 0);
        substitute(x);
        turn(word, x, 1);
        word[0][0] ^= constant;
        constant = (byte)(constant << 1 ^ (constant >> 7) * 0x1B);
        for (int i = 0; i < BLOCK; i++) keys[round][i] = keys[round - 1][i] ^ (i < 4 ? word[0][i] : keys[round][i - 4]);
    }
}

#if defined(__x86_64__)
#include <wmmintrin.h>
#define INSTRUCTIONS __attribute__((target("aes,sse2")))

static int has_instructions(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("aes");
}

INSTRUCTIONS static void encrypt(const byte (*keys)[BLOCK], lot blocks) {
    __m128i work[WIDE];
    for (int b = 0; b < WIDE; b++) work[b] = _mm_loadu_si128((const __m128i *)blocks[b]);
    for (int round = 0; round <= ROUNDS; round++) {
        const __m128i key = _mm_loadu_si128((const __m128i *)keys[round]);
        for (int b = 0; b < WIDE; b++)
            work[b] = !round ? _mm_xor_si128(work[b], key)
                      : round < ROUNDS ? _mm_aesenc_si128(work[b], key) : _mm_aesenclast_si128(work[b], key);
    }
    for (int b = 0; b < WIDE; b++) _mm_storeu_si128((__m128i *)blocks[b], work[b]);
}
#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <arm_neon.h>
#if defined(__clang__)
#define INSTRUCTIONS __attribute__((target("aes")))
#else
#define INSTRUCTIONS __attribute__((target("+crypto")))
#endif

static int has_instructions(void) {
#if defined(__linux__)
    return getauxval(AT_HWCAP) >> 3 & 1; /* HWCAP_AES */
#elif defined(__APPLE__)
    return 1;
#else
    return 0;
#endif
}

INSTRUCTIONS static void encrypt(const byte (*keys)[BLOCK], lot blocks) {
    uint8x16_t work[WIDE];
    for (int b = 0; b < WIDE; b++) work[b] = vld1q_u8(blocks[b]);
    for (int round = 0; round < ROUNDS; round++) {
        const uint8x16_t key = vld1q_u8(keys[round]);
        for (int b = 0; b < WIDE; b++) {
            work[b] = vaeseq_u8(work[b], key);
            if (round < ROUNDS - 1) work[b] = vaesmcq_u8(work[b]);
        }
    }
    for (int b = 0; b < WIDE; b++) vst1q_u8(blocks[b], veorq_u8(work[b], vld1q_u8(keys[ROUNDS])));
}
#else
static int has_instructions(void) { return 0; }
static void encrypt(const byte (*keys)[BLOCK], lot blocks) { (void)keys, (void)blocks; }
#endif

/* Whether this processor has instructions for AES. */
int wordveil_aes(void) { return has_instructions(); }

/* Write the words of documents, counts[i] of document i, from word skip of the first one on; bit by bit if asked to, or
   where there is no other way. */
void wordveil_draw(const byte *key, const byte *nonces, const int64_t *counts, int64_t documents, int64_t lane, int64_t skip,
                   int by_bits, uint64_t *words) {
    byte keys[ROUNDS + 1][BLOCK];
    turned bits;
    by_bits |= !has_instructions();
    expand(key, keys);
    if (by_bits) turn_keys((const byte(*)[BLOCK])keys, bits);
    lot blocks = {{0}};
    for (int64_t i = 0; i < documents; i++, skip = 0) {
        uint64_t place[2] = {0, 0}; /* block: 5 bytes, of which a lane holds 2^40; lane: 1 byte; nonce: 10 bytes */
        memcpy((byte *)place + 6, nonces + NONCE * i, NONCE);
        place[0] |= (uint64_t)lane << 40 | (uint64_t)skip / 2;
        for (int64_t left = counts[i], at = skip % 2; left > 0; place[0] += WIDE, at = 0) {
            for (int b = 0; b < WIDE; b++) {
                const uint64_t block[2] = {place[0] + (uint64_t)b, place[1]};
                memcpy(blocks[b], block, BLOCK);
            }
            if (by_bits) encrypt_by_bits(bits, blocks);
            else encrypt((const byte(*)[BLOCK])keys, blocks);
            const int64_t taken = left < 2 * WIDE - at ? left : 2 * WIDE - at;
            memcpy(words, (byte *)blocks + 8 * at, (size_t)(8 * taken));
            words += taken;
            left -= taken;
        }
    }
    memset(keys, 0, sizeof keys);
    memset(bits, 0, sizeof bits);
}

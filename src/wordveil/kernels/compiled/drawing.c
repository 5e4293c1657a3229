/* Random words of many documents at once: AES-128 in counter mode, byte for byte the streams of randomness.py. */
#include "text.h"

#include <wmmintrin.h>

enum { ROUNDS = 10, NONCE = 10, WIDE = 8 }; /* bytes of a nonce; blocks in work at once */

__attribute__((target("aes,sse2"))) static __m128i next_key(__m128i key, __m128i assist) {
    assist = _mm_shuffle_epi32(assist, 0xFF);
    for (int i = 0; i < 3; i++) key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    return _mm_xor_si128(key, assist);
}

__attribute__((target("aes,sse2"))) static void expand(const byte *key, __m128i *keys) {
    keys[0] = _mm_loadu_si128((const __m128i *)key);
#define EXPAND(i, constant) keys[i] = next_key(keys[i - 1], _mm_aeskeygenassist_si128(keys[i - 1], constant))
    EXPAND(1, 0x01), EXPAND(2, 0x02), EXPAND(3, 0x04), EXPAND(4, 0x08), EXPAND(5, 0x10);
    EXPAND(6, 0x20), EXPAND(7, 0x40), EXPAND(8, 0x80), EXPAND(9, 0x1B), EXPAND(10, 0x36);
}

/* Write blocks first, first + 1, ... of a document's lane: two words each. */
__attribute__((target("aes,sse2"))) static void blocks(const __m128i *keys, uint64_t low, uint64_t high, uint64_t first,
                                                       int64_t count, uint64_t *words) {
    for (int64_t done = 0; done < count; done += WIDE) {
        __m128i work[WIDE];
        for (int i = 0; i < WIDE; i++) /* a lane holds 2^40 blocks, so that nothing is carried */
            work[i] = _mm_xor_si128(_mm_set_epi64x((int64_t)high, (int64_t)(low | (first + (uint64_t)(done + i)))), keys[0]);
        for (int round = 1; round < ROUNDS; round++)
            for (int i = 0; i < WIDE; i++) work[i] = _mm_aesenc_si128(work[i], keys[round]);
        for (int i = 0; i < WIDE && done + i < count; i++)
            _mm_storeu_si128((__m128i *)(words + 2 * (done + i)), _mm_aesenclast_si128(work[i], keys[ROUNDS]));
    }
}

/* Whether this processor can draw. */
int wordveil_can_draw(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("aes");
}

/* Write the words of documents: counts[i] of document i, from word skip of the first one on. */
__attribute__((target("aes,sse2"))) void wordveil_draw(const byte *key, const byte *nonces, const int64_t *counts,
                                                       int64_t documents, int64_t lane, int64_t skip, uint64_t *words) {
    __m128i keys[ROUNDS + 1];
    expand(key, keys);
    for (int64_t i = 0; i < documents; i++, skip = 0) {
        uint64_t place[2] = {0, 0}, edge[2]; /* block: 5 bytes, lane: 1 byte, nonce: 10 bytes */
        memcpy((byte *)place + 6, nonces + NONCE * i, NONCE);
        place[0] |= (uint64_t)lane << 40;
        uint64_t block = (uint64_t)skip / 2;
        int64_t left = counts[i];
        if (skip & 1 && left) {
            blocks(keys, place[0], place[1], block++, 1, edge);
            *words++ = edge[1];
            left--;
        }
        blocks(keys, place[0], place[1], block, left / 2, words);
        words += left & ~INT64_C(1);
        if (left & 1) {
            blocks(keys, place[0], place[1], block + (uint64_t)(left / 2), 1, edge);
            *words++ = edge[0];
        }
    }
    memset(keys, 0, sizeof keys);
}

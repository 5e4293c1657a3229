/* What reading and writing text share: a table of byte strings, UTF-8, growing arrays.

   Compiled for any processor. Every function works on bytes that Python encoded, so UTF-8 is well formed but for lone
   surrogates, which come as three bytes like any other character.
*/
#ifndef WORDVEIL_TEXT_H
#define WORDVEIL_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t byte;

enum { KNOWN = 0x530, PUNCTUATION = 0x2000, PUNCTUATION_END = 0x2070, CODES = KNOWN + PUNCTUATION_END - PUNCTUATION };

/* Strings end to end: the i-th from offset i to offset i + 1. Of a vocabulary's words each has one byte behind it. */
typedef struct {
    const byte *bytes;
    const int64_t *offsets;
    int64_t count;
} strings;

/* Make room for `wanted` items of `size` bytes. A process that has no memory for a few arrays ends, as Linux would. */
static inline void *grown(void *items, int64_t *room, int64_t wanted, int64_t size) {
    if (wanted <= *room) return items;
    *room = wanted + wanted / 2 + 64;
    items = realloc(items, (size_t)(*room * size));
    if (!items) abort();
    return items;
}

/* The length of the character that begins with this byte. */
static inline int width(byte first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

/* Position of a character beyond ASCII in tables of CODES entries; -1 for those that no table speaks of. */
static inline int code_of(const byte *at) {
    int code = -1;
    if (at[0] < 0xE0) code = (at[0] & 0x1F) << 6 | (at[1] & 0x3F);
    else if (at[0] == 0xE2) code = 0x2000 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    if (code < KNOWN) return code;
    return code >= PUNCTUATION && code < PUNCTUATION_END ? code - PUNCTUATION + KNOWN : -1;
}

static inline uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* A table of distinct byte strings, numbered as they are asked for. Keyed, so that no text can be made to be slow. */
typedef struct {
    byte *bytes;
    int64_t used, room;        /* of the bytes */
    int64_t *offsets, ends;    /* count + 1 offsets, of room for so many */
    int64_t count;
    int32_t *slots;            /* number + 1, or 0 */
    int64_t mask;
    uint64_t key;
} table;

static inline uint64_t table_hash(const table *t, const byte *bytes, int64_t n) {
    uint64_t hash = t->key ^ (uint64_t)n * 0x9E3779B97F4A7C15u, part;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&part, bytes, 8);
        hash = mixed(hash ^ part);
    }
    part = 0;
    for (int64_t i = 0; i < n; i++) part = part << 8 | bytes[i];
    return mixed(hash ^ part);
}

static inline void table_spread(table *t, int64_t slots) {
    free(t->slots);
    t->slots = calloc((size_t)slots, sizeof *t->slots);
    if (!t->slots) abort();
    t->mask = slots - 1;
    for (int64_t i = 0; i < t->count; i++) {
        const byte *own = t->bytes + t->offsets[i];
        uint64_t at = table_hash(t, own, t->offsets[i + 1] - t->offsets[i]) & t->mask;
        while (t->slots[at]) at = (at + 1) & t->mask;
        t->slots[at] = (int32_t)i + 1;
    }
}

/* The number of a string, or -1. */
static inline int32_t table_find(const table *t, const byte *bytes, int64_t n) {
    if (!t->count) return -1;
    for (uint64_t at = table_hash(t, bytes, n) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
        int32_t i = t->slots[at] - 1;
        if (t->offsets[i + 1] - t->offsets[i] == n && !memcmp(t->bytes + t->offsets[i], bytes, (size_t)n)) return i;
    }
    return -1;
}

/* The number of a string, which is taken up if it is new. */
static inline int32_t table_number(table *t, const byte *bytes, int64_t n) {
    if (2 * t->count >= t->mask) table_spread(t, t->mask ? 2 * (t->mask + 1) : 1 << 10);
    uint64_t at = table_hash(t, bytes, n) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        int32_t i = t->slots[at] - 1;
        if (t->offsets[i + 1] - t->offsets[i] == n && !memcmp(t->bytes + t->offsets[i], bytes, (size_t)n)) return i;
    }
    t->bytes = grown(t->bytes, &t->room, t->used + n, 1);
    t->offsets = grown(t->offsets, &t->ends, t->count + 2, sizeof *t->offsets);
    if (n) memcpy(t->bytes + t->used, bytes, (size_t)n);
    t->offsets[t->count] = t->used;
    t->offsets[t->count + 1] = t->used += n;
    t->slots[at] = (int32_t)++t->count;
    return (int32_t)t->count - 1;
}

static inline void table_free(table *t) {
    free(t->bytes);
    free(t->offsets);
    free(t->slots);
}

#endif

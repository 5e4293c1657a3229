/* The words of a vocabulary, and how one word of a text is read as some of them: the order of text/readings.py. */
#ifndef WORDVEIL_WORDS_H
#define WORDVEIL_WORDS_H

#include "text.h"

enum { LETTER = 1, JOIN = 2, GAP = 4, UPPER = 8, LOWER = 16, DIGIT = 32 };
enum { LONGEST = 250, FUSED = 6 }; /* bytes of a word, fused words */

typedef struct {
    strings words;
    const uint64_t *hashes;    /* ascending */
    const int32_t *ids;
    const int32_t *directory;  /* first slot of the hashes that begin with these bits */
    int64_t shift;
    const byte *classes;       /* of CODES characters, none of the bits above: not plain */
    const uint16_t *lower;     /* their lower case, or the sign that they are folded to */
    strings public_keys, public_words, parts;
    const int32_t *full_words; /* id of the word that each of the parts stands for */
    uint64_t key;
    int64_t cased, html, numbers; /* numbers: whether a simple one is an unknown word; or else left alone */
} settings;

/* What a chunk reads as: `count` entries from `start` on, and the number of the gap after them. */
typedef struct {
    int64_t start, count, exempt;
    int32_t closing;
} reading;

typedef struct {
    settings s;
    uint64_t powers[LONGEST + 8];
    table gaps, alone, keys;    /* keys: the public words in lower case */
    int32_t hyphen;
    int32_t *ids, *before;      /* of the tokens read so far */
    byte *shapes;
    int64_t tokens, token_room[3];
    reading *texts;             /* start and count: of tokens */
    int64_t text_count, text_room;
    const byte *gap;            /* where the gap before the next token begins */
    byte *waiting;              /* what goes before that, gaps and public words: its bytes `from` to `upto` */
    int64_t from, upto, waiting_room;
    int64_t exempt;             /* public words in this text */
    int32_t next;               /* number of the gap before the next part of a token */
    int digits;                 /* the chunk holds a number */
    byte plain[LONGEST + 8], low[LONGEST + 8], raw[LONGEST + 8];
    reading *learned;           /* what each stretch left alone reads as */
    int64_t learned_count, learned_room;
    int32_t *part_ids, *part_gaps;
    byte *part_shapes;
    int64_t parts, part_room[3];
} reader;

#define ROOM(array, room, wanted) ((array) = grown(array, &(room), wanted, sizeof *(array)))

static int32_t find(const reader *r, const byte *word, int64_t n) {
    const settings *s = &r->s;
    uint64_t hash = 0;
    for (int64_t i = 0; i < n; i++) hash += (word[i] + UINT64_C(1)) * r->powers[i];
    hash = mixed(hash);
    const int32_t *range = s->directory + (hash >> s->shift);
    for (int32_t slot = range[0]; slot < range[1] && s->hashes[slot] <= hash; slot++) {
        if (s->hashes[slot] != hash) continue;
        const int64_t *own = s->words.offsets + s->ids[slot];
        if (own[1] - own[0] - 1 == n && !memcmp(s->words.bytes + own[0], word, (size_t)n)) return s->ids[slot];
    }
    return -1;
}

static void keep(reader *r, const byte *bytes, int64_t n) {
    r->waiting = grown(r->waiting, &r->waiting_room, r->upto + n, 1);
    if (n) memcpy(r->waiting + r->upto, bytes, (size_t)n);
    r->upto += n;
}

/* The number of the gap that ends here. */
static int32_t gap_before(reader *r, const byte *end) {
    int64_t n = end - r->gap;
    if (r->from == r->upto) return !n ? 0 : n == 1 && *r->gap == ' ' ? 1 : table_number(&r->gaps, r->gap, n);
    keep(r, r->gap, n);
    int32_t number = table_number(&r->gaps, r->waiting + r->from, r->upto - r->from);
    r->from = r->upto;
    return number;
}

static void emit(reader *r, int32_t id, byte shape) {
    r->ids[r->tokens] = id;
    r->before[r->tokens] = r->next;
    r->shapes[r->tokens++] = shape;
    r->next = 0;
}

/* The class of the character here; of one that the tables do not know, 0. */
static inline int class_at(const reader *r, const byte *at, const byte *end) {
    if (at >= end) return GAP;
    if (*at < 0x80) return r->s.classes[*at];
    int code = code_of(at);
    return code < 0 ? 0 : r->s.classes[code];
}

/* Whether the character here may belong to a token. */
static inline int tokenish(const reader *r, const byte *at, const byte *end) { return !(class_at(r, at, end) & GAP); }

static inline int ascii_at(const byte *at, const byte *end) { return at < end ? *at : ' '; }
static inline int is_digit(int c) { return c >= '0' && c <= '9'; }

/* The shape of part of the word in `plain`: 0 lower or mixed, 1 Capitalized, 2 UPPER. */
static byte shape(const reader *r, int64_t low, int64_t high) {
    const byte *at = r->plain + low, *end = r->plain + high;
    if (!(class_at(r, at, end) & UPPER)) return 0;
    int letters = 0;
    for (; at < end; at += width(*at)) {
        int class = class_at(r, at, end);
        if (class & LOWER) return 1;
        letters += class & LETTER;
    }
    return letters > 1 ? 2 : 1;
}

/* The id of part of the word as it stands, or -1. */
static int32_t whole(const reader *r, int64_t low, int64_t high) {
    if (!r->s.cased) return find(r, r->low + low, high - low);
    int32_t id = find(r, r->plain + low, high - low);
    if (id >= 0 || (id = find(r, r->low + low, high - low)) >= 0) return id;
    byte capital[LONGEST + 8];
    memcpy(capital, r->low + low, (size_t)(high - low));
    if (capital[0] >= 'a' && capital[0] <= 'z') capital[0] -= 32;
    return find(r, capital, high - low);
}

/* One side of a contraction: as listed, else the full word that it stands for. */
static void part(reader *r, int64_t low, int64_t high) {
    const strings *parts = &r->s.parts;
    int32_t id = whole(r, low, high);
    for (int64_t i = 0; id < 0 && i < parts->count; i++) {
        int64_t n = parts->offsets[i + 1] - parts->offsets[i];
        if (n == high - low && !memcmp(parts->bytes + parts->offsets[i], r->low + low, (size_t)n)) id = r->s.full_words[i];
    }
    emit(r, id, shape(r, low, high));
}

/* Where the Penn Treebank cuts a contraction; 0 if it is none. */
static int64_t cut(const reader *r, int64_t low, int64_t high) {
    static const char fused[FUSED][8] = {"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"};
    const byte *word = r->low + low, *end = r->low + high;
    int64_t n = high - low;
    for (int i = 0; i < FUSED; i++)
        if (n == (int64_t)strlen(fused[i]) && !memcmp(word, fused[i], (size_t)n)) return low + 3;
    if (n > 3 && !memcmp(end - 3, "n't", 3)) return high - 3;
    if (n > 2 && end[-2] == '\'' && (end[-1] == 's' || end[-1] == 'd' || end[-1] == 'm')) return high - 2;
    if (n > 3 && (!memcmp(end - 3, "'re", 3) || !memcmp(end - 3, "'ve", 3) || !memcmp(end - 3, "'ll", 3))) return high - 3;
    return 0;
}

static int hyphens(reader *r, int64_t low, int64_t high);

static int contraction(reader *r, int64_t low, int64_t high, int depth) {
    int64_t at = depth ? cut(r, low, high) : 0;
    if (!at) return 0;
    int32_t id = whole(r, low, at);
    if (id >= 0) emit(r, id, shape(r, low, at));
    else if (!contraction(r, low, at, depth - 1) && !hyphens(r, low, at)) part(r, low, at);
    part(r, at, high);
    return 1;
}

static int hyphens(reader *r, int64_t low, int64_t high) {
    const byte *word = r->low;
    int found = 0;
    for (int64_t i = low; i < high; i++) {
        if (word[i] != '-') continue;
        if (i == low || i + 1 == high || word[i - 1] == '-') return 0;
        found = 1;
    }
    if (!found) return 0;
    for (int64_t start = low, i = low; i <= high; i++) {
        if (i < high && word[i] != '-') continue;
        int32_t id = whole(r, start, i);
        if (id >= 0 || !contraction(r, start, i, 1)) emit(r, id, shape(r, start, i));
        r->next = r->hyphen;
        start = i + 1;
    }
    r->next = 0;
    return 1;
}

#endif

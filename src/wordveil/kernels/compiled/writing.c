/* Released ids and gaps to released texts in one pass, and their casing in a second: the rules of text/detokenization.py.

   A text that needs the case of a character which no table speaks of, or that leaves a token out, is flagged for Python
   to write. Positions are bytes of UTF-8.
*/
#include "text.h"

enum { WORD = 1, LETTER = 2 };           /* what \w matches; what [^\W\d_] matches */
enum { ODD = 0xFFFF, SEVERAL = 0xFFFE }; /* upper case of another length; of several characters */
enum { TAG = 30 };                       /* most characters of a tag behind the first letter */
enum { NO_MATCH = -1, UNSURE = -2 };

typedef struct {
    strings words;             /* one byte behind each */
    const byte *mask, *cased_mask;
    int64_t mask_size;         /* 0: a token without a word is left out */
    const byte *kinds;         /* of CODES characters: WORD, LETTER */
    const uint16_t *upper;
    int64_t sentences, cased, shapes;
} settings;

typedef struct {
    settings s;
    byte *bytes;
    int64_t used, room, start; /* of bytes; where the text that is written begins */
    int left;                  /* whether this text is left to Python */
    int bare;                  /* whether a word was written last */
    int64_t *ends;             /* of the finished texts of this part */
    byte *are_left;
    int64_t texts, text_room[2];
} writer;

typedef struct {
    strings gaps, surrogates;
    const int32_t *released, *before, *closing;
    const int64_t *counts;
    const byte *shapes, *last;
    int64_t count;
} batch;

static void put(writer *w, const byte *bytes, int64_t n) {
    if (n) memcpy(w->bytes + w->used, bytes, (size_t)n);
    w->used += n;
}

static inline int clitic(const byte *word, int64_t n) {
    if (n && (*word == '\'' || (n > 2 && !memcmp(word, "\xE2\x80\x99", 3)))) return 1;
    return n == 3 && (word[0] | 32) == 'n' && word[1] == '\'' && (word[2] | 32) == 't';
}

/* Make the character here upper case; how far that is from what Python would make of it. */
static int raised(const settings *s, byte *at) {
    int code = *at < 0x80 ? *at : code_of(at), upper = code < 0 ? ODD : s->upper[code];
    if (upper >= SEVERAL) return upper;
    if (upper < 0x80) *at = (byte)upper;
    else if (upper < 0x800) at[0] = (byte)(0xC0 | upper >> 6), at[1] = (byte)(0x80 | (upper & 0x3F));
    return 0; /* punctuation stays as it is */
}

/* Write a word in a shape: 1 Capitalized, 2 UPPER. */
static void shape(writer *w, const byte *word, int64_t n, byte shape) {
    int64_t start = w->used;
    put(w, word, n);
    for (int64_t at = start; shape && at < w->used; at += width(w->bytes[at])) {
        if (raised(&w->s, w->bytes + at)) w->left = 1;
        if (shape == 1) break;
    }
}

/* What stands for an id, and its length: a word, a surrogate, the mask. */
static inline const byte *spelled(const settings *s, const batch *b, int32_t id, int64_t *n) {
    if (id < 0) {
        *n = s->mask_size;
        return s->mask;
    }
    const strings *from = id < s->words.count ? &s->words : &b->surrogates;
    const int64_t *own = from->offsets + (id < s->words.count ? id : id - s->words.count);
    *n = own[1] - own[0] - (from == &s->words);
    return from->bytes + own[0];
}

static void write_text(writer *w, const batch *b, int64_t text, int64_t token) {
    const settings *s = &w->s;
    const int64_t *gaps = b->gaps.offsets;
    for (int64_t i = token; i < token + b->counts[text]; i++) {
        int32_t gap = b->before[i], id = b->released[i];
        int64_t n, gap_size = gaps[gap + 1] - gaps[gap];
        const byte *word = spelled(s, b, id, &n);
        if (id < 0 && !n) w->left = 1;
        w->bytes = grown(w->bytes, &w->room, w->used + gap_size + n + 2, 1);
        if (gap_size == 1) w->bytes[w->used++] = b->gaps.bytes[gaps[gap]];
        else if (gap_size) put(w, b->gaps.bytes + gaps[gap], gap_size);
        else if (w->bare && !clitic(word, n)) w->bytes[w->used++] = ' ';
        if (s->shapes && id >= 0 && id < s->words.count) shape(w, word, n, b->shapes[i]);
        else put(w, word, n);
        w->bare = 1;
    }
    const int64_t *own = gaps + b->closing[text];
    w->bytes = grown(w->bytes, &w->room, w->used + own[1] - own[0], 1);
    put(w, b->gaps.bytes + own[0], own[1] - own[0]);
    if (own[1] > own[0]) w->bare = 0;
}

/* The kind of a character; UNSURE where no table speaks of it. */
static inline int kind(const settings *s, const byte *at) {
    int code = *at < 0x80 ? *at : code_of(at);
    return code < 0 ? UNSURE : s->kinds[code];
}

static inline int is(const byte *at, const byte *end, const char *character) {
    size_t n = strlen(character);
    return at + n <= end && !memcmp(at, character, n);
}

static inline int white(const byte *at, const byte *end) {
    if (at >= end) return 0;
    if (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') return 1;
    return is(at, end, "\xC2\xA0") ? 2 : 0;
}

static int closer(const byte *at, const byte *end) {
    if (at >= end) return 0;
    if (*at < 0x80) return *at == '"' || *at == '\'' || *at == ')' || *at == ']';
    return is(at, end, "\xE2\x80\x9D") || is(at, end, "\xE2\x80\x99") ? 3 : is(at, end, "\xC2\xBB") ? 2 : 0;
}

static int opener(const byte *at, const byte *end) {
    if (at >= end) return 0;
    if (*at < 0x80) return *at == '"' || *at == '\'' || *at == '(' || *at == '[';
    if (is(at, end, "\xE2\x80\x9C") || is(at, end, "\xE2\x80\x98")) return 3;
    return is(at, end, "\xC2\xAB") || is(at, end, "\xC2\xBF") || is(at, end, "\xC2\xA1") ? 2 : 0;
}

/* The bytes of the tag that begins here, 0 if none does. */
static int64_t tag(const byte *at, const byte *end) {
    const byte *start = at;
    if (end - at < 3 || *at != '<' || !((at[1] | 32) >= 'a' ? (at[1] | 32) <= 'z' : at[1] == '/')) return 0;
    at += 2;
    for (int i = 0; i < TAG && at < end && *at != '<' && *at != '>'; i++) at += width(*at);
    return at < end && *at == '>' ? at + 1 - start : 0;
}

/* How far behind the end of a sentence the letter is that begins the next one. */
static int64_t next_sentence(const settings *s, const byte *start, const byte *end) {
    const byte *at = start, *space;
    int64_t n;
    while ((n = closer(at, end))) at += n;
    for (space = at; (n = white(at, end)) || (n = tag(at, end));) at += n;
    if (at == space) return NO_MATCH;
    while ((n = opener(at, end))) at += n;
    if (at >= end) return NO_MATCH;
    int own = kind(s, at);
    return own == UNSURE ? UNSURE : own & LETTER ? at - start : NO_MATCH;
}

/* Whether the i here is the pronoun. */
static int pronoun(const settings *s, const byte *text, const byte *at, const byte *end) {
    if (at > text) {
        const byte *before = at - 1;
        while (before > text && (*before & 0xC0) == 0x80) before--;
        int own = kind(s, before);
        if (own == UNSURE) return UNSURE;
        if (own & WORD || *before == '\'' || *before == '-' || is(before, end, "\xE2\x80\x99")) return 0;
    }
    if (++at >= end) return 1;
    int own = kind(s, at);
    if (own == UNSURE) return UNSURE;
    if (own & WORD || *at == '-') return 0;
    if (*at != '.' || at + 1 >= end) return 1;
    own = kind(s, at + 1);
    return own == UNSURE ? UNSURE : !(own & WORD);
}

/* Case a text by sentences; whether that is left to Python. */
static int case_sentences(const settings *s, byte *text, byte *end) {
    for (byte *at = text; at < end;) {
        int64_t found = NO_MATCH;
        int own = width(*at), stop = *at == '.' || *at == '!' || *at == '?' || (*at == 0xE2 && is(at, end, "\xE2\x80\xA6"));
        if (stop) found = next_sentence(s, at + own, end);
        else if (*at == 'i' && !s->cased) {
            int is_pronoun = pronoun(s, text, at, end);
            if (is_pronoun == UNSURE) return 1;
            if (is_pronoun) *at = 'I';
        }
        if (found == UNSURE) return 1;
        at += own;
        if (found < 0) continue;
        at += found;
        if (raised(s, at) == ODD) return 1;
        at += width(*at);
    }
    for (byte *at = text; at < end;) { /* the first letter */
        int own = kind(s, at);
        if (own == UNSURE) return 1;
        if (own & LETTER) return raised(s, at) == ODD;
        int64_t n = *at == '<' ? tag(at, end) : width(*at);
        if (own & WORD || !n) break;
        at += n;
    }
    return 0;
}

static void finish(writer *w) {
    const settings *s = &w->s;
    byte *text = w->bytes + w->start, *end = w->bytes + w->used;
    if (s->sentences && !w->left) {
        w->left = case_sentences(s, text, end);
        /* What casing makes of a mask that opens a sentence. */
        for (byte *at = text; s->mask_size && end - at >= s->mask_size; at++)
            if (*at == *s->cased_mask && !memcmp(at, s->cased_mask, (size_t)s->mask_size)) {
                memcpy(at, s->mask, (size_t)s->mask_size);
                at += s->mask_size - 1;
            }
    }
    w->ends[w->texts] = w->start = w->used;
    w->are_left[w->texts++] = (byte)w->left;
    w->left = w->bare = 0;
}

writer *wordveil_writer(const settings *s) {
    writer *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->s = *s;
    return w;
}

void wordveil_writer_free(writer *w) {
    free(w->bytes), free(w->ends), free(w->are_left);
    free(w);
}

/* Write a part of a batch: how many texts are finished now, where each ends, and whether it is left to Python. */
int64_t wordveil_writer_write(writer *w, const batch *b, const byte **bytes, const int64_t **ends, const byte **left) {
    if (w->start) memmove(w->bytes, w->bytes + w->start, (size_t)(w->used - w->start));
    w->used -= w->start;
    w->start = w->texts = 0;
    w->ends = grown(w->ends, w->text_room, b->count, sizeof *w->ends);
    w->are_left = grown(w->are_left, w->text_room + 1, b->count, 1);
    for (int64_t i = 0, token = 0; i < b->count; token += b->counts[i++]) {
        write_text(w, b, i, token);
        if (b->last[i]) finish(w);
    }
    *bytes = w->bytes, *ends = w->ends, *left = w->are_left;
    return w->texts;
}

/* Texts to token ids and gaps in one pass, for what is plain; what is not is left alone, for Python to read.

   A text is worked on a chunk between spaces at a time. A chunk is plain if it holds nothing but words of the letters
   in the tables, simple numbers, and gap characters that open no address, path or handle: see `follows` and `opens`,
   which are on the safe side of the alternatives in text/patterns.py. Any other chunk is numbered, together with the
   neighbours that may share a token with it (`stretch`), and stands as one token with the id -2 - number until Python
   has said what it reads as. How a word is read is the order of text/readings.py.
*/
#include "words.h"

enum { IBAN_GROUPS = 8, TAG_CHUNKS = 2001 };

/* Whether a token that ends here could be part of something longer. */
static int follows(const reader *r, const byte *at, const byte *end) {
    int class = class_at(r, at, end);
    if (!(class & GAP)) return 1;
    if (at >= end) return 0;
    switch (*at < 0x80 ? *at : (class & JOIN) ? '-' : ' ') {
    case ':':
        if (ascii_at(at + 1, end) == '/' || ascii_at(at + 1, end) == '\\' || ascii_at(at + 1, end) == ':') return 1;
        return tokenish(r, at + 1, end);
    case '@': case '+': case '.': case '_': case '-': case '/': case '\\': case '$':
        return tokenish(r, at + width(*at), end);
    }
    return 0;
}

/* Take a public word into the gap; whether the token, whose lower case is given, is one. */
static int passes(reader *r, const byte *low, int64_t n, const byte *start, const byte *end) {
    const table *keys = &r->keys;
    if (!keys->count) return 0;
    uint64_t at = table_hash(keys, low, n) & keys->mask;
    for (; keys->slots[at]; at = (at + 1) & keys->mask) {
        int32_t i = keys->slots[at] - 1;
        if (keys->offsets[i + 1] - keys->offsets[i] != n || memcmp(keys->bytes + keys->offsets[i], low, (size_t)n)) continue;
        const strings *listed = &r->s.public_words;
        keep(r, r->gap, start - r->gap);
        keep(r, listed->bytes + listed->offsets[i], listed->offsets[i + 1] - listed->offsets[i]);
        r->gap = end;
        r->exempt++;
        return 1;
    }
    return 0;
}

/* The id of a token as it is spelled, in lower case unless the vocabulary tells case apart. */
static int32_t surface(reader *r, const byte *at, const byte *end) {
    int64_t n = 0;
    for (; at < end; at += width(*at)) {
        int code = *at < 0x80 ? *at : code_of(at);
        int low = r->s.classes[code] & LETTER && !r->s.cased ? r->s.lower[code] : 0;
        memcpy(r->raw + n, at, (size_t)width(*at));
        if (low && low < 0x80) r->raw[n] = (byte)low;
        else if (low) r->raw[n] = (byte)(0xC0 | low >> 6), r->raw[n + 1] = (byte)(0x80 | (low & 0x3F));
        n += width(*at);
    }
    return find(r, r->raw, n);
}

/* Read the word that begins here; where it ends, or NULL if it is not plain. */
static const byte *word(reader *r, const byte *start, const byte *end) {
    const byte *classes = r->s.classes, *at = start;
    int64_t n = 0;
    int joins = 0, folded = 0, foreign = 0;
    while (at < end && n < LONGEST) {
        int code = *at < 0x80 ? *at : code_of(at), w = width(*at);
        if (code < 0) return NULL;
        int class = classes[code];
        if (class & LETTER) {
            memcpy(r->plain + n, at, (size_t)w);
            int low = r->s.lower[code];
            if (w == 1) {
                r->low[n++] = (byte)low;
            } else {
                r->low[n++] = (byte)(0xC0 | low >> 6);
                r->low[n++] = (byte)(0x80 | (low & 0x3F));
                foreign = 1;
            }
        } else if (class & JOIN && class_at(r, at + w, end) & LETTER) {
            r->plain[n] = r->low[n] = (byte)r->s.lower[code];
            folded |= *at != r->plain[n++];
            joins = 1;
        } else break;
        at += w;
    }
    if (at - start >= LONGEST || follows(r, at, end)) return NULL;
    if (r->keys.count && foreign) return NULL;
    if (passes(r, r->low, n, start, at)) return at;
    int32_t id = -1;
    if (folded) id = surface(r, start, at);
    if (id < 0) id = whole(r, 0, n);
    r->next = gap_before(r, start);
    r->gap = at;
    if (id >= 0 || (!contraction(r, 0, n, 2) && !(joins && hyphens(r, 0, n)))) emit(r, id, shape(r, 0, n));
    return at;
}

/* Where a run of digits and small letters ends. */
static const byte *run(const byte *at, const byte *end, int letters) {
    while (at < end && (is_digit(*at) || (letters && *at >= 'a' && *at <= 'z'))) at++;
    return at;
}

/* Read the simple number that begins here (10, 1999, 7.5, 1,000, 10/10, 80's, 20th, 9-year-old, 10:30, 100%), which is
   an unknown word or left alone by itself; where it ends, or NULL if it is not simple. */
static const byte *number(reader *r, const byte *start, const byte *end) {
    r->digits = 1;
    const byte *at = run(start, end, 1);
    int clock = 0;
    for (;;) {
        int c = ascii_at(at, end), next = ascii_at(at + 1, end), after_digit = is_digit(at[-1]);
        if ((c == '-' || c == '/') && (is_digit(next) || (next >= 'a' && next <= 'z'))) at = run(at + 1, end, 1);
        else if ((c == '.' || (c == ',' && after_digit)) && is_digit(next)) {
            const byte *digits = run(at + 1, end, 0);
            at = run(at + 1, end, 1);
            if (c == '.' && at != digits) return NULL;
        } else if (c == ':' && after_digit && is_digit(next) && !clock++) at = run(at + 1, end, 1);
        else if (c == '\'' && after_digit && next == 's') at = run(at + 1, end, 1);
        else if (c == '%' && after_digit) {
            at = run(at + 1, end, 1);
            if (at[-1] != '%') return NULL;
            break;
        } else break;
    }
    if (at - start >= LONGEST) return NULL;
    int c = ascii_at(at, end);
    if (!strchr(" \n.,!?;)\"]'-:/<>", c) || !c || follows(r, at, end)) return NULL;
    if ((c == ',' || c == '\'') && tokenish(r, at + 1, end)) return NULL;
    if (passes(r, start, at - start, start, at)) return at;
    r->next = gap_before(r, start);
    r->gap = at;
    emit(r, r->s.numbers ? -1 : -2 - table_number(&r->alone, start, at - start), 0);
    return at;
}

/* Whether the gap character here may open a token. */
static int opens(const reader *r, const byte *at, const byte *end) {
    int next = ascii_at(at + 1, end);
    switch (*at) {
    case '@': case '#':
        return tokenish(r, at + 1, end);
    case '+': case '$':
        return next == '(' || next == '+' || next == '$' || tokenish(r, at + 1, end);
    case '~':
        return next == '/' || next == '\\';
    case '/': case '\\':
        return next == '/' || next == '\\' || next == '.' || tokenish(r, at + 1, end);
    case '.':
        return next == '/' || next == '\\' || (next == '.' && (ascii_at(at + 2, end) == '/' || ascii_at(at + 2, end) == '\\'));
    case ':':
        return next == ':' || tokenish(r, at + 1, end);
    case '(':
        if (!is_digit(next)) return 0;
        at = run(at + 1, end, 0);
        return ascii_at(at, end) == ')' && !strchr(" \n,;:!?\"'", ascii_at(at + 1, end));
    }
    return 0;
}

/* Read the chunk that begins here; where it ends, or NULL if it is not plain. */
static const byte *chunk(reader *r, const byte *at, const byte *end) {
    r->digits = 0;
    while (at && at < end && *at != ' ') {
        int class = class_at(r, at, end);
        if (class & LETTER) at = word(r, at, end);
        else if (class & DIGIT) at = number(r, at, end);
        else if (*at == '\n' && !r->s.html) return at;
        else at = class & GAP && !opens(r, at, end) ? at + width(*at) : NULL;
    }
    return at;
}

/* What the neighbours of a chunk need to know of it. */
typedef struct {
    const byte *end;
    int number, iban, brackets, open; /* perhaps a number; opens an IBAN; holds < or >, the last of them < */
} outline;

static outline outlined(const reader *r, const byte *at, const byte *end) {
    outline found = {at, 0, 0, 0, 0};
    const byte *start = at;
    for (; at < end && *at != ' ' && (*at != '\n' || r->s.html); at++) {
        if (is_digit(*at)) {
            found.number = 1;
            if (at - start >= 3 && is_digit(at[-1]) && at[-2] >= 'A' && at[-2] <= 'Z' && at[-3] >= 'A' && at[-3] <= 'Z')
                found.iban = 1;
        } else if (*at >= 0xC0 && !class_at(r, at, end)) {
            found.number = 1;
        } else if (*at == '<' || *at == '>') {
            found.brackets = 1;
            found.open = *at == '<';
        }
    }
    found.end = at;
    return found;
}

/* Where the stretch ends that may share tokens with the chunk that begins here, by the rules of text/chunks.py. */
static const byte *stretch(const reader *r, const byte *at, const byte *end) {
    int groups = 0, tags = 0;
    for (outline own = outlined(r, at, end), next;; own = next) {
        if (own.iban) groups = IBAN_GROUPS;
        if (own.brackets && r->s.html) tags = own.open ? TAG_CHUNKS : 0;
        if (own.end >= end || *own.end != ' ') return own.end;
        next = outlined(r, own.end + 1, end);
        int first = ascii_at(own.end + 1, end), capital = is_digit(first) || (first >= 'A' && first <= 'Z');
        if (!(own.number && next.number) && !(groups && capital) && !tags) return own.end;
        groups = capital && groups ? groups - 1 : 0;
        tags -= tags > 0;
    }
}

static void read_text(reader *r, const byte *at, const byte *end) {
    reading *own = r->texts + r->text_count++;
    own->start = r->tokens;
    r->gap = at;
    r->from = r->upto = r->exempt = 0;
    while (at < end) {
        const int64_t tokens = r->tokens, from = r->from, upto = r->upto, exempt = r->exempt;
        const byte *gap = r->gap, *stop = chunk(r, at, end);
        if (stop && r->digits && stop < end && *stop == ' ' && outlined(r, stop + 1, end).number) stop = NULL;
        if (!stop) {
            r->tokens = tokens, r->gap = gap, r->from = from, r->upto = upto, r->exempt = exempt;
            stop = stretch(r, at, end);
            r->next = gap_before(r, at);
            emit(r, -2 - table_number(&r->alone, at, stop - at), 0);
            r->gap = stop;
        }
        at = stop < end ? stop + 1 : stop;
    }
    own->count = r->tokens - own->start;
    own->closing = gap_before(r, end);
    own->exempt = r->exempt;
}

/* Put a gap behind what waits to be one. */
static void wait_for_more(reader *r, int32_t number) {
    const int64_t *own = r->gaps.offsets + number;
    keep(r, r->gaps.bytes + own[0], own[1] - own[0]);
}

/* The number of what waits with the gap behind it. It is numbered here alone: every beginning of a long gap would be
   as large as the square of its length. */
static int32_t ended(reader *r, int32_t last) {
    if (!r->upto) return last;
    wait_for_more(r, last);
    last = table_number(&r->gaps, r->waiting, r->upto);
    r->upto = 0;
    return last;
}

reader *wordveil_reader(const settings *s) {
    reader *r = calloc(1, sizeof *r);
    if (!r) abort();
    r->s = *s;
    r->powers[0] = 1;
    for (int i = 1; i < LONGEST + 8; i++) r->powers[i] = r->powers[i - 1] * UINT64_C(0x9E3779B97F4A7C15);
    r->gaps.key = r->alone.key = r->keys.key = s->key;
    table_number(&r->gaps, (const byte *)"", 0);
    table_number(&r->gaps, (const byte *)" ", 1);
    r->hyphen = table_number(&r->gaps, (const byte *)"-", 1);
    for (int64_t i = 0; i < s->public_keys.count; i++) {
        const int64_t *own = s->public_keys.offsets + i;
        table_number(&r->keys, s->public_keys.bytes + own[0], own[1] - own[0]);
    }
    return r;
}

void wordveil_reader_free(reader *r) {
    table_free(&r->gaps);
    table_free(&r->alone);
    table_free(&r->keys);
    free(r->ids), free(r->before), free(r->shapes), free(r->texts), free(r->waiting);
    free(r->learned), free(r->part_ids), free(r->part_gaps), free(r->part_shapes);
    free(r);
}

/* Read texts; what was read before is forgotten but for the gaps and the stretches left alone. */
void wordveil_reader_read(reader *r, const strings *texts) {
    r->tokens = r->text_count = 0;
    ROOM(r->texts, r->text_room, texts->count);
    for (int64_t i = 0; i < texts->count; i++) {
        const byte *start = texts->bytes + texts->offsets[i], *end = texts->bytes + texts->offsets[i + 1];
        int64_t most = r->tokens + (end - start) + 1;
        ROOM(r->ids, r->token_room[0], most);
        ROOM(r->before, r->token_room[1], most);
        ROOM(r->shapes, r->token_room[2], most);
        read_text(r, start, end);
    }
}

/* Take up what the next stretches left alone read as: their tokens end to end, one gap more than tokens for each. */
void wordveil_reader_learn(reader *r, int64_t count, const int64_t *counts, const int64_t *exempt, const int32_t *ids,
                           const byte *shapes, const strings *gaps) {
    int64_t gap = 0, token = 0;
    ROOM(r->learned, r->learned_room, r->learned_count + count);
    for (int64_t i = 0; i < count; i++) {
        ROOM(r->part_ids, r->part_room[0], r->parts + counts[i]);
        ROOM(r->part_gaps, r->part_room[1], r->parts + counts[i]);
        ROOM(r->part_shapes, r->part_room[2], r->parts + counts[i]);
        reading *own = r->learned + r->learned_count++;
        *own = (reading){r->parts, counts[i], exempt[i], 0};
        for (int64_t j = 0; j <= counts[i]; j++, gap++) {
            const int64_t *at = gaps->offsets + gap;
            int32_t number = table_number(&r->gaps, gaps->bytes + at[0], at[1] - at[0]);
            if (j == counts[i]) {
                own->closing = number;
                break;
            }
            r->part_ids[r->parts] = ids[token];
            r->part_shapes[r->parts] = shapes[token++];
            r->part_gaps[r->parts++] = number;
        }
        gap++;
    }
}

/* How many tokens the texts have, with those of the stretches left alone. */
int64_t wordveil_reader_size(const reader *r) {
    int64_t size = 0;
    for (int64_t i = 0; i < r->tokens; i++) size += r->ids[i] < -1 ? r->learned[-2 - r->ids[i]].count : 1;
    return size;
}

/* Write out what was read, in the arrays of an EncodedBatch. */
void wordveil_reader_take(reader *r, int32_t *ids, int32_t *before, byte *shapes, int32_t *closing, int64_t *counts,
                          int64_t *exempt) {
    int64_t at = 0;
    for (int64_t i = 0; i < r->text_count; i++) {
        const reading *text = r->texts + i;
        int64_t start = at;
        exempt[i] = text->exempt;
        r->upto = 0;
        for (int64_t j = text->start; j < text->start + text->count; j++) {
            int32_t id = r->ids[j];
            if (id >= -1) {
                ids[at] = id, before[at] = ended(r, r->before[j]), shapes[at++] = r->shapes[j];
                continue;
            }
            wait_for_more(r, r->before[j]);
            const reading *own = r->learned - 2 - id;
            for (int64_t k = own->start; k < own->start + own->count; k++) {
                ids[at] = r->part_ids[k], shapes[at] = r->part_shapes[k];
                before[at++] = k == own->start ? ended(r, r->part_gaps[k]) : r->part_gaps[k];
            }
            wait_for_more(r, own->closing);
            exempt[i] += own->exempt;
        }
        closing[i] = ended(r, text->closing);
        counts[i] = at - start;
    }
}

/* The distinct strings of a table: 0 the gaps, 1 the stretches left alone. */
int64_t wordveil_reader_strings(const reader *r, int64_t which, const byte **bytes, const int64_t **offsets) {
    const table *t = which ? &r->alone : &r->gaps;
    *bytes = t->bytes;
    *offsets = t->offsets;
    return t->count;
}

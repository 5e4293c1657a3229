/* Texts to redacted texts in one pass: tokens, the rule, placeholders. The same bytes as wordveil/withholding gives,
   whose rule.py says why; here stands only how.

   Runs on any processor. A unit or gap with characters that are neither ASCII nor one of the marks is numbered, a unit
   with backticks or signs that are not seen too, and its text left until Python has said what it reads as. Letters are compared in ASCII alone.
*/
#include "text.h"

enum kind { WORD, ONE_LETTER, CAPITALIZED, CAPITALS, INITIAL, COUNTING, NUMBER, LINK, ASK };
enum { LISTED = 1, CAPITAL_MARK = 2, COMMON_NAME = 4, NAME = 6, MARK = 6, CONTRACTION = 8, COUNTS = 16, FUNCTION = 32, JOINT = 64,
       SECRET = 128, TITLE = 256, CALENDAR = 512, MONTH = 1024, TELLS = 2048, PRONOUN = 4096, SMALL = 8192, UPPERCASE = 16384,
       CAPITAL_FIRST = 32768, TOLD = 65536 };
enum { OPENS_FUNCTION = 1, OPENS_ANY = 2, OPENS = 3, DOT = 4, STOP = 8, LINE = 16, HYPHEN = 32, SLASH = 64, COLON = 128, NEAR = 256,
       APART = 512, BLANK = 1024, JOINED = 2048, CLOSES = 4096 };
enum { SHOUTED = 3, RUN = 8, LONGEST = 64, MARKS = 14 };

typedef struct {
    strings words;             /* in small letters, with the bits above */
    const uint16_t *bits;
    uint64_t key;
    int64_t strict, titles, calendar, lowest, highest; /* whole numbers kept: none where highest < 0 */
} settings;

typedef struct { int32_t low, high, kind; } part;

typedef struct {
    const byte *start, *end;
    int32_t kind, said;
    byte shouted, kept;
} token;

typedef struct {
    settings s;
    table words, units, gaps;
    part *parts;               /* of the units learned, the i-th from unit_ends[i - 1] on */
    int64_t *unit_ends, learned_units, part_count, part_room, unit_room;
    byte *shown;               /* of the gaps learned */
    int64_t *shown_ends, learned_gaps, shown_used, shown_room, gap_room;
    token *tokens;
    int32_t *around;           /* what is read of each gap, one more than tokens */
    int64_t count, token_room, around_room;
    byte *out;
    int64_t used, out_room;
    int64_t *ends;             /* start and end of each text in `out`; -1 for one that is left */
    int64_t text_count, end_room;
    int64_t counts[5];         /* words, names, numbers and links hidden; tokens kept */
} pass;

#define ROOM(array, room, wanted) ((array) = grown(array, &(room), wanted, sizeof *(array)))

static const byte printed[] = {0, 0, 1, 1, 1, 2, 2, 3};
static const char placeholder[4][10] = {"[word]", "[name]", "[number]", "[link]"};
static const char marks[MARKS][4] = {"–", "—", "‐", "‑", "‘", "’", "“", "”", "…", "•", "£", "€", "§", "°"};
enum { EN_DASH, EM_DASH, HYPHEN_MARK, FIXED_HYPHEN, OPEN, APOSTROPHE, OPEN_TWO, CLOSE_TWO, DOTS, BULLET };

static inline int is_letter(int c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static inline int is_upper(int c) { return c >= 'A' && c <= 'Z'; }
static inline int is_lower(int c) { return c >= 'a' && c <= 'z'; }
static inline int is_digit(int c) { return c >= '0' && c <= '9'; }
static inline int is_alnum(int c) { return is_letter(c) || is_digit(c); }

/* The number of the mark here that is not ASCII, or -1. */
static inline int mark_at(const byte *at, const byte *end) {
    if (*at != 0xE2 && *at != 0xC2) return -1;
    for (int i = 0; i < MARKS; i++) {
        int n = (byte)marks[i][0] == 0xC2 ? 2 : 3;
        if (end - at >= n && !memcmp(at, marks[i], (size_t)n)) return i;
    }
    return -1;
}

/* Bytes of the blank here, as str.isspace has it; 0 if it is none. */
static inline int blank(const byte *at, const byte *end) {
    if (*at < 0x80) return *at == ' ' || (*at >= 9 && *at <= 13) || (*at >= 28 && *at <= 31);
    if (*at == 0xC2) return 2 * (end - at > 1 && (at[1] == 0x85 || at[1] == 0xA0));
    if (end - at < 3) return 0;
    if (*at == 0xE1) return 3 * (at[1] == 0x9A && at[2] == 0x80);
    if (*at == 0xE3) return 3 * (at[1] == 0x80 && at[2] == 0x80);
    if (*at != 0xE2) return 0;
    if (at[1] == 0x81) return 3 * (at[2] == 0x9F);
    return 3 * (at[1] == 0x80 && (at[2] <= 0x8A || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF));
}

/* Bytes of a line break as a tag, <br>; 0 if there is none here. */
static int tag(const byte *at, const byte *end) {
    if (end - at < 4 || memcmp(at, "<br", 3)) return 0;
    const byte *c = at + 3;
    for (int n; c < end && (n = blank(c, end)); c += n) {}
    if (c < end && *c == '/') c++;
    return c < end && *c == '>' ? (int)(c + 1 - at) : 0;
}

/* Whether a character is taken off the ends of a unit; its bytes, or 0. */
static inline int around_at(const byte *at, const byte *end) {
    if (*at < 0x80) return *at && strchr("\"'()[]{}<>,.;:!?*-&", *at) != NULL;
    int mark = mark_at(at, end);
    return mark >= 0 && (mark <= EM_DASH || (mark >= OPEN && mark <= BULLET)) ? 3 : 0;
}

static inline int apostrophe(const byte *at, const byte *end) {
    if (at >= end) return 0;
    return *at == '\'' ? 1 : 3 * (*at == 0xE2 && mark_at(at, end) == APOSTROPHE);
}

static int32_t bits_of(const pass *w, const byte *word, int64_t n) {
    int32_t i = table_find(&w->words, word, n);
    return i < 0 ? 0 : w->s.bits[i];
}

/* Take up a token; `kind` is ASK where the lists are to be asked. */
static void take(pass *w, const byte *start, const byte *end, int kind) {
    ROOM(w->tokens, w->token_room, w->count + 1);
    token *t = w->tokens + w->count++;
    *t = (token){.start = start, .end = end, .kind = kind};
    if (kind != ASK) return;
    byte low[LONGEST];
    int64_t n = 0;
    int letters = 0, upper = 0, rest_upper = 0, digits = 0, signs = 0;
    for (const byte *c = start; c < end; letters++) {
        int sign = apostrophe(c, end), b = sign ? '\'' : *c;
        signs += !!sign, digits += is_digit(b);
        upper += is_upper(b), rest_upper += is_upper(b) && c > start;
        if (n < LONGEST) low[n++] = (byte)(is_upper(b) ? b + 32 : b);
        c += sign ? sign : 1;
    }
    int first = is_upper(*start);
    if (digits) t->kind = NUMBER;
    else if (!upper) t->kind = letters == 1 ? ONE_LETTER : WORD;
    else if (first && !rest_upper && (letters == 1 || apostrophe(start + 1, end))) t->kind = INITIAL;
    else t->kind = upper + signs == letters ? CAPITALS : CAPITALIZED;
    if (digits || signs > 1 || letters >= LONGEST) return;
    int32_t bits = bits_of(w, low, n), base = bits, whole = 1;
    if (!(bits & CONTRACTION) && n > 2 && low[n - 2] == '\'' && low[n - 1] == 's') base = bits_of(w, low, n - 2), whole = 0;
    if (whole && bits & COUNTS && n > 1) t->kind = COUNTING;
    int32_t listed = !whole && base & FUNCTION ? 0 : base & LISTED ? base & (LISTED | MARK) : 0;
    int32_t said = listed | (bits & (TITLE | CALENDAR | MONTH | TELLS));
    if (bits & CONTRACTION) said |= FUNCTION | JOINT;
    said |= bits & (whole ? FUNCTION | JOINT : JOINT);
    if (base & SECRET && listed) said |= whole ? SECRET : SECRET | TOLD; /* password's: the secret follows */
    if (*start == 'I' && !rest_upper && (n == 1 || (low[1] == '\'' && ((n == 3 && (low[2] == 'm' || low[2] == 'd'))
        || (n == 4 && (!memcmp(low + 2, "ve", 2) || !memcmp(low + 2, "ll", 2))))))) said |= PRONOUN;
    if (!upper) said |= SMALL;
    if (upper + signs == letters) said |= UPPERCASE;
    if (first && !rest_upper && letters > 1) said |= CAPITAL_FIRST;
    t->said = said;
}

/* Take the tokens of a unit that Python has read; 0 if it has not. */
static int take_learned(pass *w, const byte *unit, const byte *end) {
    int32_t i = table_number(&w->units, unit, end - unit);
    if (i >= w->learned_units) return 0;
    for (int64_t j = i ? w->unit_ends[i - 1] : 0; j < w->unit_ends[i]; j++)
        take(w, unit + w->parts[j].low, unit + w->parts[j].high, w->parts[j].kind);
    return 1;
}

static int all_of(const byte *at, const byte *end, int (*is)(int)) {
    for (; at < end; at++)
        if (!is(*at)) return 0;
    return 1;
}

static int spelled(int c) { return is_letter(c) || c == '\''; }
static int figure(int c) { return is_digit(c) || c == '/'; }

/* Two words of which the blank between was forgotten: an end.A beginning. */
static int sentences(const byte *at, const byte *end) {
    const byte *dot = memchr(at, '.', (size_t)(end - at));
    return dot && dot > at && end - dot > 2 && is_upper(dot[1]) && all_of(at, dot, spelled) && all_of(dot + 2, end, spelled);
}

static int link(const byte *at, const byte *end) {
    int slashes = 0;
    for (const byte *c = at; c < end; c++) {
        if (strchr("@\\#=~^|_", *c) && *c) return 1;
        if (*c == ':' && end - c > 2 && c[1] == '/' && c[2] == '/') return 1;
        if (*c == '.' && end - c > 2 && is_letter(c[1]) && (is_letter(c[2]) || apostrophe(c + 2, end))) return 1;
        if (*c == 'w' && end - c > 3 && !memcmp(c, "www.", 4)) return 1;
        slashes += *c == '/';
    }
    return slashes > 1 || *at == '/';
}

/* Letters with full stops between, as U.S.A: its kind, or -1. */
static int acronym(const byte *at, const byte *end) {
    int capitals = 0, n = (int)(end - at);
    if (n < 3 || !(n & 1)) return -1;
    for (int i = 0; i < n; i++) {
        if (i & 1 ? at[i] != '.' : !is_letter(at[i])) return -1;
        capitals += is_upper(at[i]);
    }
    if (!is_upper(*at)) return ONE_LETTER;
    return capitals == 1 || 2 * capitals == n + 1 ? INITIAL : CAPITALIZED;
}

/* Take the tokens of a unit; 0 if it is for Python to read. */
static int unit(pass *w, const byte *at, const byte *end, int foreign, int special) {
    if (foreign) return take_learned(w, at, end);
    for (int n; at < end && (n = around_at(at, end)); at += n) {}
    for (int n = 1; at < end && n;) {
        const byte *last = end - 1;
        while (last > at && (*last & 0xC0) == 0x80) last--;
        if ((n = around_at(last, end))) end = last;
    }
    if (at >= end) return 1;
    if (special) {
        const byte *c = at;
        while (c < end && !is_alnum(*c)) c++;
        if (c == end) return 1;
        if (link(at, end) && !sentences(at, end)) {
            take(w, at, end, is_digit(*at) && all_of(at, end, figure) ? NUMBER : LINK);
            return 1;
        }
        int kind = acronym(at, end);
        if (kind >= 0) {
            take(w, at, end, kind);
            return 1;
        }
    }
    while (at < end) {
        if (!is_alnum(*at)) {
            at++;
            continue;
        }
        const byte *start = at;
        for (int n = 0;; at += n) {
            while (at < end && is_alnum(*at)) at++;
            n = apostrophe(at, end);
            if (!n || at + n >= end || !is_alnum(at[n])) break;
        }
        take(w, start, at, ASK);
    }
    return 1;
}

/* What the rule reads of a gap. */
static int32_t read_gap(const byte *at, const byte *end) {
    if (end - at == 1 && *at == ' ') return NEAR | BLANK;
    int32_t said = end - at == 1 && *at == '/' ? SLASH : 0;
    int characters = 0, dots = 0, dotted = 1, hyphen = 1, lines = 0, last = -1, trailing = 0;
    for (const byte *c = at; c < end; characters++) {
        int mark = *c < 0x80 ? -1 : mark_at(c, end), n = width(*c), code = mark >= 0 ? 0x100 + mark : *c < 0x80 ? *c : 0x200;
        int space = blank(c, end);
        if (*c == '<' && tag(c, end)) code = '\n', n = tag(c, end);
        else if (*c == '\r') code = '\n', n = 1 + (c + 1 < end && c[1] == '\n');
        if (code == '.' || code == '!' || code == '?') said |= STOP | APART;
        if (code == ',' || code == ';') said |= APART;
        if (code == '\n') said |= LINE | APART, lines++;
        if (code == ':' || code == '=') said |= COLON;
        /* ['’]?\.[\s"'“”‘’(\[]* */
        if (dots) dotted &= space || code == '\n' || code == '"' || code == '\'' || code == '(' || code == '['
            || (code >= 0x100 + OPEN && code <= 0x100 + CLOSE_TWO);
        else if (code == '.') dots = 1;
        else dotted &= !characters && (code == '\'' || code == 0x100 + APOSTROPHE);
        /* [-‐‑](?:[ \t]*\n[ \t]*)? */
        if (!characters) hyphen = code == '-' || code == 0x100 + HYPHEN_MARK || code == 0x100 + FIXED_HYPHEN;
        else hyphen &= code == ' ' || code == '\t' || code == '\n';
        if (code == ' ' || code == '\t' || code == '"' || code == '\'' || code == '(' || code == '[' || code == '*' || code == '>'
            || code == '-' || code == 0x100 + EN_DASH || code == 0x100 + EM_DASH || code == 0x100 + BULLET
            || (code >= 0x100 + OPEN && code <= 0x100 + CLOSE_TWO)) trailing = 1;
        else last = code, trailing = 0;
        c += n;
    }
    if (said & LINE) said |= OPENS_ANY;
    else if (trailing && last >= 0) said |= last == '.' || last == '!' || last == '?' ? OPENS_ANY : last == ':' ? OPENS_FUNCTION : 0;
    if (dots && dotted) said |= DOT;
    if (characters && hyphen && (characters == 1 || lines == 1)) said |= HYPHEN;
    if (characters <= 2 && !(said & LINE)) said |= NEAR;
    return said;
}

static void put(pass *w, const void *bytes, int64_t n) {
    w->out = grown(w->out, &w->out_room, w->used + n, 1);
    if (n) memcpy(w->out + w->used, bytes, (size_t)n);
    w->used += n;
}

/* Whether a gap can be shown, and if `write` says so, show it. */
static int show(pass *w, const byte *at, const byte *end, int write) {
    if (end - at == 1 && *at == ' ') {
        if (write) put(w, at, 1);
        return 1;
    }
    int plain = 1;
    for (const byte *c = at; c < end && plain; c += width(*c)) plain = *c < 0x80 || mark_at(c, end) >= 0 || blank(c, end);
    if (!plain) {
        int32_t i = table_number(&w->gaps, at, end - at);
        if (i >= w->learned_gaps) return 0;
        int64_t from = i ? w->shown_ends[i - 1] : 0;
        if (write) put(w, w->shown + from, w->shown_ends[i] - from);
        return 1;
    }
    if (!write) return 1;
    int other = 0;
    for (const byte *c = at; c < end;) {
        int n = *c == '<' ? tag(c, end) : 0, space = blank(c, end);
        if (*c == '\r') n = 1 + (c + 1 < end && c[1] == '\n');
        const byte *shown = c;
        int shown_n = width(*c);
        if (n) shown = (const byte *)"\n", shown_n = 1;
        else if (space && *c != '\n') shown = (const byte *)" ", shown_n = 1, n = space;
        else if (*c == '[') shown = (const byte *)"(";
        else if (*c == ']') shown = (const byte *)")";
        else if (*c < 0x80 && *c != '\n' && (!*c || !strchr(".,;:!?'\"(){}<>*/&%$+=#@_~|^`-", *c))) shown = NULL;
        if (shown) put(w, shown, shown_n);
        else if (!other) put(w, "[other]", 7);
        other = !shown;
        c += n ? n : width(*c);
    }
    return 1;
}

/* Cut a text into tokens; 0 if some of it is for Python to read. */
static int cut(pass *w, const byte *at, const byte *end) {
    int known = 1;
    w->count = 0;
    while (at < end) {
        int n = *at == '<' ? tag(at, end) : blank(at, end);
        if (n) {
            at += n;
            continue;
        }
        const byte *start = at;
        int foreign = 0, special = 0;
        for (; at < end && !(n = blank(at, end)) && !(*at == '<' && tag(at, end)); at += width(*at)) {
            if (*at >= 0x80) foreign |= mark_at(at, end) < 0, special = 1;
            else special |= !is_letter(*at) && *at != '\'' && *at != ',', foreign |= *at < 32 || *at == 127 || *at == '`';
        }
        known &= unit(w, start, at, foreign, special);
    }
    return known;
}

static inline int capital(int kind) { return kind == CAPITALIZED || kind == CAPITALS || kind == INITIAL; }
static inline int figured(int kind) { return kind == NUMBER || kind == COUNTING; }

/* Rule 5: stretches of words in capitals. */
static void shouting(pass *w) {
    int64_t start = 0, words = 0;
    for (int64_t i = 0; i <= w->count; i++) {
        int kind = i < w->count ? w->tokens[i].kind : WORD;
        if (kind == CAPITALS || kind == INITIAL || figured(kind)) {
            words += kind == CAPITALS;
            continue;
        }
        for (int64_t j = start; words >= SHOUTED && j < i; j++) w->tokens[j].shouted = 1;
        start = i + 1, words = 0;
    }
}

static inline int opens(const pass *w, int64_t i) { return i ? w->around[i] & OPENS : OPENS_ANY; }

static int is_cased(const pass *w) {
    int64_t openers = 0, capitals = 0, first = -1, first_opener = -1;
    int small = 1;
    for (int64_t i = 0; i < w->count; i++) {
        int kind = w->tokens[i].kind;
        if (kind != WORD && kind != CAPITALIZED && kind != CAPITALS) continue;
        if (first < 0) first = i;
        small &= kind == WORD;
        if (opens(w, i) != OPENS_ANY) continue;
        if (first_opener < 0) first_opener = i;
        openers++, capitals += capital(kind);
    }
    if (small) return 0;
    if (!openers || 2 * capitals >= openers) return 1;
    return !((first_opener == first && w->tokens[first].kind == WORD) || openers >= SHOUTED);
}

static int keeps_figure(const pass *w, const token *t, int beside, int joined) {
    int64_t n = t->end - t->start, value = 0;
    if (w->s.highest < 0 || beside || joined || n > 3 || (n > 1 && *t->start == '0')) return 0;
    for (const byte *c = t->start; c < t->end; c++) {
        if (!is_digit(*c)) return 0;
        value = 10 * value + *c - '0';
    }
    return value >= w->s.lowest && value <= w->s.highest;
}

/* Rules 3 to 5: whether a token may leave from its place. */
static int may_keep(const pass *w, int64_t i, int cased) {
    const token *t = w->tokens + i, *next = i + 1 < w->count ? t + 1 : NULL;
    int32_t before = i ? w->around[i] : 0, after = w->around[i + 1], said = t->said;
    int numbered = i && figured(t[-1].kind), numbers = next && figured(next->kind), beside = numbered || numbers;
    int near = (numbered && before & NEAR) || (numbers && after & NEAR);
    int joined = !!(before & JOINED) | (next && after & JOINED);
    if (t->kind == NUMBER) return keeps_figure(w, t, beside, joined);
    if (said & (SECRET | PRONOUN)) return !joined;
    if (said & TITLE || (said & CALENDAR && !(said & LISTED && said & SMALL))) {
        if (t->kind != CAPITALIZED) return 0;
        return said & TITLE ? !!w->s.titles : w->s.calendar && (!(said & MONTH) || near);
    }
    if (!(said & LISTED) || (t->kind == COUNTING && (beside || joined))) return 0;
    int mark = said & MARK, sure = !mark, function = said & FUNCTION && mark != NAME && mark != COMMON_NAME;
    if (said & SMALL) return sure || said & FUNCTION || (cased && mark != NAME && !w->s.strict);
    int place = opens(w, i);
    if (t->end - t->start == 1) return *t->start == 'A' && next && next->kind == WORD && after & BLANK && place;
    if (said & UPPERCASE) return t->shouted && (sure || function);
    if (!place || !(said & CAPITAL_FIRST)) return 0;
    if (function) return 1;
    if (!sure || place != OPENS_ANY || w->s.strict) return 0;
    int follows = next && !(after & APART) && capital(next->kind);
    return !(follows && !(next->said & PRONOUN && !((after | w->around[i + 2]) & JOINED)));
}

/* The verdicts that look at neighbours, in their order: none reads letters of what a later one may hide. */

/* Whether a sentence ends before a token: not after what numbers a list. */
static inline int stops(const pass *w, int64_t i) {
    int before = i ? w->tokens[i - 1].kind : WORD;
    return w->around[i] & STOP && (before == WORD || before == CAPITALIZED || before == CAPITALS);
}

/* Rule 4: after a capital and a dot only a function word opens. */
static void names(pass *w) {
    for (int64_t i = 1; i < w->count; i++) {
        token *t = w->tokens + i;
        if (!(w->around[i] & DOT) || !capital(t[-1].kind)) continue;
        if (!(t->said & FUNCTION && !w->s.strict) && !(t->said & (PRONOUN | SECRET | SMALL))) t->kept = 0;
    }
}

/* Whether the token is the kept `is` after a kept word that announces. */
static int told(const pass *w, int64_t i) {
    const token *t = w->tokens + i;
    return i && t[-1].kept && t[-1].said & SECRET && t->kept && (t->said & (TELLS | SMALL)) == (TELLS | SMALL);
}

/* Rule 8: what follows a word that announces a secret. */
static void announced(pass *w) {
    /* A stretch ends where those end that begin within it. */
    for (int64_t i = 0, done = 0; i + 1 < w->count; i++) {
        const token *t = w->tokens + i;
        if (i + 1 < done || !(t->said & SECRET) || !t->kept || w->around[i + 1] & STOP) continue;
        int tells = w->around[i + 1] & COLON || w->around[i + 2] & JOINED || t->said & TOLD || capital(t[1].kind) || told(w, i + 1);
        for (int64_t j = i + 1; tells && j < w->count; done = ++j) {
            int line = (w->around[j] & (LINE | HYPHEN)) == LINE && w->tokens[j].kind != NUMBER && !told(w, j - 1);
            if (j > i + 1 && (line || stops(w, j))) break;
            if (!(w->tokens[j].said & (SECRET | PRONOUN)) && !told(w, j)) w->tokens[j].kept = 0;
        }
    }
}

/* Whether hyphens or slashes join a token to another. */
static inline int joined(const pass *w, int64_t i) {
    return (i && w->around[i] & JOINED) || (i + 1 < w->count && w->around[i + 1] & JOINED);
}

/* Rule 8: runs of words without a stop or a joint. In a compound a joint ends no run: it may yet be hidden. */
static void phrases(pass *w) {
    for (int64_t i = 0, start = 0, counted = 0; i <= w->count; i++) {
        const token *t = w->tokens + i;
        int ends = i == w->count || stops(w, i), joint = i < w->count && t->said & JOINT && t->kept && !joined(w, i);
        if (ends || joint) {
            for (int64_t j = start; counted >= RUN && j < i; j++)
                if (!(w->tokens[j].said & (SECRET | PRONOUN))) w->tokens[j].kept = 0;
            start = i + joint, counted = 0;
        }
        if (i == w->count || joint) continue;
        int listed = !i || w->around[i] & LINE || (w->around[i] & STOP && !ends);
        counted += t->kind == WORD || t->kind == COUNTING || t->kind == CAPITALS || (t->kind == CAPITALIZED && listed);
    }
}

/* Rule 6: what hyphens or slashes join. */
static void compounds(pass *w) {
    for (int64_t i = 1, start = 0; i <= w->count; i++) {
        if (i < w->count && w->around[i] & JOINED) continue;
        int slash = 0, other = 0, whole = 1;
        for (int64_t j = start; i - start > 1 && j < i; j++) {
            const token *t = w->tokens + j;
            slash |= j > start && w->around[j] & SLASH;
            other |= t->kind != WORD;
            whole &= t->kept || figured(t->kind);
        }
        for (int64_t j = start; ((slash && other) || !whole) && j < i; j++) w->tokens[j].kept = 0;
        start = i;
    }
}

static void judge(pass *w) {
    shouting(w);
    int cased = is_cased(w);
    for (int64_t i = 0; i < w->count; i++) w->tokens[i].kept = (byte)!!may_keep(w, i, cased);
    names(w), announced(w), phrases(w), compounds(w);
}

/* Whether a hidden token goes on in the placeholder of the one before it. */
static int runs_on(const byte *at, const byte *end, int kind) {
    if (end - at == 1) return *at == ' ' || *at == '-' || (kind == NUMBER && *at && strchr(".,:/'", *at));
    if (end - at != 3 || kind != NUMBER) return 0;
    int mark = mark_at(at, end);
    return mark == EN_DASH || mark == APOSTROPHE;
}

static void write(pass *w, const byte *at, const byte *end) {
    int open = -1; /* what the last placeholder says, if nothing came after it */
    for (int64_t i = 0; i < w->count; i++) {
        const token *t = w->tokens + i;
        int said = printed[t->kind];
        w->counts[t->kept ? 4 : said]++;
        if (t->kept || open != said || !runs_on(at, t->start, t->kind)) {
            show(w, at, t->start, 1);
            if (!t->kept) put(w, placeholder[said], (int64_t)strlen(placeholder[said]));
            for (const byte *c = t->start; t->kept && c < t->end;) {
                int sign = apostrophe(c, t->end);
                const byte *stop = c + !sign;
                while (!sign && stop < t->end && *stop < 0x80) stop++;
                put(w, sign ? (const byte *)"'" : c, sign ? 1 : stop - c);
                c = sign ? c + sign : stop;
            }
        }
        open = t->kept ? -1 : said;
        at = t->end;
    }
    show(w, at, end, 1);
}

/* Redact one text; 0 if some of it is for Python to read. */
static int redact(pass *w, const byte *at, const byte *end) {
    if (!cut(w, at, end)) return 0;
    ROOM(w->around, w->around_room, w->count + 2);
    const byte *from = at;
    int known = 1;
    for (int64_t i = 0; i <= w->count; i++) {
        const byte *to = i < w->count ? w->tokens[i].start : end;
        int32_t said = read_gap(from, to);
        w->around[i] = said & (HYPHEN | SLASH) ? said | JOINED : said;
        known &= show(w, from, to, 0);
        if (i < w->count) from = w->tokens[i].end;
    }
    if (!known) return 0;
    judge(w);
    write(w, at, end);
    return 1;
}

pass *wordveil_withholding(const settings *s) {
    pass *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->s = *s;
    w->words.key = w->units.key = w->gaps.key = s->key;
    for (int64_t i = 0; i < s->words.count; i++)
        table_number(&w->words, s->words.bytes + s->words.offsets[i], s->words.offsets[i + 1] - s->words.offsets[i]);
    return w;
}

/* Redact those texts that are not done, all where `from_start`; how many units and gaps are for Python to read. */
int64_t wordveil_withhold(pass *w, const strings *texts, int64_t from_start) {
    if (from_start) w->used = 0, w->text_count = texts->count, memset(w->counts, 0, sizeof w->counts);
    ROOM(w->ends, w->end_room, 2 * texts->count);
    for (int64_t i = 0; i < texts->count; i++) {
        if (!from_start && w->ends[2 * i] >= 0) continue;
        int64_t start = w->used;
        int done = redact(w, texts->bytes + texts->offsets[i], texts->bytes + texts->offsets[i + 1]);
        w->ends[2 * i] = done ? start : -1;
        w->ends[2 * i + 1] = w->used;
    }
    return w->units.count - w->learned_units + w->gaps.count - w->learned_gaps;
}

/* Units (0) or gaps (1) that were met so far. */
int64_t wordveil_withholding_strings(const pass *w, int64_t gaps, const byte **bytes, const int64_t **offsets) {
    const table *t = gaps ? &w->gaps : &w->units;
    *bytes = t->bytes;
    *offsets = t->offsets;
    return t->count;
}

/* Learn the tokens of the next units, as triples, so many of each. */
void wordveil_withholding_units(pass *w, int64_t units, const int64_t *counts, const part *parts) {
    for (int64_t i = 0; i < units; i++) {
        ROOM(w->parts, w->part_room, w->part_count + counts[i]);
        if (counts[i]) memcpy(w->parts + w->part_count, parts, (size_t)counts[i] * sizeof *parts);
        parts += counts[i];
        ROOM(w->unit_ends, w->unit_room, w->learned_units + 1);
        w->unit_ends[w->learned_units++] = w->part_count += counts[i];
    }
}

/* Learn what is shown of the next gaps. */
void wordveil_withholding_gaps(pass *w, const strings *shown) {
    for (int64_t i = 0; i < shown->count; i++) {
        int64_t n = shown->offsets[i + 1] - shown->offsets[i];
        w->shown = grown(w->shown, &w->shown_room, w->shown_used + n, 1);
        if (n) memcpy(w->shown + w->shown_used, shown->bytes + shown->offsets[i], (size_t)n);
        ROOM(w->shown_ends, w->gap_room, w->learned_gaps + 1);
        w->shown_ends[w->learned_gaps++] = w->shown_used += n;
    }
}

/* The bytes written, and where each text lies in them. */
const byte *wordveil_withheld(const pass *w, const int64_t **ends, const int64_t **counts) {
    *ends = w->ends;
    *counts = w->counts;
    return w->out;
}

void wordveil_withholding_free(pass *w) {
    table_free(&w->words), table_free(&w->units), table_free(&w->gaps);
    free(w->parts), free(w->unit_ends), free(w->shown), free(w->shown_ends), free(w->tokens), free(w->around);
    free(w->out), free(w->ends), free(w);
}

/* Finds where hints of secrets begin in a text, at nearly the speed of memory.
 *
 * redaction/prefilter.py compiles all hints into one program (a nondeterministic automaton). Here it becomes a DFA, which runs from
 * where a hint may begin, and tables of openings, which tell from the first bytes where that is. Openings are put into buckets, so
 * that one lookup per byte position and a bitwise AND test all of them (the Teddy algorithm; with AVX2, 32 positions at a time).
 */
#include "cpu.h"
#include "sitelore_native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { TAKE, SPLIT, JUMP, EDGE }; /* instructions, numbered as in prefilter.py */
enum { DEAD, FOUND, AFTER_WORD, AFTER_OTHER, OTHERS }; /* states that every DFA has, and the first other one */
enum { MAX_STATES = 1 << 13, MAX_HELD = 1 << 18, MAX_CODE = MAX_HELD / 8, MAX_OPENINGS = 1 << 12 };
enum { APART = 2, PLACES = 6, BUCKETS = 64, FIRST_PLACES = 4, WIDE_PLACES = 3, FIRST_BUCKETS = 32, GROUPS = FIRST_BUCKETS / 8 };
enum { BLOCK = 1024, LANES = 32, AT_A_TIME = 6 };

static int is_word(int byte) {
    return byte == '_' || (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* Bytes that no set tells apart are of one class. Returns the number of classes. */
static int32_t classify_bytes(const uint8_t *sets, int64_t count, uint8_t *byte_class) {
    int32_t classes = 1;
    memset(byte_class, 0, 256);
    for (int64_t at = -1; at < count; at++) {
        int32_t renamed[2 * 256], fresh = 0;
        memset(renamed, -1, sizeof renamed);
        for (int byte = 0; byte < 256; byte++) {
            int in = at < 0 ? is_word(byte) : sets[at * 32 + byte / 8] >> byte % 8 & 1, old = byte_class[byte] * 2 + in;
            if (renamed[old] < 0) renamed[old] = fresh++;
            byte_class[byte] = (uint8_t)renamed[old];
        }
        classes = fresh;
    }
    return classes;
}

/* ---- from the program to a DFA ---- */

/* A state is a set of instructions that take a byte: twice the number of each, plus one where a word has to begin or end there. */
typedef struct {
    const int32_t *code; /* pairs: instruction, operand */
    int32_t count;
    const uint8_t *sets; /* of bytes, as bits */
    int32_t classes;
    uint8_t sample[256]; /* a byte of each class */
    uint16_t *next;      /* for each state and class of bytes: the state after it */
    int32_t states;
    int32_t *held;         /* the instruction sets of all states, one after another */
    int32_t *start;        /* where the set of each state starts, and the end of the last one */
    int32_t *slots;        /* states by the hash of their set */
    uint32_t *seen, turn;  /* which instructions are in the set that is being built */
    int32_t *fresh, size;  /* that set, sorted */
    int32_t found;         /* whether a hint ends in it */
    int32_t *stack, *taken, *last;
} DfaBuilder;

static void put(DfaBuilder *m, int32_t item) {
    int32_t to = m->size++;
    for (; to && m->fresh[to - 1] > item; to--) m->fresh[to] = m->fresh[to - 1];
    m->fresh[to] = item;
}

/* Adds all instructions that are reached without consuming a byte. */
static void reach(DfaBuilder *m, int32_t item, int32_t at_start) {
    int32_t depth = 0;
    m->stack[depth++] = item;
    while (depth) {
        item = m->stack[--depth];
        int32_t at = item >> 1, edge = item & 1;
        if (at >= m->count) m->found = 1;
        if (at >= m->count || m->seen[item] == m->turn) continue;
        m->seen[item] = m->turn;
        int32_t what = m->code[2 * at], with = m->code[2 * at + 1];
        if (what == TAKE) put(m, item);
        if (what == SPLIT || what == JUMP) m->stack[depth++] = (at + with) * 2 + edge;
        if (what == SPLIT) m->stack[depth++] = (at + 1) * 2 + edge;
        /* Word edges further on are ignored: every match is confirmed by the full pattern. */
        if (what == EDGE) m->stack[depth++] = (at + 1) * 2 + (edge | at_start);
    }
}

static void begin_set(DfaBuilder *m) {
    m->turn++;
    m->size = m->found = 0;
}

/* The state of the set just built. Where there is no room for it, FOUND: every match is confirmed by the full pattern. */
static uint16_t state_of(DfaBuilder *m) {
    if (m->found) return FOUND;
    if (!m->size) return DEAD;
    uint32_t hash = 2166136261u; /* FNV-1a, an item a step */
    for (int32_t i = 0; i < m->size; i++) hash = (hash ^ (uint32_t)m->fresh[i]) * 16777619u;
    size_t bytes = (size_t)m->size * sizeof *m->fresh;
    uint32_t slot = (hash ^ hash >> 15) % (2 * MAX_STATES);
    for (; m->slots[slot]; slot = (slot + 1) % (2 * MAX_STATES)) {
        int32_t state = m->slots[slot], from = m->start[state];
        if (m->start[state + 1] - from == m->size && !memcmp(m->held + from, m->fresh, bytes)) return (uint16_t)state;
    }
    int32_t from = m->start[m->states];
    if (m->states == MAX_STATES || from + m->size > MAX_HELD) return FOUND;
    memcpy(m->held + from, m->fresh, bytes);
    m->start[m->states + 1] = from + m->size;
    m->slots[slot] = m->states;
    return (uint16_t)m->states++;
}

static int32_t takers(DfaBuilder *m, int32_t state, int byte) {
    int32_t count = 0;
    for (int32_t i = m->start[state]; i < m->start[state + 1]; i++) {
        int32_t item = m->held[i];
        const uint8_t *set = m->sets + (int64_t)m->code[(item >> 1) * 2 + 1] * 32;
        if (set[byte / 8] >> byte % 8 & 1 && !(item & 1 && is_word(byte) == (state == AFTER_WORD))) m->taken[count++] = item;
    }
    return count;
}

static void follow(DfaBuilder *m, int32_t state) {
    uint16_t *row = m->next + (int64_t)state * m->classes;
    int32_t before = -1;
    for (int32_t cls = 0; cls < m->classes; cls++) {
        int32_t count = takers(m, state, m->sample[cls]);
        if (count == before && !memcmp(m->taken, m->last, (size_t)count * sizeof *m->taken)) {
            row[cls] = row[cls - 1]; /* neighbouring classes mostly lead to the same state */
            continue;
        }
        begin_set(m);
        for (int32_t i = 0; i < count; i++) reach(m, ((m->taken[i] >> 1) + 1) * 2, 0);
        row[cls] = state_of(m);
        int32_t *spare = m->last;
        m->last = m->taken;
        m->taken = spare;
        before = count;
    }
}

/* 0 when there is nothing to search for: no hint, or one that matches the empty text. */
static int make_states(DfaBuilder *m) {
    for (int32_t cls = 0; cls < m->classes; cls++) {
        m->next[DEAD * m->classes + cls] = DEAD;
        m->next[FOUND * m->classes + cls] = FOUND;
    }
    begin_set(m);
    reach(m, 0, 1);
    if (m->found || !m->size) return 0;
    for (int32_t state = AFTER_WORD; state <= AFTER_OTHER; state++) {
        memcpy(m->held + m->start[state], m->fresh, (size_t)m->size * sizeof *m->fresh);
        m->start[state + 1] = m->start[state] + m->size;
    }
    m->states = OTHERS;
    for (int32_t state = AFTER_WORD; state < m->states; state++) follow(m, state);
    return 1;
}

/* ---- from the DFA to tables of openings ---- */

typedef struct {
    uint64_t bits[4];
} Bytes;

/* The bytes that some hints begin with, by position. */
typedef struct {
    Bytes at[PLACES];
    double cost; /* how common such text is */
    int32_t number;
} Opening;

/* A union of openings: text matches it when each byte is in any of them at that position. */
typedef struct {
    Bytes at[PLACES];
    double weight[PLACES];
} Bucket;

typedef struct {
    const uint16_t *next;
    const uint8_t *byte_class;
    int32_t classes;
    double weight[256]; /* how common each byte is */
    Opening *openings;
    int32_t count;
    uint16_t *room; /* for two lists of states */
    uint8_t *met;   /* states that are in one of them */
    Bucket *buckets;
} Plan;

static int has(const Bytes *bytes, int byte) { return (int)(bytes->bits[byte / 64] >> byte % 64 & 1); }
static void add(Bytes *bytes, int byte) { bytes->bits[byte / 64] |= (uint64_t)1 << byte % 64; }

/* How common the bytes are that are not among the others. */
static double weight_beside(const Plan *p, const Bytes *bytes, const Bytes *others) {
    double sum = 0;
    for (int word = 0; word < 4; word++)
        for (uint64_t left = bytes->bits[word] & ~others->bits[word]; left; left &= left - 1)
            sum += p->weight[word * 64 + __builtin_ctzll(left)];
    return sum;
}

/* The lower and the upper nibbles of bytes, as bits. */
static void halves(const Bytes *bytes, uint32_t *lower, uint32_t *upper) {
    *lower = *upper = 0;
    for (int half = 0; half < 16; half++) {
        uint32_t row = bytes->bits[half / 4] >> half % 4 * 16 & 0xFFFF;
        *lower |= row;
        *upper |= (uint32_t)(row != 0) << half;
    }
}

/* The union; with `by_halves` also the bytes that combine a lower nibble of one with an upper nibble of another. */
static Bytes both(const Bytes *one, const Bytes *two, int by_halves) {
    Bytes all;
    for (int word = 0; word < 4; word++) all.bits[word] = one->bits[word] | two->bits[word];
    if (!by_halves) return all;
    uint32_t lower, upper;
    halves(&all, &lower, &upper);
    memset(&all, 0, sizeof all);
    for (int half = 0; half < 16; half++)
        if (upper >> half & 1) all.bits[half / 4] |= (uint64_t)lower << half % 4 * 16;
    return all;
}

/* All bytes that may follow a state, from the given position on. */
static void spread(const Plan *p, int32_t state, int place, Opening *opening) {
    uint16_t *states = p->room, *others = p->room + MAX_STATES;
    int32_t count = 1;
    states[0] = (uint16_t)state;
    for (; place < PLACES; place++) {
        int32_t more = 0;
        uint8_t takes[256] = {0};
        memset(p->met, 0, MAX_STATES);
        for (int32_t i = 0; i < count; i++)
            for (int32_t cls = 0; cls < p->classes; cls++) {
                uint16_t to = p->next[(int64_t)states[i] * p->classes + cls];
                if (to == DEAD) continue;
                takes[cls] = 1;
                if (!p->met[to]) others[more++] = to;
                p->met[to] = 1;
            }
        for (int byte = 0; byte < 256; byte++)
            if (takes[p->byte_class[byte]]) add(opening->at + place, byte);
        uint16_t *spare = states;
        states = others;
        others = spare;
        count = more;
    }
}

/* Openings that differ in their first bytes stay separate. 0 when there is no room for all. */
static int open_from(Plan *p, const uint16_t *row, int place, const Opening *until) {
    Bytes done = {{0}};
    for (int byte = 0; byte < 256; byte++) {
        int32_t to = row[p->byte_class[byte]];
        if (to == DEAD || has(&done, byte)) continue;
        Opening opening = *until;
        for (int other = byte; other < 256; other++)
            if (row[p->byte_class[other]] == to) add(opening.at + place, other);
        done = both(&done, opening.at + place, 0);
        if (place + 1 < APART) {
            if (!open_from(p, p->next + (int64_t)to * p->classes, place + 1, &opening)) return 0;
            continue;
        }
        if (p->count == MAX_OPENINGS) return 0;
        spread(p, to, APART, &opening);
        opening.number = p->count;
        p->openings[p->count++] = opening;
    }
    return 1;
}

static int by_cost(const void *one, const void *two) {
    const Opening *a = one, *b = two;
    if (a->cost != b->cost) return a->cost < b->cost ? 1 : -1;
    return a->number - b->number;
}

static double join(const Plan *p, const Opening *opening, int places, int by_halves, Bucket *bucket) {
    double was = 1, is = 1;
    for (int i = 0; i < places; i++) {
        Bytes all = both(opening->at + i, bucket->at + i, by_halves);
        was *= bucket->weight[i];
        is *= bucket->weight[i] += weight_beside(p, &all, bucket->at + i);
        bucket->at[i] = all;
    }
    return is - was;
}

/* Puts all openings into few buckets, the commonest first, each where it adds the fewest false matches. */
static void share(const Plan *p, int places, int most, int by_halves) {
    int used = 0;
    memset(p->buckets, 0, BUCKETS * sizeof *p->buckets);
    for (Opening *opening = p->openings; opening < p->openings + p->count; opening++)
        opening->cost = join(p, opening, places, by_halves, &(Bucket){.weight = {0}});
    qsort(p->openings, (size_t)p->count, sizeof *p->openings, by_cost);
    for (const Opening *opening = p->openings; opening < p->openings + p->count; opening++) {
        double least = used < most ? 2 * opening->cost : INFINITY;
        int best = used;
        for (int bucket = 0; bucket < used; bucket++) {
            Bucket joined = p->buckets[bucket];
            double more = join(p, opening, places, by_halves, &joined);
            if (more < least) least = more, best = bucket;
        }
        used += best == used;
        join(p, opening, places, by_halves, p->buckets + best);
    }
}

static uint64_t buckets_with(const Plan *p, int count, int place, int byte) {
    uint64_t found = 0;
    for (int bucket = 0; bucket < count; bucket++) found |= (uint64_t)has(p->buckets[bucket].at + place, byte) << bucket;
    return found;
}

/* For each position and byte the buckets that have it, as bits: for the first positions, then for all. The AVX2 search has its own
 * buckets of fewer positions, looked up by nibbles, eight buckets a group. */
typedef struct {
    uint64_t first[FIRST_PLACES][256]; /* the upper half is for an opening that starts one byte later */
    uint64_t all[PLACES][256];
    uint8_t lower[WIDE_PLACES][GROUPS][16], upper[WIDE_PLACES][GROUPS][16];
} Openings;

static void write_first(const Plan *p, int place, Openings *openings) {
    for (int byte = 0; byte < 256; byte++) {
        uint64_t later = place ? buckets_with(p, FIRST_BUCKETS, place - 1, byte) : UINT32_MAX;
        openings->first[place][byte] = buckets_with(p, FIRST_BUCKETS, place, byte) | later << FIRST_BUCKETS;
    }
}

static void write_halves(const Plan *p, int place, Openings *openings) {
    for (int bucket = 0; bucket < FIRST_BUCKETS; bucket++) {
        uint32_t lower, upper;
        halves(p->buckets[bucket].at + place, &lower, &upper);
        for (int half = 0; half < 16; half++) {
            openings->lower[place][bucket / 8][half] |= (uint8_t)((lower >> half & 1) << bucket % 8);
            openings->upper[place][bucket / 8][half] |= (uint8_t)((upper >> half & 1) << bucket % 8);
        }
    }
}

static void write_openings(const Plan *p, Openings *openings) {
    memset(openings, 0, sizeof *openings);
    share(p, WIDE_PLACES, FIRST_BUCKETS, 1);
    for (int place = 0; place < WIDE_PLACES; place++) write_halves(p, place, openings);
    share(p, FIRST_PLACES, FIRST_BUCKETS, 0);
    for (int place = 0; place < FIRST_PLACES; place++) write_first(p, place, openings);
    share(p, PLACES, BUCKETS, 0);
    for (int place = 0; place < PLACES; place++)
        for (int byte = 0; byte < 256; byte++) openings->all[place][byte] = buckets_with(p, BUCKETS, place, byte);
}

/* The bytes of web pages, commonest first; frequency halves every eleven bytes. */
static const char COMMON[] = " etaionr\"s-lcdpm.ugh:0f/1b,2vw=y35>4<\\_6x;897k\n\t{})(CqAS&P'IzjMETB%L";

static int make_openings(const DfaBuilder *m, const uint8_t *byte_class, Openings *openings) {
    Plan plan = {.next = m->next, .byte_class = byte_class, .classes = m->classes};
    double common = 0.07;
    for (int byte = 0; byte < 256; byte++) plan.weight[byte] = 0.0003;
    for (const char *at = COMMON; *at; at++, common *= 0.939) plan.weight[(uint8_t)*at] = common;
    /* Every hint may begin at a word edge, so openings start from there. */
    uint16_t first[256];
    for (int byte = 0; byte < 256; byte++)
        first[byte_class[byte]] = m->next[(is_word(byte) ? AFTER_OTHER : AFTER_WORD) * m->classes + byte_class[byte]];
    plan.openings = malloc(MAX_OPENINGS * sizeof *plan.openings);
    plan.room = malloc(2 * MAX_STATES * sizeof *plan.room);
    plan.met = malloc(MAX_STATES);
    plan.buckets = malloc(BUCKETS * sizeof *plan.buckets);
    int done = plan.openings && plan.room && plan.met && plan.buckets;
    done = done && open_from(&plan, first, 0, &(Opening){.cost = 0});
    if (done) write_openings(&plan, openings);
    free(plan.openings);
    free(plan.room);
    free(plan.met);
    free(plan.buckets);
    return done;
}

int64_t prefilter_build(const int32_t *code, int64_t count, const uint8_t *sets, int64_t set_count, uint8_t *byte_class, uint16_t *next,
                        void *openings, int64_t openings_size, int64_t *sizes) {
    if (count <= 0 || count > MAX_CODE || openings_size < (int64_t)sizeof(Openings)) return 0;
    size_t n = (size_t)count, parts[] = {MAX_HELD, MAX_STATES + 1, 2 * MAX_STATES, 2 * n, 2 * n, 4 * n + 1, 2 * n, 2 * n}, total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) total += parts[i];
    int32_t *room = calloc(total, sizeof *room), *at = room;
    if (!room) return 0;
    DfaBuilder m = {.code = code, .count = (int32_t)count, .sets = sets, .next = next};
    m.held = at, at += parts[0];
    m.start = at, at += parts[1];
    m.slots = at, at += parts[2];
    m.seen = (uint32_t *)at, at += parts[3];
    m.fresh = at, at += parts[4];
    m.stack = at, at += parts[5];
    m.taken = at, at += parts[6];
    m.last = at;
    m.classes = classify_bytes(sets, set_count, byte_class);
    for (int byte = 0; byte < 256; byte++) m.sample[byte_class[byte]] = (uint8_t)byte;
    int64_t done = make_states(&m) && make_openings(&m, byte_class, openings);
    sizes[0] = m.states;
    sizes[1] = m.classes;
    free(room);
    return done;
}

/* ---- the search ---- */

typedef struct {
    const uint8_t *text;
    int64_t length;
    const uint8_t *byte_class;
    int64_t classes;
    const uint16_t *next;
    int64_t steps;
} Search;

/* Whether a hint begins at an offset. */
static int begins(Search *search, int64_t at) {
    const uint8_t *begin = search->text + at, *end = search->text + search->length, *here = begin;
    int64_t state = at && is_word(here[-1]) ? AFTER_WORD : AFTER_OTHER;
    while (here < end && state > FOUND) state = search->next[state * search->classes + search->byte_class[*here++]];
    search->steps += here - begin;
    return state == FOUND;
}

static inline uint64_t meet(const uint64_t table[][256], const uint8_t *here, int places) {
    uint64_t hit = (uint64_t)-1;
    for (int place = 0; place < places; place++) hit &= table[place][here[place]];
    return hit;
}

#ifdef __x86_64__
/* Offsets where an opening may begin. A few more readable bytes follow the text. */
TARGET_AVX2 static int32_t search_wide(const Openings *openings, const uint8_t *text, int32_t size, uint16_t *maybe) {
    int32_t some = 0;
    const __m256i half = _mm256_set1_epi8(15), none = _mm256_setzero_si256();
    for (int32_t at = 0; at < size; at += LANES) {
        __m256i hit[GROUPS], any = none;
        for (int i = 0; i < GROUPS; i++) hit[i] = _mm256_set1_epi8(-1);
        for (int place = 0; place < WIDE_PLACES; place++) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at + place));
            __m256i low = _mm256_and_si256(bytes, half), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
            for (int i = 0; i < GROUPS; i++) {
                __m256i lower = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)openings->lower[place][i]));
                __m256i upper = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)openings->upper[place][i]));
                __m256i here = _mm256_and_si256(_mm256_shuffle_epi8(lower, low), _mm256_shuffle_epi8(upper, high));
                hit[i] = _mm256_and_si256(hit[i], here);
            }
        }
        for (int i = 0; i < GROUPS; i++) any = _mm256_or_si256(any, hit[i]);
        uint32_t hits = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any, none));
        /* A fixed number at a time: their count is random, and a mispredicted branch costs more than writing too many. */
        int32_t count = (int32_t)_mm_popcnt_u32(hits);
        for (int32_t done = 0; done < count; done += AT_A_TIME)
            for (int32_t i = 0; i < AT_A_TIME; i++, hits = _blsr_u32(hits)) maybe[some + done + i] = (uint16_t)(at + (int32_t)_tzcnt_u32(hits));
        some += count;
    }
    return some;
}
#endif

/* The scalar version: two bytes a step and no branches, which would be mispredicted. */
static int32_t search_scalar(const Openings *openings, const uint8_t *text, int32_t from, int32_t size, uint16_t *maybe) {
    int32_t some = 0;
    for (int32_t at = from; at < size; at += 2) {
        uint64_t hit = meet(openings->first, text + at, FIRST_PLACES);
        maybe[some] = (uint16_t)at;
        some += (uint32_t)hit != 0;
        maybe[some] = (uint16_t)(at + 1);
        some += hit >> FIRST_BUCKETS != 0;
    }
    return some;
}

/* Offsets of openings in an even number of bytes, ascending; PLACES more bytes follow them. */
static int32_t find_openings(const Openings *openings, const uint8_t *text, int32_t size, uint16_t *found) {
    uint16_t maybe[BLOCK + AT_A_TIME];
    int32_t some = 0, count = 0, from = 0;
#ifdef __x86_64__
    if (cpu_has_avx2()) {
        from = size / LANES * LANES;
        some = search_wide(openings, text, from, maybe);
    }
#endif
    some += search_scalar(openings, text, from, size, maybe + some);
    for (int32_t i = 0; i < some; i++) {
        found[count] = maybe[i];
        count += meet(openings->all, text + maybe[i], PLACES) != 0;
    }
    return count;
}

/* Stops when the DFA has taken more steps than four times the text: hostile text would take the square of its length. */
int64_t prefilter_find(const uint8_t *text, int64_t length, const uint8_t *byte_class, int64_t classes, const uint16_t *next,
                          const void *openings, int64_t *offsets, int64_t room, int64_t *reached) {
    Search search = {text, length, byte_class, classes, next, 0};
    uint16_t found[BLOCK + 1];
    int64_t count = 0, at = 0;
    for (int32_t size; at + PLACES + 2 <= length; at += size) {
        size = length - at <= BLOCK + PLACES ? (int32_t)(length - at - PLACES) / 2 * 2 : BLOCK;
        int32_t few = find_openings(openings, text + at, size, found);
        for (int32_t i = 0; i < few; i++) {
            *reached = at + found[i];
            if (count == room || search.steps > 4 * at + (1 << 16)) return count;
            if (begins(&search, *reached)) offsets[count++] = *reached;
        }
    }
    for (; at < length; at++) {
        *reached = at;
        if (count == room) return count;
        if (begins(&search, at)) offsets[count++] = at;
    }
    *reached = length;
    return count;
}

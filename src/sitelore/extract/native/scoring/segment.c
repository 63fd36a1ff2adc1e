/* Splits a page's serialised HTML into blocks of text and the elements around them, in one pass.
 *
 * Elements may nest to any depth. An end tag without a start tag is ignored, and the first element is the root: it is closed by
 * nothing but the end of the input, so every block is inside an element.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 400, SHORTEST_COMPOUND = 6, CACHED_BYTES = 16, CACHE_SLOTS = 1024 };

/* Counts of the block that is being read. `letters`: what its characters are more than one letter each, in LETTERs. */
typedef struct {
    int64_t begin, words, linked, bold, letters, links, images, breaks; /* words, linked, bold: in WORDs */
    int64_t classes[CHARACTER_CLASSES];
} Span;

/* What the last character was: nothing or a space, a part of a word, or a character of a script without spaces. */
enum { AFTER_SPACE, IN_WORD, AFTER_JOINED };

typedef struct { uint8_t word[CACHED_BYTES]; int64_t marks; } CachedWord;

typedef struct {
    Page *page;
    const Vocabulary *vocabulary;
    int64_t block_room, element_room, stack_room, depth, max_blocks;
    int64_t *stack; /* rows of the open elements */
    int64_t links_open, bold_open;
    int state; /* AFTER_SPACE, IN_WORD or AFTER_JOINED */
    Span span;
    uint64_t counted[128]; /* per ASCII character: one in the byte of the integer that its class has */
    uint8_t is_ink[128], is_alphanumeric[128];
    CachedWord cache[CACHE_SLOTS]; /* pages repeat the words of their class names */
} Segmenter;

/* Makes room for one more item. 0 when memory is out. */
static int grow(void **items, int64_t *room, int64_t count, size_t size) {
    if (count < *room) return 1;
    int64_t more = *room ? 2 * *room : 256;
    void *moved = realloc(*items, (size_t)more * size);
    if (!moved) return 0;
    *items = moved, *room = more;
    return 1;
}

/* A copy in which `&nbsp;` is a space and `&amp;` an ampersand, so that words are counted as they read. */
static int64_t decode_references(const uint8_t *html, int64_t length, uint8_t *out) {
    const uint8_t *at = html, *end = html + length;
    uint8_t *to = out;
    while (at < end) {
        const uint8_t *mark = memchr(at, '&', (size_t)(end - at));
        size_t size = (size_t)((mark ? mark : end) - at);
        memcpy(to, at, size), to += size, at += size;
        if (!mark) break;
        if (end - at >= 6 && !memcmp(at, "&nbsp;", 6)) *to++ = ' ', at += 6;
        else if (end - at >= 5 && !memcmp(at, "&amp;", 5)) *to++ = '&', at += 5;
        else *to++ = *at++;
    }
    return to - out;
}

/* ---- marks: what class, id and role hint at ---- */

/* Marks of a word in lower case: its own, or else those of the mark words inside it, the longest at each place first. */
static int64_t marks_of_word(const Vocabulary *v, const uint8_t *word, int64_t size) {
    const MarkWord *known = find_mark(v, word, size);
    if (known && known->marks) return known->marks;
    if (size < SHORTEST_COMPOUND) return 0;
    int64_t marks = 0, shortest = v->settings.shortest_part > 1 ? v->settings.shortest_part : 1;
    for (int64_t at = 0; at + shortest <= size;) {
        int64_t part = v->longest_mark[pair_of(word + at, size - at)];
        if (part > size - at) part = size - at;
        for (; part >= shortest; part--)
            if ((known = find_mark(v, word + at, part))) {
                marks |= known->marks;
                break;
            }
        at += part >= shortest ? part : 1;
    }
    return marks;
}

static int64_t cached_marks(Segmenter *s, const uint8_t *word, int64_t size) {
    uint8_t plain[NAMES_BYTES] = {0};
    for (int64_t i = 0; i < size; i++) plain[i] = word[i] | 32;
    if (size > CACHED_BYTES) return marks_of_word(s->vocabulary, plain, size);
    uint64_t parts[2];
    memcpy(parts, plain, sizeof parts);
    CachedWord *slot = &s->cache[((parts[0] ^ parts[1] * 31) * 0x9E3779B97F4A7C15ull >> 32) % CACHE_SLOTS];
    if (memcmp(slot->word, plain, CACHED_BYTES)) {
        memcpy(slot->word, plain, CACHED_BYTES);
        slot->marks = marks_of_word(s->vocabulary, plain, size);
    }
    return slot->marks;
}

static int is_lower(uint8_t byte) { return byte >= 'a' && byte <= 'z'; }
static int is_upper(uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }

/* A word is a run of lower-case letters with at most one capital before it, or a run of capitals. */
static int64_t marks_of_names(Segmenter *s, const uint8_t *names, int64_t size) {
    int64_t marks = 0;
    for (int64_t at = 0; at < size;) {
        int64_t end = at;
        if (is_upper(names[at]) && at + 1 < size && is_lower(names[at + 1])) end++;
        if (end > at || is_lower(names[at])) {
            while (end < size && is_lower(names[end])) end++;
        } else if (is_upper(names[at])) {
            while (end < size && is_upper(names[end])) end++;
        } else {
            at++;
            continue;
        }
        marks |= cached_marks(s, names + at, end - at);
        at = end;
    }
    return marks;
}

static int64_t starts_with(const uint8_t *at, const uint8_t *end, const char *prefix) {
    size_t size = strlen(prefix);
    return (size_t)(end - at) >= size && !memcmp(at, prefix, size) ? (int64_t)size : 0;
}

/* The size of ` name="` where one of the attributes begins that name an element, else 0. */
static int64_t naming_attribute(const uint8_t *at, const uint8_t *end) {
    static const char *const names[] = {" class=\"", " id=\"", " role=\"", " itemprop=\"", " data-testid=\"", " data-component=\"",
                                        " data-qa=\""};
    for (size_t i = 0; i < sizeof names / sizeof *names && at + 1 < end; i++) {
        if (at[1] != (uint8_t)names[i][1]) continue;
        int64_t size = starts_with(at, end, names[i]);
        if (size) return size;
    }
    return 0;
}

/* The values of those attributes with a space between each two, cut off at NAMES_BYTES. */
static int64_t names_of(const uint8_t *at, const uint8_t *end, uint8_t *names) {
    int64_t size = 0, found = 0;
    while (at < end && (at = memchr(at, ' ', (size_t)(end - at)))) {
        int64_t skip = naming_attribute(at, end);
        const uint8_t *value = at + skip, *close = skip ? memchr(value, '"', (size_t)(end - value)) : NULL;
        if (!close) {
            at++;
            continue;
        }
        if (found++ && size < NAMES_BYTES) names[size++] = ' ';
        int64_t part = close - value < NAMES_BYTES - size ? close - value : NAMES_BYTES - size;
        memcpy(names + size, value, (size_t)part);
        size += part, at = close + 1;
    }
    return size;
}

static uint32_t crc_step(const Vocabulary *v, uint32_t crc, uint8_t byte) { return v->crc_table[(crc ^ byte) & 255] ^ (crc >> 8); }

static int64_t signature_of(const Vocabulary *v, const uint8_t *tag, int64_t size, const uint8_t *names, int64_t names_size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (int64_t i = 0; i < size; i++) crc = crc_step(v, crc, tag[i]);
    crc = crc_step(v, crc, '|');
    for (int64_t i = 0; i < names_size; i++)
        if (names[i] < '0' || names[i] > '9') crc = crc_step(v, crc, names[i]);
    return (int64_t)(crc ^ 0xFFFFFFFFu);
}

/* ---- blocks and elements ---- */

/* Rounded; something that is not white space is at least one word. */
static int64_t whole_words(int64_t words) { return words > 0 && words < WORD ? 1 : (words + WORD / 2) / WORD; }

/* The span of text ends here; with a word in it, it is a block. */
static int64_t end_span(Segmenter *s) {
    Page *page = s->page;
    const Span *span = &s->span;
    int64_t chars = 0;
    for (int class = CLASS_OTHER; class < CHARACTER_CLASSES; class++) chars += span->classes[class];
    if (chars > 0 && page->element_count > 0) {
        if (page->block_count == s->max_blocks) return STATUS_TOO_MANY_BLOCKS;
        if (!grow((void **)&page->blocks, &s->block_room, page->block_count, sizeof *page->blocks)) return STATUS_NO_MEMORY;
        const int64_t *classes = span->classes, words = whole_words(span->words);
        Block block = {
            .begin = span->begin, .end = page->text_size, .words = words ? words : 1, .chars = chars + span->letters / LETTER,
            .linked = whole_words(span->linked), .bold = whole_words(span->bold),
            .links = span->links, .images = span->images, .breaks = span->breaks,
            .element = s->depth ? s->stack[s->depth - 1] : 0,
            .digits = classes[CLASS_DIGIT], .stops = classes[CLASS_STOP], .commas = classes[CLASS_COMMA],
            .bars = classes[CLASS_BAR], .signs = classes[CLASS_SIGN], .currency = classes[CLASS_CURRENCY],
        };
        page->blocks[page->block_count++] = block;
    }
    s->span = (Span){.begin = page->text_size};
    s->state = AFTER_SPACE;
    return STATUS_OK;
}

static int64_t open_element(Segmenter *s, const Tag *tag, const uint8_t *name, int64_t size, const uint8_t *end) {
    Page *page = s->page;
    if (!grow((void **)&page->elements, &s->element_room, page->element_count, sizeof *page->elements)) return STATUS_NO_MEMORY;
    if (!grow((void **)&s->stack, &s->stack_room, s->depth, sizeof *s->stack)) return STATUS_NO_MEMORY;
    uint8_t names[NAMES_BYTES];
    int64_t names_size = tag && tag->flags & TAG_INLINE ? 0 : names_of(name + size, end, names);
    page->elements[page->element_count] = (Element){
        .parent = s->depth ? s->stack[s->depth - 1] : -1,
        .level = s->depth + 1,
        .first = page->block_count,
        .last = page->block_count,
        .tag = tag ? tag->number : 0,
        .marks = marks_of_names(s, names, names_size),
        .signature = signature_of(s->vocabulary, name, size, names, names_size),
        .order = page->opened - 1,
    };
    s->stack[s->depth++] = page->element_count++;
    return STATUS_OK;
}

/* Counts ASCII text by class, all classes at once: each has one byte of an integer, so 255 characters are added at a time. Returns where
 * the text ends or another character begins. */
static const uint8_t *take_ascii(Segmenter *s, const uint8_t *at, const uint8_t *end, int64_t *begun) {
    int in_word = s->state == IN_WORD;
    const uint8_t *until = at;
    while (until < end && *until < 128) {
        const uint8_t *stop = end - at > 255 ? at + 255 : end;
        uint64_t counts = 0;
        for (until = at; until < stop && *until < 128; until++) {
            int is_ink = s->is_ink[*until];
            *begun += is_ink & ~in_word, in_word = is_ink;
            counts += s->counted[*until];
        }
        at = until;
        for (int class = CLASS_OTHER; class < CHARACTER_CLASSES; class++) s->span.classes[class] += (int64_t)(counts >> 8 * class & 255);
    }
    s->state = in_word ? IN_WORD : AFTER_SPACE;
    return until;
}

/* Counts one character; returns how much of a word it adds. A sign between characters of a script without spaces begins no word. */
static int64_t take_character(Segmenter *s, const Character *next) {
    if (next->class == CLASS_SPACE) {
        s->state = AFTER_SPACE;
        return 0;
    }
    s->span.classes[next->class]++, s->span.letters += next->letters - LETTER;
    int is_part = next->words > 0, is_sign = !next->is_letter && next->class != CLASS_DIGIT;
    int is_between = is_sign && (s->state == AFTER_JOINED || next->code >> 8 == 0x30 || next->code >> 8 == 0xFF);
    int64_t added = is_part ? next->words : s->state != IN_WORD && !is_between ? WORD : 0;
    s->state = is_part || is_between ? AFTER_JOINED : IN_WORD;
    return added;
}

/* Copies text and counts its words and its characters by class. */
static void take_text(Segmenter *s, const uint8_t *at, const uint8_t *end) {
    memcpy(s->page->text + s->page->text_size, at, (size_t)(end - at));
    s->page->text_size += end - at;
    int64_t words = 0;
    while (at < end) {
        int is_sign = *at < 128 && s->is_ink[*at] && !s->is_alphanumeric[*at];
        if (*at < 128 && !(is_sign && s->state == AFTER_JOINED)) {
            int64_t begun = 0;
            at = take_ascii(s, at, end, &begun);
            words += begun * WORD;
        } else {
            Character next = character_at(at, end);
            words += take_character(s, &next);
            at += next.size;
        }
    }
    s->span.words += words;
    if (s->links_open > 0) s->span.linked += words;
    if (s->bold_open > 0) s->span.bold += words;
}

/* Reads one tag; `at` points behind its `<`, `name_end` behind its name and `close` at its `>`. */
static int64_t take_tag(Segmenter *s, const uint8_t *at, const uint8_t *name_end, const uint8_t *close) {
    const VocabularySettings *known = &s->vocabulary->settings;
    Page *page = s->page;
    int is_end = *at == '/';
    const uint8_t *name = at + is_end;
    const Tag *tag = find_tag(s->vocabulary, name, name_end - name);
    int step = is_end ? -1 : tag && tag->flags & TAG_VOID ? 0 : 1, number = tag ? tag->number : 0;
    int is_first = !page->element_count && step > 0;
    page->opened += !is_end;
    if (number == known->link) s->links_open += step;
    if (s->vocabulary->is_bold[number]) s->bold_open += step;
    if (is_first || !(tag && tag->flags & TAG_INLINE)) {
        int64_t status = end_span(s);
        if (status == STATUS_OK && step > 0) status = open_element(s, tag, name, name_end - name, close);
        if (status != STATUS_OK) return status;
        if (step < 0 && s->depth > 1) page->elements[s->stack[--s->depth]].last = page->block_count;
    }
    s->span.links += number == known->link && step > 0;
    s->span.images += number == known->image;
    s->span.breaks += number == known->line_break;
    return STATUS_OK;
}

static int64_t read_html(Segmenter *s, const uint8_t *html, int64_t length) {
    const uint8_t *end = html + length, *at = length ? memchr(html, '<', (size_t)length) : NULL;
    int64_t status = STATUS_OK;
    while (at && status == STATUS_OK) {
        const uint8_t *name_end = at + 1;
        while (name_end < end && *name_end != ' ' && *name_end != '>') name_end++;
        const uint8_t *close = name_end < end ? memchr(name_end, '>', (size_t)(end - name_end)) : NULL;
        if (!close) break;
        status = take_tag(s, at + 1, name_end, close);
        const uint8_t *text = close + 1;
        at = text < end ? memchr(text, '<', (size_t)(end - text)) : NULL;
        if ((at ? at : end) > text) take_text(s, text, at ? at : end);
    }
    return status == STATUS_OK ? end_span(s) : status;
}

int64_t segment(Page *page, const uint8_t *html, int64_t length, int64_t max_blocks) {
    Segmenter *s = calloc(1, sizeof *s);
    size_t size = length > 0 ? (size_t)length : 1; /* no byte more: a sanitizer notices reading past the end */
    uint8_t *source = malloc(size);
    page->text = malloc(size);
    int64_t status = s && source && page->text ? STATUS_OK : STATUS_NO_MEMORY;
    if (status == STATUS_OK) {
        s->page = page, s->vocabulary = page->vocabulary, s->max_blocks = max_blocks;
        for (int byte = 0; byte < 128; byte++) {
            const uint8_t text[] = {(uint8_t)byte};
            Character known = character_at(text, text + 1);
            s->is_ink[byte] = known.class != CLASS_SPACE;
            s->is_alphanumeric[byte] = known.is_letter || known.class == CLASS_DIGIT;
            s->counted[byte] = s->is_ink[byte] ? (uint64_t)1 << 8 * known.class : 0;
        }
        status = read_html(s, source, decode_references(html, length, source));
        for (; s->depth; s->depth--) page->elements[s->stack[s->depth - 1]].last = page->block_count;
    }
    if (s) free(s->stack);
    free(s), free(source);
    if (status == STATUS_OK && !page->block_count) status = STATUS_NO_BLOCKS;
    return status;
}

/* What a text is recognised by, in one look at it. `measuring.py` says in Python what this computes, and does it where this was not
 * compiled.
 */
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SLICES = 8, STEP = 32, MOST_SUMS = 5552 }; /* as many bytes as Adler-32's sums take without a remainder (zlib's NMAX) */

static uint32_t crc_of[SLICES][256];

/* The tables of CRC-32 (ISO 3309), eight bytes a step. */
__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xEDB88320u ^ crc >> 1 : crc >> 1;
        crc_of[0][n] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int n = 0; n < 256; n++) crc_of[slice][n] = crc_of[slice - 1][n] >> 8 ^ crc_of[0][crc_of[slice - 1][n] & 255];
}

static uint32_t crc32(const uint8_t *at, const uint8_t *end) {
    uint32_t crc = 0xFFFFFFFFu;
    for (; end - at >= SLICES; at += SLICES) {
        uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = crc_of[7][low & 255] ^ crc_of[6][low >> 8 & 255] ^ crc_of[5][low >> 16 & 255] ^ crc_of[4][low >> 24] ^
              crc_of[3][at[4]] ^ crc_of[2][at[5]] ^ crc_of[1][at[6]] ^ crc_of[0][at[7]];
    }
    for (; at < end; at++) crc = crc_of[0][(crc ^ *at) & 255] ^ crc >> 8;
    return ~crc;
}

static uint32_t adler32(const uint8_t *at, const uint8_t *end) {
    uint32_t one = 1, two = 0;
    while (at < end) {
        uint32_t count = end - at > MOST_SUMS ? MOST_SUMS : (uint32_t)(end - at), sum = 0, weighed = 0;
        for (uint32_t i = 0; i < count; i++) {
            sum += at[i];
            weighed += (count - i) * at[i];
        }
        two = (two + count * one % 65521 + weighed % 65521) % 65521;
        one = (one + sum) % 65521;
        at += count;
    }
    return two << 16 | one;
}

static void put(uint8_t *to, uint32_t number) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(number >> 8 * i);
}

/* Two checksums of every line of a text: all of one kind, then all of the other. Of more than `most` lines, the first and the last
 * half of so many. How many lines that is. */
static int64_t sketch(const uint8_t *text, int64_t length, int64_t most, uint8_t *out) {
    const uint8_t *end = text + length, *at = text;
    int64_t lines = 1, number = 0, kept = 0;
    for (const uint8_t *next = text; (next = memchr(next, '\n', (size_t)(end - next))); next++) lines++;
    int64_t room = lines > most ? most / 2 * 2 : lines;
    for (; number < lines; number++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (lines <= most || number < most / 2 || number >= lines - most / 2) {
            put(out + 4 * kept, crc32(at, stop));
            put(out + 4 * (room + kept++), adler32(at, stop));
        }
        at = stop + 1;
    }
    return room;
}

static int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* Bytes without digits, of which most texts have few: a step of many bytes at once where there is none. */
static uint8_t *without_digits(const uint8_t *at, const uint8_t *end, uint8_t *to) {
    while (at < end) {
        int64_t step = end - at < STEP ? end - at : STEP;
        int digits = 0;
        if (step == STEP)
            for (int i = 0; i < STEP; i++) digits |= is_digit(at[i]);
        if (step == STEP && !digits) {
            memcpy(to, at, STEP);
            to += STEP;
        } else {
            for (int i = 0; i < step; i++) {
                *to = at[i];
                to += !is_digit(at[i]);
            }
        }
        at += step;
    }
    return to;
}

static int is_space(uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

/* Title and text as one line in lower case, without white space round it (`normal`); the same without digits (`plain`), and the
 * sketch of the text in lower case. `sizes` gets: where `normal` begins, its size, the size of `plain`, how many spaces are in
 * `normal`, the lines of the sketch. `normal` and `plain` need room for both and a line's end between them. */
EXPORT void measure(const uint8_t *title, int64_t title_length, const uint8_t *text, int64_t length, int64_t most, uint8_t *normal,
                    uint8_t *plain, uint8_t *out, int64_t *sizes) {
    memcpy(normal, title, (size_t)title_length);
    normal[title_length] = '\n';
    uint8_t *body = normal + title_length + 1;
    memcpy(body, text, (size_t)length);
    int64_t from = 0, to = title_length + 1 + length, digits_left, spaces = 0;
    for (int64_t i = 0; i < to; i++) normal[i] = (uint8_t)(normal[i] | (normal[i] >= 'A' && normal[i] <= 'Z') << 5);
    sizes[4] = sketch(body, length, most, out);
    for (int64_t i = 0; i < to; i++) normal[i] = normal[i] == '\n' ? ' ' : normal[i];
    while (from < to && is_space(normal[from])) from++;
    while (to > from && is_space(normal[to - 1])) to--;
    for (int64_t i = from; i < to; i++) spaces += normal[i] == ' ';
    digits_left = without_digits(normal + from, normal + to, plain) - plain;
    sizes[0] = from;
    sizes[1] = to - from;
    sizes[2] = digits_left;
    sizes[3] = spaces;
}

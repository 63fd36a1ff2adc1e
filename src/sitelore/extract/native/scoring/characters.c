/* Characters of all scripts: their class, and how much of a word they are.
 *
 * Sizes are comparable between scripts. Where spaces separate words, words are counted; elsewhere each character is a part of a word.
 */
#include "page.h"

static int is_between(uint32_t code, uint32_t first, uint32_t last) { return code - first <= last - first; }

static int is_kana(uint32_t code) {
    return is_between(code, 0x3041, 0x30FF) || is_between(code, 0x31F0, 0x31FF) || is_between(code, 0xFF66, 0xFF9D);
}

static int is_han(uint32_t code) {
    return is_between(code, 0x4E00, 0x9FFF) || is_between(code, 0x3400, 0x4DBF) || is_between(code, 0xF900, 0xFAFF) ||
           is_between(code, 0x20000, 0x3FFFD) || code == 0x3005 || code == 0x3007;
}

static int is_hangul(uint32_t code) {
    return is_between(code, 0xAC00, 0xD7A3) || is_between(code, 0x1100, 0x11FF) || is_between(code, 0x3130, 0x318F);
}

/* Thai, Lao, Burmese, Khmer. */
static int is_unspaced_alphabet(uint32_t code) {
    return is_between(code, 0x0E01, 0x0EDF) || is_between(code, 0x1000, 0x109F) || is_between(code, 0x1780, 0x17DF);
}

static int class_of(uint32_t code) {
    switch (code) {
    case '\t': case '\n': case '\v': case '\f': case '\r': case ' ': case 0x85: case 0xA0: case 0x1680: case 0x2028: case 0x2029:
    case 0x202F: case 0x205F: case 0x3000: return CLASS_SPACE;
    case '.': case '!': case '?': case 0x0589: case 0x061F: case 0x06D4: case 0x0964: case 0x0965: case 0x104B: case 0x1362: case 0x17D4:
    case 0x3002: case 0xFF01: case 0xFF0E: case 0xFF1F: case 0xFF61: return CLASS_STOP;
    case ',': case ';': case 0x060C: case 0x061B: case 0x104A: case 0x3001: case 0xFF0C: case 0xFF1B: case 0xFF64: return CLASS_COMMA;
    case '|': case 0xBB: case 0xFF5C: return CLASS_BAR;
    case '@': case 0xA9: return CLASS_SIGN;
    case '$': case 0xA3: case 0xA5: case 0xFF04: case 0xFFE5: return CLASS_CURRENCY;
    default: break;
    }
    if (is_between(code, '0', '9') || is_between(code, 0x0660, 0x0669) || is_between(code, 0x06F0, 0x06F9) ||
        is_between(code, 0x0966, 0x096F) || is_between(code, 0xFF10, 0xFF19))
        return CLASS_DIGIT;
    if (is_between(code, 0x2000, 0x200A)) return CLASS_SPACE;
    return is_between(code, 0x20A0, 0x20CF) ? CLASS_CURRENCY : CLASS_OTHER;
}

static int is_symbol(uint32_t code) {
    if (code < 0x80) return !is_between(code | 32, 'a', 'z') && !is_between(code, '0', '9');
    return is_between(code, 0x80, 0xBF) || code == 0xD7 || code == 0xF7 || is_between(code, 0x2000, 0x2BFF) ||
           is_between(code, 0x3000, 0x303F) || code == 0x30FB || is_between(code, 0xFE10, 0xFE6F) || is_between(code, 0xFF01, 0xFF0F) ||
           is_between(code, 0xFF1A, 0xFF20) || is_between(code, 0xFF3B, 0xFF40) || is_between(code, 0xFF5B, 0xFF65) ||
           is_between(code, 0x1F000, 0x1FAFF) || code == 0xFEFF;
}

/* The code point at `at`, which is before `end`; its size goes to `size`. A byte that is not UTF-8 stands for itself. */
static uint32_t decode(const uint8_t *at, const uint8_t *end, int *size) {
    uint32_t code = *at;
    int length = code < 0xC2 ? 1 : code < 0xE0 ? 2 : code < 0xF0 ? 3 : code < 0xF5 ? 4 : 1;
    *size = 1;
    if (length == 1 || end - at < length) return code;
    uint32_t full = code & (0x7Fu >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) return code;
        full = full << 6 | (at[i] & 0x3Fu);
    }
    *size = length;
    return full;
}

Character character_at(const uint8_t *at, const uint8_t *end) {
    Character found = {.letters = LETTER};
    found.code = decode(at, end, &found.size);
    found.class = class_of(found.code);
    found.is_letter = found.class == CLASS_OTHER && !is_symbol(found.code);
    if (!found.is_letter || found.code < 0x0E00) return found;
    if (is_han(found.code)) found.letters = 3 * LETTER, found.words = 6 * WORD / 10;
    else if (is_kana(found.code)) found.letters = 7 * LETTER / 4, found.words = 35 * WORD / 100;
    else if (is_hangul(found.code)) found.letters = 9 * LETTER / 4, found.is_joined = 1;
    else if (is_unspaced_alphabet(found.code)) found.words = WORD / 5;
    if (found.words) found.is_joined = 1;
    return found;
}

uint32_t fold_case(uint32_t code) {
    if (is_between(code, 'A', 'Z') || (is_between(code, 0xC0, 0xDE) && code != 0xD7)) return code + 32;
    if (is_between(code, 0x391, 0x3A9) || is_between(code, 0x410, 0x42F)) return code + 32;
    return is_between(code, 0x400, 0x40F) ? code + 80 : code;
}

#include "page.h"

#include <string.h>

/* How many bytes the character that begins here takes; 0 where no character does. What Unicode, §3.9, table 3-7 lists. */
static int64_t size_of_character(const uint8_t *at, const uint8_t *end) {
    uint8_t low = 0x80, high = 0xBF;
    int64_t more = *at < 0xC2 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : *at < 0xF5 ? 3 : 0;
    if (!more || end - at <= more) return 0;
    if (*at == 0xE0) low = 0xA0;
    if (*at == 0xED) high = 0x9F; /* no surrogates */
    if (*at == 0xF0) low = 0x90;
    if (*at == 0xF4) high = 0x8F;
    if (at[1] < low || at[1] > high) return 0;
    for (int64_t i = 2; i <= more; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    return more + 1;
}

/* Whether bytes are UTF-8. */
EXPORT int64_t is_utf8(const uint8_t *at, int64_t size) {
    const uint8_t *end = at + size;
    while (at < end) {
        uint64_t eight;
        while (end - at >= 8 && (memcpy(&eight, at, 8), !(eight & 0x8080808080808080u))) at += 8;
        while (at < end && *at < 0x80) at++;
        if (at == end) break;
        int64_t taken = size_of_character(at, end);
        if (!taken) return 0;
        at += taken;
    }
    return 1;
}

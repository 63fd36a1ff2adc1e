#include "writer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 14 };

int has_room(Out *out, int64_t size) {
    if (out->is_out || out->room - out->size >= size) return !out->is_out;
    int64_t room = out->room ? out->room * 2 : FIRST_ROOM;
    while (room - out->size < size) room *= 2;
    uint8_t *larger = realloc(out->bytes, (size_t)room);
    if (larger) out->bytes = larger, out->room = room;
    return !(out->is_out = !larger);
}

void put_bytes(Out *out, const void *bytes, int64_t size) {
    if (!size || !has_room(out, size)) return;
    memcpy(out->bytes + out->size, bytes, (size_t)size);
    out->size += size;
}

void put_text(Out *out, const char *text) { put_bytes(out, text, (int64_t)strlen(text)); }

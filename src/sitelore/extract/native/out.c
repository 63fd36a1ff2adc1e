#include "writer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 14 };

void put_bytes(Out *out, const void *bytes, int64_t size) {
    if (out->is_out || !size) return;
    if (out->room - out->size < size) {
        int64_t room = out->room ? out->room * 2 : FIRST_ROOM;
        while (room - out->size < size) room *= 2;
        uint8_t *larger = realloc(out->bytes, (size_t)room);
        if (!larger) {
            out->is_out = 1;
            return;
        }
        out->bytes = larger, out->room = room;
    }
    memcpy(out->bytes + out->size, bytes, (size_t)size);
    out->size += size;
}

void put_text(Out *out, const char *text) { put_bytes(out, text, (int64_t)strlen(text)); }

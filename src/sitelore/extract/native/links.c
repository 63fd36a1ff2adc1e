/* Resolves the plain hrefs of a page, many at once. What URL parsers could read differently (unusual characters, dots in escapes, ports,
 * backslashes) is left to the URL parser in about/links.py; model/url.py defines the canonical form that both write.
 */
#include "sitelore_native.h"

#include <string.h>

enum { NOWHERE = 1, HERE = 2, PARSE = 3, OF_PAGE = 4 }; /* as in resolving.py: the first three are answers, the last is a prefix */
enum { LONGEST = 4096, LONGEST_HOST = 253, LONGEST_TOP = 63, LONGEST_FRAGMENT = 8192 };
enum { IN_PATH = 1, IN_QUERY = 2, IN_SCHEME = 4, IN_LABEL = 8, UNRESERVED = 16, LETTER = 32, DIGIT = 64 };

static uint8_t kinds[256];

__attribute__((constructor)) static void fill_kinds(void) {
    for (int c = 'a'; c <= 'z'; c++) kinds[c] = IN_PATH | IN_QUERY | IN_SCHEME | IN_LABEL | UNRESERVED | LETTER;
    for (int c = 'A'; c <= 'Z'; c++) kinds[c] = IN_PATH | IN_QUERY | IN_SCHEME | UNRESERVED | LETTER;
    for (int c = '0'; c <= '9'; c++) kinds[c] = IN_PATH | IN_QUERY | IN_SCHEME | IN_LABEL | UNRESERVED | DIGIT;
    for (const char *c = "_~!$&()*+,=:@./-"; *c; c++) kinds[(uint8_t)*c] |= IN_PATH | IN_QUERY;
    for (const char *c = "-._~"; *c; c++) kinds[(uint8_t)*c] |= UNRESERVED;
    for (const char *c = "+.-"; *c; c++) kinds[(uint8_t)*c] |= IN_SCHEME;
    kinds['\''] |= IN_PATH, kinds['?'] |= IN_QUERY, kinds[';'] |= IN_QUERY;
}

static int is(uint8_t c, int kind) { return kinds[c] & kind; }

static int hex(uint8_t c) {
    if (is(c, DIGIT)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int begins(const uint8_t *at, const uint8_t *end, const char *with) {
    size_t size = strlen(with);
    return (size_t)(end - at) >= size && !memcmp(at, with, size);
}

/* Writes one character of a path or a query, escapes in canonical form. Returns what follows it, 0 to leave the href to the parser. */
static const uint8_t *take(const uint8_t *at, const uint8_t *end, int kind, uint8_t **to) {
    if (is(*at, kind)) return *(*to)++ = *at, at + 1;
    if (*at != '%' || end - at < 3 || hex(at[1]) < 0 || hex(at[2]) < 0) return 0;
    int byte = hex(at[1]) << 4 | hex(at[2]);
    if (is((uint8_t)byte, UNRESERVED)) {
        if (byte == '.' && kind == IN_PATH) return 0; /* parsers treat it as a dot segment */
        *(*to)++ = (uint8_t)byte;
    } else {
        *(*to)++ = '%';
        for (int i = 1; i < 3; i++) *(*to)++ = (uint8_t)(at[i] >= 'a' ? at[i] - 0x20 : at[i]);
    }
    return at + 3;
}

static int is_named(const uint8_t *name, size_t size, const uint8_t *other, size_t other_size) {
    if (size && other_size && ((name[0] ^ other[0]) & 0x1F) && other[0] != '*') return 0;
    int is_prefix = other_size && other[other_size - 1] == '*';
    if (is_prefix ? size < --other_size : size != other_size) return 0;
    for (size_t i = 0; i < other_size; i++)
        if ((is(name[i], LETTER) ? name[i] | 0x20 : name[i]) != other[i]) return 0;
    return 1;
}

/* Names of query parameters to leave out, each behind its size in two bytes. */
typedef struct { const uint8_t *begin, *end; } Names;

static int holds(Names names, const uint8_t *name, size_t size) {
    for (const uint8_t *at = names.begin; at < names.end;) {
        size_t other_size = (size_t)(at[0] | at[1] << 8);
        if (is_named(name, size, at + 2, other_size)) return 1;
        at += 2 + other_size;
    }
    return 0;
}

/* Writes a query without the parameters to leave out. 0 to leave the href to the parser. */
static uint8_t *take_query(const uint8_t *at, const uint8_t *end, Names dropped, uint8_t *to) {
    uint8_t *mark = to;
    while (at < end && *at != '#') {
        uint8_t *begin = to + 1, *written = begin;
        while (at < end && *at != '#' && *at != '&')
            if (!(at = take(at, end, IN_QUERY, &written))) return 0;
        if (at < end && *at == '&') at++;
        const uint8_t *equals = memchr(begin, '=', (size_t)(written - begin));
        if (written == begin || holds(dropped, begin, (size_t)((equals ? equals : written) - begin))) continue;
        *to = to == mark ? '?' : '&';
        to = written;
    }
    return to;
}

/* Writes a path, whose first slash is written already or comes first, and its query. */
static uint8_t *take_path(const uint8_t *at, const uint8_t *end, Names dropped, uint8_t *to) {
    while (at < end && *at != '#' && *at != '?') {
        if ((*at == '/' || *at == '.') && to[-1] == '/') return 0;
        if (!(at = take(at, end, IN_PATH, &to))) return 0;
    }
    return at < end && *at == '?' ? take_query(at + 1, end, dropped, to) : to;
}

/* The end of a plain host name; 0 where it is not plain. */
static const uint8_t *end_of_host(const uint8_t *at, const uint8_t *end) {
    const uint8_t *begin = at, *label = at;
    int labels = 0, is_top = 1;
    for (; at < end && *at != '/' && *at != '?' && *at != '#'; at++) {
        if (*at == '.') {
            if (at == label) return 0;
            labels++, label = at + 1, is_top = 1;
        } else if (*at == '-') {
            if (at == label || at[-1] == '-') return 0;
            is_top = 0;
        } else if (!is(*at, IN_LABEL)) return 0;
        else is_top &= is(*at, LETTER) != 0;
    }
    return labels && is_top && at - label >= 2 && at - label <= LONGEST_TOP && at - begin <= LONGEST_HOST ? at : 0;
}

typedef struct {
    const uint8_t *url, *path, *end; /* the base URL, where its path begins and ends */
    int is_plain; /* whether its path is canonical */
    Names dropped;
} BaseUrl;

/* Writes a URL from its host on; the scheme and two slashes are written already. */
static uint8_t *take_host(const uint8_t *at, const uint8_t *end, const BaseUrl *base, uint8_t *to) {
    const uint8_t *stop = end_of_host(at, end);
    if (!stop) return 0;
    memcpy(to, at, (size_t)(stop - at));
    to += stop - at;
    if (stop == end || *stop != '/') *to++ = '/';
    return take_path(stop, end, base->dropped, to);
}

static uint8_t *put(const uint8_t *begin, const uint8_t *end, uint8_t *to) {
    memcpy(to, begin, (size_t)(end - begin));
    return to + (end - begin);
}

/* Writes an href that is relative to the path of the base. */
static uint8_t *take_relative(const uint8_t *at, const uint8_t *end, const BaseUrl *base, uint8_t *to) {
    if (!base->is_plain) return 0;
    *to++ = OF_PAGE;
    if (*at == '?') return take_query(at + 1, end, base->dropped, put(base->url, base->end, to));
    const uint8_t *folder = base->end;
    while (folder[-1] != '/') folder--;
    for (;; at += 3) {
        if (begins(at, end, "./")) at += 2;
        if (!begins(at, end, "../")) break;
        if (folder - 1 > base->path)
            do folder--; while (folder[-1] != '/');
    }
    const uint8_t *query = at;
    for (; query < end && *query != '?' && *query != '#'; query++)
        if (*query == ':') return 0;
    return take_path(at, end, base->dropped, put(base->url, folder, to));
}

static int is_http(const uint8_t *at, size_t size) {
    return (size == 4 || size == 5) && (at[0] | 0x20) == 'h' && (at[1] | 0x20) == 't' && (at[2] | 0x20) == 't' && (at[3] | 0x20) == 'p' &&
           (size == 4 || (at[4] | 0x20) == 's');
}

/* Writes the answer to one href and returns its end; 0 to leave the href to the parser. */
static uint8_t *answer(const uint8_t *at, const uint8_t *end, const BaseUrl *base, uint8_t *to) {
    int is_local = at < end && *at == '#';
    if (at == end || (is_local && end - at <= LONGEST_FRAGMENT)) return *to = is_local ? HERE : NOWHERE, to + 1;
    if (end - at > LONGEST) return 0;
    size_t origin = (size_t)(base->path - base->url);
    if (*at == '/') {
        if (end - at > 1 && at[1] == '\\') return 0;
        if (end - at == 1 || at[1] != '/') return *(to = put(base->url, base->path, to)) = '/', take_path(at + 1, end, base->dropped, to + 1);
        const uint8_t *slashes = memchr(base->url, '/', origin);
        return slashes ? take_host(at + 2, end, base, put(base->url, slashes + 2, to)) : 0;
    }
    if (is(*at, LETTER)) {
        const uint8_t *stop = at;
        while (stop < end && is(*stop, IN_SCHEME)) stop++;
        if (stop < end && *stop == ':') {
            if (!is_http(at, (size_t)(stop - at))) return *to = NOWHERE, to + 1;
            if ((size_t)(end - at) > origin && !memcmp(at, base->url, origin) && at[origin] == '/')
                return *(to = put(base->url, base->path, to)) = '/', take_path(at + origin + 1, end, base->dropped, to + 1);
            if (!begins(at, end, "http://") && !begins(at, end, "https://")) return 0;
            return take_host(stop + 3, end, base, put(at, stop + 3, to));
        }
    }
    return take_relative(at, end, base, to);
}

int64_t links_resolve(const uint8_t *hrefs, int64_t length, const uint8_t *url, int64_t url_length, int64_t path,
                      const uint8_t *dropped, int64_t dropped_length, uint8_t *out) {
    const uint8_t *question = memchr(url, '?', (size_t)url_length);
    BaseUrl base = {url, url + path, question ? question : url + url_length, 0, {dropped, dropped + dropped_length}};
    uint8_t *to = out;
    if (base.path < base.end && *base.path == '/' && base.end - base.path <= LONGEST) {
        to[0] = '/';
        uint8_t *written = take_path(base.path + 1, base.end, base.dropped, to + 1);
        base.is_plain = written && written - to == base.end - base.path && !memcmp(to, base.path, (size_t)(written - to));
    }
    for (const uint8_t *at = hrefs, *end = hrefs + length;; at++) {
        const uint8_t *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop) stop = end;
        uint8_t *written = answer(at, stop, &base, to);
        if (written) to = written;
        else *to++ = PARSE;
        if (stop == end) return to - out;
        *to++ = 0;
        at = stop;
    }
}

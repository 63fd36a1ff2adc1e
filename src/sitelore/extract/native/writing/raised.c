/* Raised and lowered numbers. Markdown has none; Unicode has. `10<sup>6</sup>` must not become 106. */
#include <string.h>

#include "rewriting.h"

enum { LONGEST = 12, MINUS = 0x2212 };

typedef struct { const char *letters; const char *from; const char *const *to; } Spelling;

/* Numbers and the names of variables; `st`, `th`, `e` and `TM` are no powers. A minus sign is spelled like a hyphen. */
static const Spelling raised = {
    "bcdfghijklmnprtuvwxyz", "0123456789+-=()bcdfghijklmnprtuvwxyzT",
    (const char *const[]){"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹", "⁺", "⁻", "⁼", "⁽", "⁾", "ᵇ", "ᶜ", "ᵈ", "ᶠ",
                          "ᵍ", "ʰ", "ⁱ", "ʲ", "ᵏ", "ˡ", "ᵐ", "ⁿ", "ᵖ", "ʳ", "ᵗ", "ᵘ", "ᵛ", "ʷ", "ˣ", "ʸ", "ᶻ", "ᵀ"}};
static const Spelling lowered = {
    "aehijklmnoprstuvx", "0123456789+-=()aehijklmnoprstuvx",
    (const char *const[]){"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉", "₊", "₋", "₌", "₍", "₎", "ₐ",
                          "ₑ", "ₕ", "ᵢ", "ⱼ", "ₖ", "ₗ", "ₘ", "ₙ", "ₒ", "ₚ", "ᵣ", "ₛ", "ₜ", "ᵤ", "ᵥ", "ₓ"}};

/* Or what may be one in another script: none are below Arabic, nor from punctuation to the ideographs. */
static int is_digit(uint32_t code) { return (code >= '0' && code <= '9') || (code >= 0x660 && code < 0x2000) || code > 0x9FFF; }
static int is_sign(uint32_t code) { return code == '-' || code == '+' || code == MINUS; }
static int is_in(uint32_t code, const char *letters) { return code && code < 0x80 && strchr(letters, (int)code); }

static int past_digits(const uint32_t *codes, int at, int most) {
    int start = at;
    while (at - start < most && is_digit(codes[at])) at++;
    return at;
}

/* Whether codes, a 0 behind them, are a number or a variable, with a charge behind it. */
static int fits(const uint32_t *codes, int is_raised) {
    int at = is_raised && is_sign(codes[0]), digits = past_digits(codes, at, 6);
    if (digits > at) at = digits + (is_raised && is_in(codes[digits], raised.letters));
    else if (is_in(codes[at], is_raised ? raised.letters : lowered.letters) || (is_raised && codes[at] == 'T')) at++;
    else return at == 1 && !codes[1];
    if (is_sign(codes[at])) at = past_digits(codes, at + 1, 3);
    return !codes[at];
}

/* The text below an element, one code a character, a 0 behind them; how many, or 0 where it is too long to be of any use. */
static int codes_of(const Node *element, uint32_t *codes) {
    int count = 0, taken;
    for (const Node *node = element->first; node; node = node->after) {
        for (const uint8_t *at = node->text.at, *end = at + node->text.size; at < end; at += taken) {
            uint32_t code = code_at(at, end, &taken);
            if (!count && is_space(code)) continue;
            if (count < LONGEST) codes[count++] = code;
            else if (!is_space(code)) return 0;
        }
    }
    while (count && is_space(codes[count - 1])) count--;
    codes[count] = 0;
    return count;
}

int shift(Nodes *nodes, Node *element) {
    uint32_t codes[LONGEST + 1];
    int is_raised = element->tag == TAG_sup;
    if (holds_element(element) || !codes_of(element, codes) || !fits(codes, is_raised)) return 0;
    const Spelling *spelling = is_raised ? &raised : &lowered;
    uint8_t *text = take_room(nodes, LONGEST * 4), *to = text;
    if (!text) return -1;
    for (const uint32_t *code = codes; *code; code++) {
        if (*code >= 0x80 && *code != MINUS) return -1;
        const char *found = strchr(spelling->from, *code == MINUS ? '-' : (int)*code);
        const char *spelled = found ? spelling->to[found - spelling->from] : "";
        memcpy(to, spelled, strlen(spelled));
        to += strlen(spelled);
    }
    Node *words = make_text(nodes, (Slice){text, to - text});
    if (!words) return -1;
    put_before(element, words);
    cut(element);
    return 0;
}

/* What the parts of the block scorer share: the vocabulary's tables and the page that is scored. */
#ifndef SITELORE_PAGE_H
#define SITELORE_PAGE_H

#include "sitelore_native.h"

enum { NAME_BYTES = 31, TAG_SLOTS = 1024, MARK_SLOTS = 4096, LABEL_SLOTS = 4096, COUNTED_LABELS = 32, PAIRS = 1024 };
/* Units in which the sizes of characters are counted: a letter of an alphabet, a word. */
enum { LETTER = 4, WORD = 20 };

enum { CLASS_SPACE, CLASS_OTHER, CLASS_DIGIT, CLASS_STOP, CLASS_COMMA, CLASS_BAR, CLASS_SIGN, CLASS_CURRENCY, CHARACTER_CLASSES };

typedef struct {
    uint32_t code;
    int size;      /* in bytes */
    int class;     /* CLASS_SPACE to CLASS_CURRENCY */
    int letters;   /* in LETTERs: how many letters of an alphabet say as much */
    int words;     /* in WORDs; 0 in scripts that put spaces between words */
    int is_letter;
    int is_joined; /* whether its script writes words without spaces, or appends endings to them as Korean does */
} Character;

/* The character at `at`, which is before `end`. Bytes that are not UTF-8 are characters of their own. */
Character character_at(const uint8_t *at, const uint8_t *end);
/* The lower-case form of Latin, Greek and Cyrillic letters; all other characters as they are. */
uint32_t fold_case(uint32_t code);

typedef struct { uint8_t size, number, flags; char name[NAME_BYTES]; } Tag;
typedef struct { uint8_t size; char name[NAME_BYTES]; int64_t marks; } MarkWord;
typedef struct { uint8_t size, group; char name[NAME_BYTES]; } LabelWord;

struct Vocabulary {
    VocabularySettings settings; /* its pointers point to the copies below */
    uint8_t is_bold[256];
    int64_t landmark[TAG_NUMBERS], counted_labels[COUNTED_LABELS];
    uint32_t crc_table[256];
    int64_t tag_count, mark_count, label_count;
    Tag tags[TAG_SLOTS]; /* hash tables with open addressing; size 0 marks a free slot */
    MarkWord marks[MARK_SLOTS];
    LabelWord labels[LABEL_SLOTS];
    uint8_t longest_mark[PAIRS];  /* by the first two letters: the longest mark word that may count inside another word */
    uint32_t label_sizes[PAIRS];  /* by the first two letters: the sizes of labels, as bits */
};

struct Page {
    const Vocabulary *vocabulary;
    uint8_t *text;
    Block *blocks;
    Element *elements;
    float *features;
    int64_t text_size, block_count, element_count, feature_count, opened;
};

/* Index of a word's first two letters; `size` is at least 1. */
static inline int pair_of(const uint8_t *at, int64_t size) { return (at[0] & 31) << 5 | (size > 1 ? at[1] & 31 : 0); }
static inline uint8_t lower(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 32 : byte; }
/* FNV-1a of the bytes in lower case. */
uint32_t hash_lower(const uint8_t *at, int64_t size);
int equal_lower(const uint8_t *at, const uint8_t *other, int64_t size);

/* These return NULL for a name that is not in the vocabulary. Tags and mark words have to be in lower case. */
const Tag *find_tag(const Vocabulary *vocabulary, const uint8_t *name, int64_t size);
const MarkWord *find_mark(const Vocabulary *vocabulary, const uint8_t *word, int64_t size);
const LabelWord *find_label(const Vocabulary *vocabulary, const uint8_t *word, int64_t size);

/* Each of these fills a part of the page and returns a status. */
int64_t segment(Page *page, const uint8_t *html, int64_t length, int64_t max_blocks);
int64_t compute_features(Page *page);

int64_t wording_feature_count(const Vocabulary *vocabulary);
/* Writes one row a feature. `title` is the block that is the page's title, -1 for none. */
int64_t compute_wording_features(const Page *page, int64_t title, float *out);

/* Both add to `sums`, one entry a block. */
int64_t add_tree_scores(const Page *page, const TreeEnsemble *trees, double *sums);
void add_network_scores(const Page *page, const Network *network, double *sums);

#endif

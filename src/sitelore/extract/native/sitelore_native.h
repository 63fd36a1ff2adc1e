/* The compiled part of sitelore.extract, called through ctypes (native/library.py).
 *
 * Functions keep no state between calls. What a caller creates it also frees, and a handle may be used by one thread at a time;
 * a Vocabulary is read-only once it is filled and may be shared. Every function is memory safe for any input bytes.
 */
#ifndef SITELORE_NATIVE_H
#define SITELORE_NATIVE_H

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Version of this interface and of what is computed. library.py refuses a library with another version. */
enum { NATIVE_VERSION = 13 };
EXPORT int64_t native_version(void);

enum { STATUS_OK = 0, STATUS_NO_BLOCKS = 1, STATUS_TOO_MANY_BLOCKS = 2, STATUS_NO_MEMORY = -1, STATUS_OTHER_FEATURES = -2 };

/* ---- block scorer: vocabulary ---- */

enum { TAG_NUMBERS = 128 };
enum { TAG_INLINE = 1, TAG_VOID = 2 };

/* The numbers that content/vocabulary.py gives to tags and words. All of it is copied. */
typedef struct {
    const uint8_t *is_bold;          /* by tag number */
    const int64_t *landmark;         /* by tag number: its landmark bit, or 0 */
    const int64_t *counted_labels;   /* label groups, each as one bit, for which the distance to the last label is a feature */
    int64_t counted_label_count, label_groups, mark_groups, landmarks, features; /* how many there are of each */
    int64_t secondary_marks, secondary_landmarks; /* bits that set a block apart from the page's own text */
    int64_t shortest_part;           /* of a mark word that also counts inside a longer word */
    int64_t link, image, line_break, h1, h6, article, main, paragraph, listing; /* tag numbers */
} VocabularySettings;

typedef struct Vocabulary Vocabulary;

/* NULL when memory is out. */
EXPORT Vocabulary *vocabulary_create(const VocabularySettings *settings);
EXPORT void vocabulary_free(Vocabulary *vocabulary);
/* These return 0, or -1 for a name that is too long or a full table. */
EXPORT int64_t vocabulary_add_tag(Vocabulary *vocabulary, const uint8_t *name, int64_t size, int64_t number, int64_t flags);
EXPORT int64_t vocabulary_add_mark(Vocabulary *vocabulary, const uint8_t *word, int64_t size, int64_t marks);
EXPORT int64_t vocabulary_add_label(Vocabulary *vocabulary, const uint8_t *word, int64_t size, int64_t group);

/* ---- block scorer: pages ---- */

/* A block: text between two boundaries of the flow, with at least one word. */
typedef struct {
    int64_t begin, end;          /* its place in the page's text */
    int64_t words, chars;        /* chars: letters and signs, those of dense scripts weighed (characters.c) */
    int64_t linked, bold;        /* words inside links, inside b, strong or em */
    int64_t links, images, breaks;
    int64_t element;             /* row of the innermost flow-breaking element around it */
    int64_t heading;             /* 1 to 6 for a heading, else 0 */
    int64_t landmarks, marks;    /* of the elements around it, as bits */
    int64_t copy, copies;        /* which occurrence of its text this is, and how many there are */
    int64_t digits, stops, commas, bars, signs, currency;
} Block;

/* An element that breaks the flow of text, in document order. */
typedef struct {
    int64_t parent;      /* row of the nearest such element around it, -1 for the root */
    int64_t level;       /* depth among such elements, 1 for the root */
    int64_t first, last; /* its blocks: first <= block < last */
    int64_t tag, marks;  /* tag number, mark bits of its class, id and role */
    int64_t signature;   /* CRC-32 of its tag and names without digits */
    int64_t order;       /* index among all elements of the page */
} Element;

typedef struct {
    int64_t block_count, element_count, feature_count;
    int64_t opened; /* number of start tags */
    int64_t text_size;
    const uint8_t *text;
    const Block *blocks;
    const Element *elements;
    const float *features; /* one row a feature, one column a block */
} PageTables;

typedef struct Page Page;

/* Splits serialised HTML (every element closed, no comments, `<` only in tags) into blocks and computes their features. Stores the
 * page in *page when the status is STATUS_OK, NULL otherwise. The HTML is not used after the call. */
EXPORT int64_t page_open(const Vocabulary *vocabulary, const uint8_t *html, int64_t length, int64_t max_blocks, Page **page);
/* The tables belong to the page and are valid until page_close. */
EXPORT void page_tables(const Page *page, PageTables *tables);
EXPORT void page_close(Page *page);

/* Oblivious decision trees: all nodes of a level ask the same question. The bounds that are compared with one feature are a scale, at
 * most 127 of them; a question is a position on a scale. */
typedef struct {
    int64_t scales, trees, levels;           /* levels: 7 at most */
    const int64_t *scale_feature, *scale_begin; /* scale_begin has one more entry than there are scales */
    const float *bounds;
    const int64_t *question_scale;
    const int8_t *question_rank;
    const float *leaves;                     /* 2 ** levels a tree */
} TreeEnsemble;

enum { NETWORK_HIDDEN_MAX = 128, NETWORK_TAGS = 64 };

/* One hidden layer over all features. */
typedef struct {
    int64_t features, hidden, tag_features;
    const float *normalisation;       /* mean and scale of each feature */
    const float *weights;             /* a row a feature */
    const int64_t *tag_feature;       /* features that are tag numbers: each has one row a tag in tag_weights */
    const float *tag_weights;
    const float *hidden_bias;
    const float *output;              /* a weight a hidden unit, the bias, the share of the network in the score */
} Network;

/* The log odds that each block is content. STATUS_OK or STATUS_NO_MEMORY. */
EXPORT int64_t page_score(const Page *page, const TreeEnsemble *trees, const Network *network, double *log_odds);

/* ---- links ---- */

/* Resolves hrefs, given as one text with a zero byte between each two, against a page URL whose path begins at `path`. Answers are
 * written to `out` in the same form; about/resolving.py names the marks that stand for one. Returns the number of bytes. `dropped` are
 * names of query parameters to leave out, each behind its length in two bytes. `out` needs twice the size of the hrefs and, for each
 * href, the size of the URL and eight bytes. */
EXPORT int64_t links_resolve(const uint8_t *hrefs, int64_t length, const uint8_t *url, int64_t url_length, int64_t path,
                             const uint8_t *dropped, int64_t dropped_length, uint8_t *out);

#endif

/* The parts that make nodes of a page's source by the HTML standard (§13.2), as the parser makes its tree of it: tokens, the stack of
 * open elements, and the rules by which tokens become elements. What they are not certain about they leave to the parser.
 */
#ifndef SITELORE_PARSING_H
#define SITELORE_PARSING_H

#include "writer.h"

enum { MOST_OPEN = 600, MOST_FORMATTING = 300, MOST_TEMPLATES = 60 };

/* Why a page is left to the parser. */
enum {
    IS_OUT = 1, HOLDS_NUL, TOO_DEEP, TOO_MANY_ATTRIBUTES, OTHER_WRITING, HOLDS_FRAMES, HOLDS_MATH, SCRIPT_IN_SCRIPT, EMPTY_END_TAG,
    UNKNOWN_QUIRKS, ODD_DRAWING, ODD_TEMPLATE, ODD_TABLE, TOO_LARGE
};

enum {
    INITIAL, BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, IN_BODY, IN_TABLE, IN_CAPTION, IN_COLUMN_GROUP,
    IN_TABLE_BODY, IN_ROW, IN_CELL, IN_TEMPLATE, AFTER_BODY, AFTER_AFTER_BODY
};

/* A start or an end tag. Its attributes are as `dom.serialised` writes them. */
typedef struct {
    Slice name, attributes;
    int tag;
    uint8_t is_end, is_closed, is_svg;
} Tag;

typedef struct {
    Nodes *nodes;
    const uint8_t *at, *end;
    const uint8_t *ampersand; /* the first one at or behind some place before `at` */
    int open_count, formatting_count, template_count;
    int open_of[TAG_COUNT]; /* how many of HTML's own elements of a tag are on the stack */
    Node *head, *form;
    Node *grown; /* the text that has room to grow in */
    int64_t grown_room;
    Out scratch;
    int64_t opened, most_opened;
    int mode, why;
    int quirks; /* 1, 0, or -1 where only the parser knows */
    int is_fostering, is_moved;
    Node *open[MOST_OPEN];             /* the stack of open elements */
    Node *formatting[MOST_FORMATTING]; /* the list of active formatting elements; NULL is a marker */
    uint8_t templates[MOST_TEMPLATES]; /* the stack of template insertion modes */
} Parser;

/* Tokens. */

/* Whether a byte is white space to the standard. */
static inline int is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\f' || byte == '\r'; }
static inline int is_letter(uint8_t byte) { return (uint8_t)((byte | 32) - 'a') < 26; }
static inline uint8_t lowered(uint8_t byte) { return (uint8_t)(byte - 'A') < 26 ? byte | 32 : byte; }

/* What the reference that begins at `*at` means, at most REFERENCE_BYTES; gives how many bytes, 0 where there is none. Goes past it. */
enum { REFERENCE_BYTES = 8 };
int reference_at(const uint8_t **at, const uint8_t *end, int is_in_attribute, uint8_t *meant);
/* Text without references. */
Slice resolved(Parser *parser, const uint8_t *from, const uint8_t *to);
/* Reads a tag whose name begins at `at`; gives what is behind it, NULL where the source ends within. */
const uint8_t *read_tag(Parser *parser, const uint8_t *at, Tag *tag);
/* Where the text of an element ends at which nothing but its end tag is markup; `end` where there is none. */
const uint8_t *end_of_raw_text(Parser *parser, const uint8_t *at, int tag);
/* What is behind the comment whose text begins at `at`. */
const uint8_t *past_comment(const uint8_t *at, const uint8_t *end);
/* Whether tables are within paragraphs by the doctype whose text stands here. */
int quirks_of(const uint8_t *at, const uint8_t *end);
/* An attribute's value without references; `at` is NULL where there is none. */
Slice value_in(Parser *parser, const Tag *tag, const char *name);

/* The name of SVG that this one is an ill spelling of, or NULL. */
const char *svg_tag_like(const uint8_t *name, int64_t size);
const char *svg_attribute_like(const uint8_t *name, int64_t size);
/* Whether a start tag ends a drawing. */
int breaks_out(int tag);
/* Opens an element of SVG, unless it is closed. */
void open_drawn(Parser *parser, const Tag *tag);
/* Takes a tag within a drawing; 0 where it is HTML's. */
int take_in_drawing(Parser *parser, const Tag *tag);

/* Building. */

enum { IN_SCOPE, IN_BUTTON_SCOPE, IN_LIST_SCOPE, IN_TABLE_SCOPE };

int decline(Parser *parser, int why); /* gives 0 */
static inline Node *current(const Parser *parser) { return parser->open[parser->open_count - 1]; }
static inline int is_html(const Node *node, int tag) { return node->tag == tag && !node->is_foreign; }
static inline int is_current(const Parser *parser, int tag) { return is_html(current(parser), tag); }
int is_table_part(const Node *node);
int is_special(const Node *node);
int ends_any_scope(const Node *node);
int is_heading(int tag);
/* Where a node goes whose place would be in `target`: before the node it gives, or at the end where that is NULL. */
Node *place_for(Parser *parser, Node **target);
/* Puts an element where the standard would, without opening it. NULL where the page is declined. */
Node *insert(Parser *parser, const Tag *tag);
void open_element(Parser *parser, const Tag *tag);
void open_implied(Parser *parser, int tag);
void push_open(Parser *parser, Node *element);
void pop_open(Parser *parser);
void remove_open(Parser *parser, const Node *element);
void insert_text(Parser *parser, Slice text);
int is_in_scope(const Parser *parser, int tag, int scope);
void pop_until(Parser *parser, int tag);
void generate_implied(Parser *parser, int except);
void close_paragraph(Parser *parser);
/* Takes in what an element holds that has no elements, by its tag. */
void take_raw(Parser *parser, const Tag *tag);
/* Makes places, depths and the like right where elements were moved, and texts one that are neighbours. */
void settle_moved(Parser *parser);

/* Formatting. */
void remember(Parser *parser, Node *element);
void set_marker(Parser *parser);
void clear_to_marker(Parser *parser);
void reconstruct(Parser *parser);
/* The formatting element of a tag behind the last marker, NULL where there is none. */
Node *formatting_of(const Parser *parser, int tag);
void forget_formatting(Parser *parser, const Node *element);
/* Ends a formatting element; 0 where the end tag is like any other. */
int adopt(Parser *parser, int tag);

/* Rules. All that take a tag give 1 where it is to be looked at again, by the mode that is then. */
int take_in_body(Parser *parser, const Tag *tag);
int take_in_head(Parser *parser, const Tag *tag);
int take_around_body(Parser *parser, const Tag *tag);
int take_in_tables(Parser *parser, const Tag *tag);
int take_in_template(Parser *parser, const Tag *tag);
int begin_template(Parser *parser, const Tag *tag);
int end_template(Parser *parser);
void reset_mode(Parser *parser);
void take_tag(Parser *parser, const Tag *tag);
void take_characters(Parser *parser, const uint8_t *from, const uint8_t *to, int has_references);
void take_end(Parser *parser);

/* Whether a page could be made of its source, which has to outlive it; else `why` says why not. A parser may be used again. */
int parse_nodes(Parser *parser, const uint8_t *source, int64_t size);

#endif

/* What the parts of the survey share: the walk (survey.c) and what it has to look around for (survey_around.c). `about/survey.py` says
 * what the facts are that they gather. */
#ifndef SITELORE_SURVEY_H
#define SITELORE_SURVEY_H

#include "looks.h"
#include "page.h"

/* As many as in `about/survey.py`. */
enum { MOST_TITLES = 50, MOST_HEADINGS = 100, MOST_ROOMS = 400, MOST_MARKED = 40, MOST_DATES = 8, MOST_IDS = 4 };
/* In characters. Whoever reads a text takes less of it, and tells by one more that there is more. */
enum { LONGEST_TITLE = 1001, LONGEST_TEXT = 201, LONGEST_SAID = 401, LONGEST_LINE = 2000 };

/* Rows of texts, a NUL behind each text: how many a row has stands behind its kind. Those from FIRST_LONG on are told apart from the
 * others, since they are long and seldom there. */
enum {
    ABOUT,     /* title, h1, base, lang, xml:lang, the levels of headings, rooms with a byte 1 behind each of their texts: one row */
    METAS,     /* name, content */
    RELATIONS, /* rel, href */
    TITLES,    /* text of a heading: one */
    DATES,     /* what it says, how it is marked */
    MARKED,    /* name, value */
    BYLINES,   /* text: one */
    HREFS,     /* one for each link */
    TEXTS,     /* one for each link */
    RELS,      /* which link, tag, rel */
    FIRST_LONG,
    SCRIPTS = FIRST_LONG, /* text: one */
    SHEETS,    /* media, text */
    KINDS
};

/* Attributes that most elements are asked for, in one look at each. */
enum { ROLE, ITEMPROP, HREF, REL, NAME, PROPERTY, HTTP_EQUIV, CONTENT, ATTRIBUTES };

enum { PUBLISHED, MODIFIED, AUTHOR, NAMES_MARKED };

typedef struct {
    Nodes *nodes;
    Node *root;
    Slice written[ATTRIBUTES]; /* of the element that is looked at */
    unsigned has;              /* which of them it has, a bit each */
    Out *out;        /* by kind */
    int64_t *counts; /* of texts, by kind */
    Node *title, *h1;
    Slice base;
    int64_t titles, h1s, headings, links, bylines, seen; /* how many were met; `seen` counts what may be a room */
    int64_t marked[NAMES_MARKED];
    Node *top, *before[MOST_DATES], *after[MOST_DATES]; /* the first h1, and `time` elements on its two sides */
    int before_count, after_count, is_past_top;
    uint8_t levels[MOST_HEADINGS]; /* of the headings that are told */
    Node *rooms[MOST_ROOMS];
    int room_count;
} Survey;

/* Text on one line in the making: how many characters may still come, and whether a space goes before the next. */
typedef struct { int64_t left, size; int is_apart; uint8_t bytes[4 * LONGEST_LINE]; } Line;

/* Ends the text that was put last. */
void end_text(Survey *survey, int kind);
/* A whole text. */
void put_whole(Survey *survey, int kind, Slice text);
/* Lines, as `" ".join(text.split())` makes them, of as many characters as `most`, which is no more than LONGEST_LINE. */
void begin_line(Line *line, int64_t most);
void add_to_line(Line *line, Slice text);
/* All text of an element. */
void add_text_of(Line *line, const Node *element);
void put_line(Survey *survey, int kind, const Line *line);
/* The text of an element on one line. */
void put_text_of(Survey *survey, int kind, const Node *element, int64_t most);
/* Whether a token of a text is this one, as CSS splits and compares it: in ASCII, letters of either case alike. `token` is in small
 * letters. */
int has_css_token(Slice text, const char *token);

/* What microdata says with an element that has an `itemprop`. */
void take_marked(Survey *survey, Node *element);
/* What is known past the walk: the rooms, within ABOUT, and the dates by the first h1. */
void put_rooms(Survey *survey);
void put_dates(Survey *survey);

#endif

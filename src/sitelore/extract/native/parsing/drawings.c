/* What is told apart within SVG (§13.2.6.5): its names are written with capitals, and some of HTML's elements end it. */
#include "parsing.h"

#include <string.h>

static const char *const tags[] = {
    "altGlyph", "altGlyphDef", "altGlyphItem", "animateColor", "animateMotion", "animateTransform", "clipPath", "feBlend", "feColorMatrix",
    "feComponentTransfer", "feComposite", "feConvolveMatrix", "feDiffuseLighting", "feDisplacementMap", "feDistantLight", "feDropShadow",
    "feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feImage", "feMerge", "feMergeNode", "feMorphology",
    "feOffset", "fePointLight", "feSpecularLighting", "feSpotLight", "feTile", "feTurbulence", "foreignObject", "glyphRef",
    "linearGradient", "radialGradient", "textPath", NULL};
static const char *const attributes[] = {
    "attributeName", "attributeType", "baseFrequency", "baseProfile", "calcMode", "clipPathUnits", "diffuseConstant", "edgeMode",
    "filterUnits", "glyphRef", "gradientTransform", "gradientUnits", "kernelMatrix", "kernelUnitLength", "keyPoints", "keySplines",
    "keyTimes", "lengthAdjust", "limitingConeAngle", "markerHeight", "markerUnits", "markerWidth", "maskContentUnits", "maskUnits",
    "numOctaves", "pathLength", "patternContentUnits", "patternTransform", "patternUnits", "pointsAtX", "pointsAtY", "pointsAtZ",
    "preserveAlpha", "preserveAspectRatio", "primitiveUnits", "refX", "refY", "repeatCount", "repeatDur", "requiredExtensions",
    "requiredFeatures", "specularConstant", "specularExponent", "spreadMethod", "startOffset", "stdDeviation", "stitchTiles",
    "surfaceScale", "systemLanguage", "tableValues", "targetX", "targetY", "textLength", "viewBox", "viewTarget", "xChannelSelector",
    "yChannelSelector", "zoomAndPan", NULL};
enum { SHORTEST = 4 };

static const char *like_one_of(const char *const *known, const uint8_t *name, int64_t size) {
    if (size < SHORTEST) return NULL;
    for (uint8_t first = lowered(*name); *known; known++) {
        if ((uint8_t)**known != first) continue;
        int64_t i = 1;
        while (i < size && (*known)[i] && lowered((uint8_t)(*known)[i]) == lowered(name[i])) i++;
        if (i == size && !(*known)[i]) return *known;
    }
    return NULL;
}

const char *svg_tag_like(const uint8_t *name, int64_t size) { return like_one_of(tags, name, size); }
const char *svg_attribute_like(const uint8_t *name, int64_t size) { return like_one_of(attributes, name, size); }

int breaks_out(int tag) {
    switch (tag) {
    case TAG_b: case TAG_big: case TAG_blockquote: case TAG_body: case TAG_br: case TAG_center: case TAG_code: case TAG_dd: case TAG_div:
    case TAG_dl: case TAG_dt: case TAG_em: case TAG_embed: case TAG_h1: case TAG_h2: case TAG_h3: case TAG_h4: case TAG_h5: case TAG_h6:
    case TAG_head: case TAG_hr: case TAG_i: case TAG_img: case TAG_li: case TAG_listing: case TAG_menu: case TAG_meta: case TAG_nobr:
    case TAG_ol: case TAG_p: case TAG_pre: case TAG_ruby: case TAG_s: case TAG_small: case TAG_span: case TAG_strong: case TAG_strike:
    case TAG_sub: case TAG_sup: case TAG_table: case TAG_tt: case TAG_u: case TAG_ul: case TAG_var: return 1;
    default: return 0;
    }
}

static void pop_out(Parser *parser) {
    while (current(parser)->is_foreign && !holds_html(current(parser))) pop_open(parser);
}

void open_drawn(Parser *parser, const Tag *tag) {
    Tag drawn = *tag;
    const char *like = tag->tag == TAG_OTHER ? svg_tag_like(tag->name.at, tag->name.size) : NULL;
    if (like) drawn.name.at = (const uint8_t *)like;
    drawn.is_svg = 1;
    Node *element = insert(parser, &drawn);
    if (element && !tag->is_closed) push_open(parser, element);
}

/* Whether an element has a name, in any spelling. */
static int is_called(const Node *element, Slice name) {
    if (element->name.size != name.size) return 0;
    for (int64_t i = 0; i < name.size; i++)
        if (lowered(element->name.at[i]) != name.at[i]) return 0;
    return 1;
}

/* An end tag within a drawing ends the element it names there; past the drawing's outermost element it is HTML's. */
static int end_drawn(Parser *parser, const Tag *tag) {
    for (int at = parser->open_count - 1; at > 0; at--) {
        if (!parser->open[at]->is_foreign) return 0;
        if (!is_called(parser->open[at], tag->name)) continue;
        while (parser->open_count > at) pop_open(parser);
        return 1;
    }
    return 1;
}

int take_in_drawing(Parser *parser, const Tag *tag) {
    if (tag->tag == TAG_font || tag->tag == TAG_math || tag->tag == TAG_textarea) return decline(parser, ODD_DRAWING), 1;
    if (tag->is_end ? tag->tag == TAG_br || tag->tag == TAG_p : breaks_out(tag->tag)) {
        pop_out(parser);
        return 0;
    }
    if (tag->is_end) return end_drawn(parser, tag);
    open_drawn(parser, tag);
    return 1;
}

/* The words that the block scorer knows: tags, words in class names and ids (marks), words of headings and labels. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

uint32_t hash_lower(const uint8_t *at, int64_t size) {
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ lower(at[i])) * 16777619u;
    return hash ^ (hash >> 15);
}

int equal_lower(const uint8_t *at, const uint8_t *other, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (lower(at[i]) != lower(other[i])) return 0;
    return 1;
}

static uint32_t tag_slot(const Vocabulary *v, const uint8_t *name, int64_t size) {
    uint32_t slot = hash_lower(name, size) % TAG_SLOTS;
    while (v->tags[slot].size && (v->tags[slot].size != size || memcmp(v->tags[slot].name, name, (size_t)size))) slot = (slot + 1) % TAG_SLOTS;
    return slot;
}

static uint32_t mark_slot(const Vocabulary *v, const uint8_t *word, int64_t size) {
    uint32_t slot = hash_lower(word, size) % MARK_SLOTS;
    while (v->marks[slot].size && (v->marks[slot].size != size || memcmp(v->marks[slot].name, word, (size_t)size))) slot = (slot + 1) % MARK_SLOTS;
    return slot;
}

static uint32_t label_slot(const Vocabulary *v, const uint8_t *word, int64_t size) {
    uint32_t slot = hash_lower(word, size) % LABEL_SLOTS;
    while (v->labels[slot].size && (v->labels[slot].size != size || !equal_lower(word, (const uint8_t *)v->labels[slot].name, size)))
        slot = (slot + 1) % LABEL_SLOTS;
    return slot;
}

const Tag *find_tag(const Vocabulary *v, const uint8_t *name, int64_t size) {
    if (size < 1 || size > NAME_BYTES) return NULL;
    const Tag *tag = &v->tags[tag_slot(v, name, size)];
    return tag->size ? tag : NULL;
}

const MarkWord *find_mark(const Vocabulary *v, const uint8_t *word, int64_t size) {
    if (size < 1 || size > NAME_BYTES) return NULL;
    const MarkWord *mark = &v->marks[mark_slot(v, word, size)];
    return mark->size ? mark : NULL;
}

const LabelWord *find_label(const Vocabulary *v, const uint8_t *word, int64_t size) {
    if (size < 1 || size > NAME_BYTES || !(v->label_sizes[pair_of(word, size)] >> size & 1)) return NULL;
    const LabelWord *label = &v->labels[label_slot(v, word, size)];
    return label->size ? label : NULL;
}

static void fill_crc_table(uint32_t *table) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
        table[i] = crc;
    }
}

Vocabulary *vocabulary_create(const VocabularySettings *settings) {
    Vocabulary *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->settings = *settings;
    if (v->settings.counted_label_count > COUNTED_LABELS) v->settings.counted_label_count = COUNTED_LABELS;
    memcpy(v->is_bold, settings->is_bold, sizeof v->is_bold);
    memcpy(v->landmark, settings->landmark, sizeof v->landmark);
    memcpy(v->counted_labels, settings->counted_labels, (size_t)v->settings.counted_label_count * sizeof *v->counted_labels);
    v->settings.is_bold = v->is_bold;
    v->settings.landmark = v->landmark, v->settings.counted_labels = v->counted_labels;
    fill_crc_table(v->crc_table);
    return v;
}

void vocabulary_free(Vocabulary *v) { free(v); }

/* Half of a table stays free, so that a search ends soon. */
static int fits(int64_t count, int64_t slots, int64_t size) { return size >= 1 && size <= NAME_BYTES && count < slots / 2; }

int64_t vocabulary_add_tag(Vocabulary *v, const uint8_t *name, int64_t size, int64_t number, int64_t flags) {
    if (!fits(v->tag_count, TAG_SLOTS, size) || number < 0 || number >= TAG_NUMBERS) return -1;
    Tag *tag = &v->tags[tag_slot(v, name, size)];
    v->tag_count += !tag->size;
    tag->size = (uint8_t)size, tag->number = (uint8_t)number, tag->flags = (uint8_t)flags;
    memcpy(tag->name, name, (size_t)size);
    return 0;
}

int64_t vocabulary_add_mark(Vocabulary *v, const uint8_t *word, int64_t size, int64_t marks) {
    if (!fits(v->mark_count, MARK_SLOTS, size)) return -1;
    MarkWord *mark = &v->marks[mark_slot(v, word, size)];
    v->mark_count += !mark->size;
    mark->size = (uint8_t)size, mark->marks = marks;
    memcpy(mark->name, word, (size_t)size);
    uint8_t *longest = &v->longest_mark[pair_of(word, size)];
    if (size >= v->settings.shortest_part && *longest < size) *longest = (uint8_t)size;
    return 0;
}

int64_t vocabulary_add_label(Vocabulary *v, const uint8_t *word, int64_t size, int64_t group) {
    if (!fits(v->label_count, LABEL_SLOTS, size) || group < 0 || group >= 63) return -1;
    LabelWord *label = &v->labels[label_slot(v, word, size)];
    v->label_count += !label->size;
    label->size = (uint8_t)size, label->group = (uint8_t)group;
    memcpy(label->name, word, (size_t)size);
    v->label_sizes[pair_of(word, size)] |= (uint32_t)1 << size;
    return 0;
}

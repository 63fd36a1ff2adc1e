/* The page handle of the block scorer: opened with its blocks and features, scored, closed. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

int64_t native_version(void) { return NATIVE_VERSION; }

int64_t page_open(const Vocabulary *vocabulary, const uint8_t *html, int64_t length, int64_t max_blocks, Page **out) {
    *out = NULL;
    Page *page = calloc(1, sizeof *page);
    if (!page) return STATUS_NO_MEMORY;
    page->vocabulary = vocabulary;
    int64_t status = segment(page, html, length, max_blocks);
    if (status == STATUS_OK) status = compute_features(page);
    if (status == STATUS_OK) *out = page;
    else page_close(page);
    return status;
}

void page_tables(const Page *page, PageTables *tables) {
    *tables = (PageTables){
        .block_count = page->block_count, .element_count = page->element_count, .feature_count = page->feature_count,
        .opened = page->opened, .text_size = page->text_size,
        .text = page->text, .blocks = page->blocks, .elements = page->elements, .features = page->features,
    };
}

void page_close(Page *page) {
    if (!page) return;
    free(page->text), free(page->blocks), free(page->elements), free(page->features), free(page);
}

int64_t page_score(const Page *page, const TreeEnsemble *trees, const Network *network, double *log_odds) {
    if (network->hidden > NETWORK_HIDDEN_MAX || network->features != page->feature_count) return STATUS_OTHER_FEATURES;
    memset(log_odds, 0, (size_t)page->block_count * sizeof *log_odds);
    int64_t status = add_tree_scores(page, trees, log_odds);
    if (status == STATUS_OK) add_network_scores(page, network, log_odds);
    return status;
}

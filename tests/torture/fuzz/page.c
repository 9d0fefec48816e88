// SPDX-License-Identifier: MIT
// A page in Markdown, and an author's part of one.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "report/report_page.h"
#include "report/written.h"

static void render(const char *page) {
    text html = {0}, plain = {0};
    page_to_html(page, "en", NULL, 0, &html);
    if (strstr(text_string(&html), "<script") || strstr(text_string(&html), "=\"javascript:"))
        abort();
    page_to_text(page, &plain);
    text_release(&html);
    text_release(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *string = memory_new(bytes + 1, 1);
    text page = {0};
    memcpy(string, data, bytes);
    render(string);
    text_append(&page, "# t\n\nx\n\n");
    written_append(&page, string);
    render(text_string(&page));
    text_release(&page);
    free(string);
    return 0;
}

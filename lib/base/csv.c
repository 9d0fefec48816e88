// SPDX-License-Identifier: MIT
#include "base/csv.h"

#include <stdbool.h>
#include <string.h>

#include "base/printable.h"

void csv_append(text *out, const char *string) {
    text field = {0};
    if (*string && strchr("=+-@\t\r", *string)) text_append(&field, "'");
    text_append(&field, string);
    if (field.data) field.length = printable(field.data, false);
    const bool quoted = strpbrk(text_string(&field), ",\"\n") != NULL;
    if (quoted) {
        text_replace(&field, "\"", "\"\"");
        text_append(out, "\"");
    }
    text_append(out, text_string(&field));
    if (quoted) text_append(out, "\"");
    text_release(&field);
}

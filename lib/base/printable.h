// printable.h - text from files and command lines, before a terminal or a page shows it.
#ifndef LOCKSTEP_BASE_PRINTABLE_H
#define LOCKSTEP_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

// Puts '?' in the place of what a terminal would obey, or a reader could be deceived by: control
// characters (C0, DEL, C1), those that turn the direction of text, and bytes that are no
// UTF-8. Tabs and ends of lines stay, unless it is to be `one_line`. Returns the new length, which
// is never greater.
size_t printable(char *string, bool one_line);

#endif

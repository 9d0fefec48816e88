// SPDX-License-Identifier: MIT
// Writes a list of copies, for tests that check how data was moved; also opens the files of such
// lists.
//
// A copy from one device to another is direct if either device can reach the other's memory: CUDA
// does not say which of them must. Otherwise the driver stages it, and the list gets two lines.
#include "emulation.h"

#include <cstdlib>
#include <string>

namespace emulation {

static const int HOST = -1;

static int place_of(const void *pointer, size_t count) {
    int device;
    return where(pointer, count, &device) == memory::device ? device : HOST;
}

static std::string name(int place) {
    return place == HOST ? "host" : std::to_string(place);
}

static void write_line(FILE *list, int from, int to, size_t count) {
    fprintf(list, "%s %s %zu\n", name(from).c_str(), name(to).c_str(), count);
}

FILE *open_list(const char *variable) {
    const char *path = getenv(variable);
    if (!path || !*path) return nullptr;
    FILE *list = fopen(path, "a");
    if (list) return list;
    fprintf(stderr, "emulation: %s=%s: cannot be written\n", variable, path);
    abort();
}

void note_copy(const void *to, const void *from, size_t count) {
    FILE *list = open_list("LOCKSTEP_EMULATED_COPIES");
    if (!list) return;
    const int giver = place_of(from, count), taker = place_of(to, count);
    const bool direct =
        giver == HOST || taker == HOST || (reaches(giver, taker) && reaches(taker, giver));
    write_line(list, giver, direct ? taker : HOST, count);
    if (!direct) write_line(list, HOST, taker, count);
    fclose(list);
}

} // namespace emulation

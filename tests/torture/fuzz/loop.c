// SPDX-License-Identifier: MIT
// loop.c - calls a fuzzer if there is no libFuzzer: mutates seeds, without measuring coverage.
//
//     FUZZER SECONDS SEED SEEDS_FOLDER CRASH_FILE
//
// Each input is written to CRASH_FILE before it is tried, so that an input that ends the program
// remains there. Prints the number of inputs.
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { MAX_SEEDS = 256, MAX_BYTES = 1 << 16, INSERTED = 64 };

typedef struct input {
    uint8_t data[MAX_BYTES];
    size_t bytes;
} input;

typedef struct corpus {
    input *seeds;
    size_t count;
    uint64_t state; // of the random number generator
} corpus;

// splitmix64 by S. Vigna.
static uint64_t draw(corpus *c, uint64_t below) {
    uint64_t z = c->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return below ? (z ^ z >> 31) % below : 0;
}

static void read_seeds(corpus *c, const char *folder) {
    struct dirent **names;
    const int count = scandir(folder, &names, NULL, alphasort);
    c->seeds = calloc(MAX_SEEDS, sizeof *c->seeds);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        FILE *f = names[i]->d_name[0] == '.' || c->count == MAX_SEEDS ? NULL : fopen(path, "rb");
        if (f) {
            input *seed = &c->seeds[c->count++];
            seed->bytes = fread(seed->data, 1, MAX_BYTES, f);
            fclose(f);
        }
        free(names[i]);
    }
    free(names);
}

// Replaces `gone` bytes at `at` by the `come` bytes given, as far as there is room.
static void replace(input *i, size_t at, size_t gone, const uint8_t *bytes, size_t come) {
    if (gone > i->bytes - at) gone = i->bytes - at;
    if (i->bytes - gone + come > MAX_BYTES) return;
    memmove(i->data + at + come, i->data + at + gone, i->bytes - at - gone);
    if (come) memcpy(i->data + at, bytes, come);
    i->bytes += come - gone;
}

static void mutate(corpus *c, input *i) {
    static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '0', '9', '-', '"', '{', ':'};
    const size_t at = draw(c, i->bytes + 1);
    uint8_t bytes[INSERTED];
    size_t length = 1 + draw(c, INSERTED);
    switch (draw(c, 6)) {
    case 0: // a bit
        if (at < i->bytes) i->data[at] ^= (uint8_t)(1 << draw(c, 8));
        break;
    case 1: // one of the significant bytes
        if (at < i->bytes) i->data[at] = edges[draw(c, sizeof edges)];
        break;
    case 2: replace(i, at, length, NULL, 0); break;
    case 3: // any bytes
        for (size_t k = 0; k < length; k++) bytes[k] = (uint8_t)draw(c, 256);
        replace(i, at, draw(c, 2) * length, bytes, length);
        break;
    case 4: { // a part of some seed
        const input *other = &c->seeds[draw(c, c->count)];
        const size_t from = draw(c, other->bytes + 1);
        if (length > other->bytes - from) length = other->bytes - from;
        replace(i, at, draw(c, 2) * length, other->data + from, length);
        break;
    }
    default: i->bytes = at; break;
    }
}

static bool keep(const char *path, const input *i) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    const bool whole = fwrite(i->data, 1, i->bytes, f) == i->bytes;
    return fclose(f) == 0 && whole;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    corpus c = {.state = strtoull(argv[2], NULL, 10)};
    read_seeds(&c, argv[3]);
    input *next = malloc(sizeof *next);
    if (!c.count || !next) return 2;
    const time_t end = time(NULL) + strtol(argv[1], NULL, 10);
    unsigned long tried = 0;
    for (; time(NULL) <= end; tried++) {
        *next = c.seeds[tried < c.count ? tried : draw(&c, c.count)];
        for (uint64_t k = tried < c.count ? 0 : 1 + draw(&c, 6); k > 0; k--) mutate(&c, next);
        if (!keep(argv[4], next)) return 2;
        alarm(10);
        (void)LLVMFuzzerTestOneInput(next->data, next->bytes);
    }
    printf("%lu\n", tried);
    free(next);
    free(c.seeds);
    return 0;
}

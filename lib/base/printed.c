// SPDX-License-Identifier: MIT
#include "base/printed.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The relative tolerance of "about".
static const double ABOUT = 0.1;

// A number with its unit, in the unit of the figure.
typedef struct amount {
    double value, half; // half a unit of its last digit
    double scale;       // of the unit; 0: none was given
    bool cut;           // of several parts without decimals
    bool inverse;       // seconds per batch
    bool plain;         // a number of the figure's own unit
} amount;

// ---- Words
// ---------------------------------------------------------------------------------------

typedef struct unit_word {
    const char *word;
    double scale;
} unit_word;

static const unit_word times[] = {{"us", 1e-6},
                                  {"\u00b5s", 1e-6},
                                  {"\u03bcs", 1e-6},
                                  {"ms", 0.001},
                                  {"s", 1},
                                  {"sec", 1},
                                  {"secs", 1},
                                  {"second", 1},
                                  {"seconds", 1},
                                  {"m", 60},
                                  {"min", 60},
                                  {"mins", 60},
                                  {"minute", 60},
                                  {"minutes", 60},
                                  {"h", 3600},
                                  {"hr", 3600},
                                  {"hrs", 3600},
                                  {"hour", 3600},
                                  {"hours", 3600},
                                  {"d", 86400},
                                  {"day", 86400},
                                  {"days", 86400},
                                  {0}};
static const unit_word percents[] = {{"%", 1}, {"percent", 1}, {0}};
static const unit_word factors[] = {{"x", 1}, {"×", 1}, {"times", 1}, {0}};
static const unit_word images[] = {
    {"", 1},       {"image", 1},   {"images", 1},  {"img", 1},      {"imgs", 1},
    {"sample", 1}, {"samples", 1}, {"example", 1}, {"examples", 1}, {0}};
static const unit_word batches[] = {{"it", 1},        {"its", 1},        {"iter", 1}, {"iters", 1},
                                    {"iteration", 1}, {"iterations", 1}, {"step", 1}, {"steps", 1},
                                    {"batch", 1},     {"batches", 1},    {0}};

// Returns the scale of the word of that length; 0 if it is none of them.
static double scale_of(const unit_word *words, const char *word, size_t length) {
    for (; words->word; words++)
        if (strlen(words->word) == length && strncasecmp(words->word, word, length) == 0)
            return words->scale;
    return 0;
}

static const char *skip_blanks(const char *p) {
    while (*p == ' ') p++;
    return p;
}

// The length of a unit's word: letters, %, or ×.
static size_t word_length(const char *p) {
    size_t n = 0;
    while (isalpha((unsigned char)p[n]) || p[n] == '%' || (p[n] & 0x80)) n++;
    return n;
}

// ---- Numbers
// -------------------------------------------------------------------------------------

// Half of 10^power. Not by pow(), whose last bit depends on the C library.
static double half_a_unit(long power) {
    char text[32];
    snprintf(text, sizeof text, "5e%ld", power - 1);
    return strtod(text, NULL);
}

// Reads digits, with decimals and an exponent. Returns NULL if there are none.
static const char *read_number(const char *p, amount *a) {
    const size_t whole = strspn(p, "0123456789");
    const char *end = p + whole;
    size_t decimals = 0;
    if (*end == '.') {
        decimals = strspn(end + 1, "0123456789");
        end += 1 + decimals;
    }
    if (!whole && !decimals) return NULL;
    long power = 0;
    if (*end == 'e' || *end == 'E') {
        const size_t sign = end[1] == '-' || end[1] == '+';
        const size_t digits = strspn(end + 1 + sign, "0123456789");
        if (digits) power = strtol(end + 1, NULL, 10);
        if (digits) end += 1 + sign + digits;
    }
    a->value = strtod(p, NULL);
    a->half = half_a_unit(power - (long)decimals);
    return end;
}

// h:mm:ss or m:ss, the seconds with decimals or without.
static bool read_clock(const char *p, amount *a) {
    *a = (amount){.scale = 1};
    double sum = 0;
    for (int part = 0; part < 3; part++) {
        const size_t digits = strspn(p, "0123456789");
        if (!digits || (part && (digits != 2 || *p > '5'))) return false;
        if (part && p[digits] != ':') {
            amount seconds;
            const char *end = read_number(p, &seconds);
            a->cut = seconds.half >= 0.5;
            a->half = seconds.half;
            a->value = 60 * sum + seconds.value;
            return end && !*skip_blanks(end);
        }
        if (p[digits] != ':') return false;
        sum = 60 * sum + strtod(p, NULL);
        p += digits + 1;
    }
    return false;
}

// "2m36s", "1 h 49 min", "78.7 s": each unit is smaller than the one before.
static bool read_duration(const char *p, double own, amount *a) {
    double last = INFINITY;
    int count = 0;
    *a = (amount){0};
    for (p = skip_blanks(p); *p; p = skip_blanks(p), count++) {
        amount one;
        const char *end = read_number(p, &one);
        if (!end) return false;
        p = skip_blanks(end);
        const size_t length = word_length(p);
        const double scale = scale_of(times, p, length);
        if (scale == 0 || scale >= last) return false;
        a->value += scale * one.value;
        a->half = scale * one.half;
        a->cut = count && one.half >= 0.5;
        last = scale;
        p += length;
    }
    a->scale = last;
    a->plain = count == 1 && last == own;
    return count > 0;
}

// The unit of a rate: "images/s", "it/sec", "s/it".
static double read_rate_unit(const char *p, printed_unit unit, bool *inverse) {
    const unit_word *things = unit == PRINTED_IMAGE_RATE ? images : batches;
    static const unit_word second[] = {{"s", 1}, {"sec", 1}, {"second", 1}, {0}};
    const size_t length = word_length(p);
    const char *rest = skip_blanks(p + length);
    if (unit == PRINTED_IMAGE_RATE && strcasecmp(p, "fps") == 0) return 1;
    if (*rest == '/')
        rest = skip_blanks(rest + 1);
    else if (strncmp(rest, "per ", 4) == 0)
        rest += 4;
    else
        return 0;
    const size_t left = strlen(rest);
    const double time = scale_of(times, p, length);
    *inverse = unit == PRINTED_BATCH_RATE && time > 0 && scale_of(batches, rest, left) > 0;
    if (*inverse) return time;
    return scale_of(things, p, length) * scale_of(second, rest, left);
}

// 1.2k
static double read_thousand(const char **p) {
    const bool kilo = (**p == 'k' || **p == 'K') && !isalpha((unsigned char)(*p)[1]);
    if (kilo) *p = skip_blanks(*p + 1);
    return kilo ? 1000 : 1;
}

static bool read_amount(const char *text, printed_unit unit, amount *a) {
    const bool time = unit == PRINTED_SECONDS || unit == PRINTED_MS;
    const double own = unit == PRINTED_MS ? 0.001 : 1;
    if (time && (read_clock(text, a) || read_duration(text, own, a))) return true;
    *a = (amount){0};
    const char *p = read_number(text, a);
    if (!p) return false;
    p = skip_blanks(p);
    const bool rate = unit == PRINTED_IMAGE_RATE || unit == PRINTED_BATCH_RATE;
    const double thousand = rate ? read_thousand(&p) : 1;
    a->value *= thousand;
    a->half *= thousand;
    a->plain = thousand == 1 && unit != PRINTED_ERROR && unit != PRINTED_BATCH_RATE;
    if (!*p) return true;
    const size_t length = strlen(p);
    if (unit == PRINTED_PERCENT || unit == PRINTED_ERROR) a->scale = scale_of(percents, p, length);
    if (unit == PRINTED_TIMES) a->scale = scale_of(factors, p, length);
    if (rate) a->scale = read_rate_unit(p, unit, &a->inverse);
    return a->scale > 0;
}

// ---- Figures
// -------------------------------------------------------------------------------------

// Splits "a ± b". Returns b; NULL if there is none.
static char *split_deviation(char *text) {
    static const char *const signs[] = {"±", "+/-", "+-"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        char *at = strstr(text, signs[i]);
        if (!at) continue;
        char *end = at;
        while (end > text && end[-1] == ' ') end--;
        *end = 0;
        return at + strlen(signs[i]);
    }
    return NULL;
}

// From the printed unit to that of the figure.
static double convert(double x, printed_unit unit, const amount *a) {
    if (unit == PRINTED_MS && a->scale > 0) return 1000 * x;
    if (unit == PRINTED_ERROR) return 100 - x;
    if (unit == PRINTED_BATCH_RATE) return a->inverse ? 1000 * a->scale * x : 1000 / x;
    return x;
}

// Cuts "per GPU" or "/device" from the end of a rate. Returns whether it was there.
static bool cut_per_device(char *text) {
    static const unit_word devices[] = {{"gpu", 1},    {"gpus", 1},        {"device", 1},
                                        {"card", 1},   {"accelerator", 1}, {"rank", 1},
                                        {"worker", 1}, {"process", 1},     {0}};
    char *end = text + strlen(text);
    while (end > text && end[-1] == ' ') end--;
    char *word = end;
    while (word > text && isalpha((unsigned char)word[-1])) word--;
    if (scale_of(devices, word, (size_t)(end - word)) == 0) return false;
    char *cut = word;
    while (cut > text && cut[-1] == ' ') cut--;
    if (cut > text && cut[-1] == '/')
        cut--;
    else if (cut < word && cut - text > 3 && strncmp(cut - 4, " per", 4) == 0)
        cut -= 4;
    else
        return false;
    while (cut > text && cut[-1] == ' ') cut--;
    *cut = 0;
    return true;
}

static bool read_parts(char *text, printed_unit unit, printed_figure *p) {
    amount a, by = {0};
    const bool about = *text == '~';
    p->per_device = unit == PRINTED_IMAGE_RATE && cut_per_device(text);
    char *deviation = split_deviation(text);
    const bool negative = text[about] == '-' && !deviation;
    const size_t skip = (size_t)about + (negative || text[about] == '+');
    if (!read_amount(text + skip, unit, &a)) return false;
    if (deviation && !read_amount(skip_blanks(deviation), unit, &by)) return false;
    // "12.3 ± 0.1 ms": one unit for both.
    const bool time = unit == PRINTED_SECONDS || unit == PRINTED_MS;
    if (deviation && a.scale == 0 && by.scale > 0 && time) {
        const double unit_scale = a.scale = by.scale;
        a.value *= unit_scale;
        a.half *= unit_scale;
    }
    if (deviation && a.scale > 0 && by.scale == 0 && time) return false;
    double half = about ? fmax(ABOUT * a.value, 2 * a.half) : a.half;
    half += deviation ? by.value + by.half : 0;
    const double value = negative ? -a.value : a.value;
    const double high = value + half + (a.cut ? a.half : 0);
    const double ends[] = {convert(value - half, unit, &a), convert(high, unit, &a)};
    p->value = convert(value, unit, &a);
    p->range = (interval){fmin(ends[0], ends[1]), fmax(ends[0], ends[1])};
    if (unit == PRINTED_BATCH_RATE && !a.inverse && value - half <= 0) p->range.high = INFINITY;
    p->has_unit = a.scale > 0 || by.scale > 0;
    if (deviation) p->deviation = fabs(convert(value + by.value, unit, &a) - p->value);
    p->length = a.plain && !deviation ? strspn(text, "~+-.0123456789eE") : 0;
    if (unit == PRINTED_ERROR && value < 1 && value > 0 && !p->has_unit) return false;
    return isfinite(p->value) && fabs(p->value) <= 1e15;
}

bool printed_read(const char *text, printed_unit unit, printed_figure *p) {
    enum { MOST = 64 };
    char copy[MOST];
    *p = (printed_figure){0};
    const size_t length = strlen(text);
    if (length >= MOST) return false;
    memcpy(copy, text, length + 1);
    return read_parts(copy, unit, p);
}

const char *printed_forms(printed_unit unit) {
    static const char *const forms[PRINTED_UNITS] = {
        [PRINTED_NUMBER] = "",
        [PRINTED_SECONDS] = "156, 2m36s or 0:02:36",
        [PRINTED_MS] = "19.24 or 19.24 ms",
        [PRINTED_PERCENT] = "93.02, 93.02% or 93.5 ± 0.2",
        [PRINTED_ERROR] = "8.27 or 0.8% (percent; below 1, with its sign)",
        [PRINTED_TIMES] = "1.83 or 1.83x",
        [PRINTED_IMAGE_RATE] = "332 or 332 images/s (of all devices), or 42 images/s per GPU",
        [PRINTED_BATCH_RATE] = "12.5 or 12.5 it/s"};
    return forms[unit];
}

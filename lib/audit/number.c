// SPDX-License-Identifier: MIT
#include "audit/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The relative tolerance of "about".
static const double ABOUT = 0.1;

// Half a unit of the last digit of "504.28", "1.5e-3".
static double half_unit(const char *text) {
    const char *point = strchr(text, '.'), *exponent = strpbrk(text, "eE");
    size_t end = exponent ? (size_t)(exponent - text) : strlen(text);
    size_t decimals = point ? end - (size_t)(point - text) - 1 : 0;
    double power = exponent ? strtod(exponent + 1, NULL) : 0;
    return 0.5 * pow(10, power - (double)decimals);
}

static double slack(stated_kind kind, const char *text, double value, bool about) {
    if (kind == STATED_COUNT || kind == STATED_SETTING) return 0;
    double half = half_unit(text);
    return about ? fmax(ABOUT * fabs(value), 2 * half) : half;
}

static status read_scalar(const yaml_node *node, const char *key, stated_kind kind, double min,
                          bool above, stated *s, error *err) {
    yaml_node number = *node;
    bool about = node->kind == YAML_SCALAR && !node->quoted && node->text[0] == '~' &&
                 node->text[1] && kind != STATED_COUNT;
    if (about) number.text++;
    status rc = yaml_number(&number, key, &s->value, err);
    if (rc != STATUS_OK) return rc;
    if (s->value < min || (above && s->value == min))
        return yaml_error(node, err, "'%s': expected a number %s %g, got %s", key,
                          above ? "above" : "of at least", min, node->text);
    if (kind == STATED_COUNT && s->value != floor(s->value))
        return yaml_error(node, err, "'%s': expected a whole number, got %s", key, node->text);
    if (fabs(s->value) > 1e15 || strlen(node->text) >= STATED_TEXT_BYTES / 2 - 4)
        return yaml_error(node, err, "'%s': expected a number of ordinary size, got %.40s", key,
                          node->text);
    double half = slack(kind, number.text, s->value, about);
    s->range = (interval){s->value - half, s->value + half};
    if (min == 0 && s->range.low < 0) s->range.low = 0;
    snprintf(s->text, sizeof s->text, "%s", node->text);
    s->given = true;
    return STATUS_OK;
}

status stated_read(const yaml_node *node, const char *key, stated_kind kind, double min, bool above,
                   stated *s, error *err) {
    stated low = {0}, high = {0};
    *s = (stated){0};
    if (node->kind != YAML_SEQUENCE) return read_scalar(node, key, kind, min, above, s, err);
    if (node->count != 2)
        return yaml_error(node, err, "'%s': expected a number or [LOWEST, HIGHEST]", key);
    status rc;
    TRY(read_scalar(node->items[0], key, kind, min, above, &low, err));
    TRY(read_scalar(node->items[1], key, kind, min, above, &high, err));
    if (low.value > high.value)
        return yaml_error(node, err, "'%s': expected [LOWEST, HIGHEST], got %s above %s", key,
                          low.text, high.text);
    s->given = s->is_range = true;
    s->value = (low.value + high.value) / 2;
    s->range = (interval){low.range.low, high.range.high};
    size_t used = (size_t)snprintf(s->text, sizeof s->text, "%s", low.text);
    snprintf(s->text + used, sizeof s->text - used, "–%.24s", high.text);
out:
    return rc;
}

stated stated_inverse(const stated *s) {
    stated inverse = *s;
    inverse.value = 1 / s->value;
    inverse.range = interval_divide(interval_exact(1), s->range);
    return inverse;
}

interval interval_add(interval a, interval b) {
    return (interval){a.low + b.low, a.high + b.high};
}

interval interval_subtract(interval a, interval b) {
    return (interval){a.low - b.high, a.high - b.low};
}

interval interval_multiply(interval a, interval b) {
    return (interval){a.low * b.low, a.high * b.high};
}

interval interval_divide(interval a, interval b) {
    return (interval){b.high > 0 ? a.low / b.high : INFINITY,
                      b.low > 0 ? a.high / b.low : INFINITY};
}

interval interval_exact(double x) {
    return (interval){x, x};
}

bool interval_meet(interval a, interval b) {
    double size = fmax(fmax(fabs(a.low), fabs(a.high)), fmax(fabs(b.low), fabs(b.high)));
    double rounding = isfinite(size) ? 1e-12 * size : 0;
    return a.low <= b.high + rounding && b.low <= a.high + rounding;
}

double proportions_z(double p1, double n1, double p2, double n2) {
    double pooled = (p1 * n1 + p2 * n2) / (n1 + n2);
    double deviation = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2));
    if (deviation > 0) return (p1 - p2) / deviation;
    return p1 == p2 ? 0 : INFINITY;
}

double z_p_value(double z) {
    return erfc(fabs(z) / sqrt(2));
}

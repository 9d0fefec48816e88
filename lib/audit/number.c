// SPDX-License-Identifier: MIT
#include "audit/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stated_explain(stated *s, const char *as_printed, interval meaning) {
    if (s->is_range)
        snprintf(s->text, sizeof s->text, "(%.30s = %.7g–%.7g)", as_printed, meaning.low,
                 meaning.high);
    else
        snprintf(s->text, sizeof s->text, "(%.30s = %.7g)", as_printed, s->value);
}

// A count or a setting is an exact number.
static status read_exact(const yaml_node *node, const char *key, stated_kind kind, stated *s,
                         error *err) {
    yaml_node number = *node;
    if (kind == STATED_SETTING && node->kind == YAML_SCALAR && !node->quoted &&
        node->text[0] == '~' && node->text[1])
        number.text++;
    status rc = yaml_number(&number, key, &s->value, err);
    if (rc == STATUS_OK && kind == STATED_COUNT && s->value != floor(s->value))
        rc = yaml_error(node, err, "'%s': expected a whole number, got %s", key, node->text);
    s->range = interval_exact(s->value);
    if (rc == STATUS_OK) snprintf(s->text, sizeof s->text, "%.40s", node->text);
    return rc;
}

static status read_figure(const yaml_node *node, const char *key, printed_unit unit, stated *s,
                          error *err) {
    printed_figure p;
    double ignored;
    const char *forms = printed_forms(unit);
    if (node->kind != YAML_SCALAR || !printed_read(node->text, unit, &p)) {
        status rc = yaml_number(node, key, &ignored, err);
        if (rc == STATUS_OK) rc = yaml_error(node, err, "'%s': got '%.40s'", key, node->text);
        const bool more = rc == STATUS_INPUT && *forms && !err->says_way_out;
        return more ? error_append(err, ": write %s", forms) : rc;
    }
    s->value = p.value;
    s->range = p.range;
    s->is_range = p.deviation > 0;
    s->has_unit = p.has_unit;
    s->per_device = p.per_device;
    if (p.length)
        snprintf(s->text, sizeof s->text, "%.*s", (int)p.length, node->text);
    else
        stated_explain(s, node->text, (interval){p.value - p.deviation, p.value + p.deviation});
    return STATUS_OK;
}

static status read_scalar(const yaml_node *node, const char *key, stated_kind kind, double min,
                          bool above, stated *s, error *err) {
    NEED(kind < STATED_FIGURE
             ? read_exact(node, key, kind, s, err)
             : read_figure(node, key, (printed_unit)(kind - STATED_FIGURE), s, err));
    if (s->value < min || (above && s->value == min))
        return yaml_error(node, err, "'%s': expected a number %s %g, got %s", key,
                          above ? "above" : "of at least", min, node->text);
    if (fabs(s->value) > 1e15 || strlen(node->text) > 30)
        return yaml_error(node, err, "'%s': expected a number of ordinary size, got %.40s", key,
                          node->text);
    if (min == 0 && s->range.low < 0) s->range.low = 0;
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
    NEED(read_scalar(node->items[0], key, kind, min, above, &low, err));
    NEED(read_scalar(node->items[1], key, kind, min, above, &high, err));
    if (low.is_range || high.is_range)
        return yaml_error(node, err, "'%s': expected [LOWEST, HIGHEST], got a ± b in a list", key);
    if (low.value > high.value)
        return yaml_error(node, err, "'%s': expected [LOWEST, HIGHEST], got %s above %s", key,
                          low.text, high.text);
    s->given = s->is_range = true;
    s->has_unit = high.has_unit;
    s->per_device = high.per_device;
    s->value = (low.value + high.value) / 2;
    s->range = (interval){low.range.low, high.range.high};
    size_t used = (size_t)snprintf(s->text, sizeof s->text, "%s", low.text);
    snprintf(s->text + used, sizeof s->text - used, "–%.40s", high.text);
    return STATUS_OK;
}

void stated_of_all(stated *s, const stated *devices) {
    char as_printed[STATED_TEXT_BYTES];
    snprintf(as_printed, sizeof as_printed, "%.12s x %.60s", devices->text, s->text);
    s->per_device = false;
    s->of_all = true;
    s->value *= devices->value;
    s->range = interval_multiply(s->range, devices->range);
    stated_explain(s, as_printed, s->range);
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

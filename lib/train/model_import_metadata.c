// SPDX-License-Identifier: MIT
// The model and the normalisation in a checkpoint's metadata.
#include "base/json.h"
#include "train/model_import.h"

// Other programs use keys of these names, too.
static status refuse_metadata(const char *path, const char *key, const char *text,
                              const char *options, const error *why, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': the key '%s' in its metadata, '%.60s', was not "
                     "written by this program (%s); give %s",
                     path, key, text, why->message, options);
}

static status read_metadata(const tensor_file *f, const char *path, const char *key,
                            const char *options, const char **text, error *err) {
    *text = tensor_file_metadata(f, key);
    if (*text) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': it has no '%s' in its metadata; give %s", path,
                     key, options);
}

status model_import_architecture(const tensor_file *f, const char *path, model *m, error *err) {
    static const char key[] = "model", options[] = "--architecture MODEL.yaml";
    const char *text;
    yaml_node *tree = NULL;
    error why = {0};
    status rc = read_metadata(f, path, key, options, &text, err);
    if (rc != STATUS_OK) return rc;
    rc = json_to_yaml(text, key, &tree, &why);
    if (rc == STATUS_OK) rc = model_from_yaml(m, tree, &why);
    yaml_free(tree);
    if (rc == STATUS_INPUT) return refuse_metadata(path, key, text, options, &why, err);
    return rc == STATUS_OK ? rc : error_set(err, rc, "%s", why.message);
}

static status read_numbers(const yaml_node *tree, const char *key, int *count,
                           float values[ENGINE_MAX_CHANNELS], error *err) {
    const yaml_node *list = tree->kind == YAML_MAPPING ? yaml_find(tree, key) : NULL;
    if (!list || list->kind != YAML_SEQUENCE || list->count < 1 ||
        list->count > ENGINE_MAX_CHANNELS)
        return error_set(err, STATUS_INPUT, "it has no list '%s' of 1 to %d numbers", key,
                         ENGINE_MAX_CHANNELS);
    *count = (int)list->count;
    for (int c = 0; c < *count; c++) {
        double value;
        status rc = yaml_number(list->items[c], key, &value, err);
        if (rc != STATUS_OK) return rc;
        values[c] = (float)value;
    }
    return STATUS_OK;
}

static status read_normalization(const yaml_node *tree, normalization *n, error *err) {
    int deviations;
    status rc;
    TRY(read_numbers(tree, "mean", &n->channels, n->mean, err));
    TRY(read_numbers(tree, "std", &deviations, n->std, err));
    if (deviations != n->channels)
        return error_set(err, STATUS_INPUT, "%d means, %d standard deviations", n->channels,
                         deviations);
    char why[NORMALIZATION_WHY_BYTES];
    if (!normalization_check(n, why)) return error_set(err, STATUS_INPUT, "%s", why);
out:
    return rc;
}

status model_import_normalization(const tensor_file *f, const char *path, normalization *n,
                                  error *err) {
    static const char key[] = "normalize", options[] = "--mean and --std";
    const char *text;
    yaml_node *tree = NULL;
    error why = {0};
    status rc = read_metadata(f, path, key, options, &text, err);
    if (rc != STATUS_OK) return rc;
    rc = json_to_yaml(text, key, &tree, &why);
    if (rc == STATUS_OK) rc = read_normalization(tree, n, &why);
    yaml_free(tree);
    if (rc == STATUS_INPUT) return refuse_metadata(path, key, text, options, &why, err);
    return rc == STATUS_OK ? rc : error_set(err, rc, "%s", why.message);
}

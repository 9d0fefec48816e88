// SPDX-License-Identifier: MIT
#include "train/evaluate_tool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cores.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/labels.h"
#include "train/evaluate_images.h"
#include "train/evaluate_model.h"
#include "train/evaluation_warnings.h"

// Raised when equal inputs give different predictions than before.
enum { EVALUATE_BITS = 2 };

static const char NOTES[] =
    "For a data set it writes predictions.st.zst (logits, labels, ids) and\n"
    "manifest.yaml (accuracy, loss, figures per class, confusion matrix), and prints\n"
    "one line:\n"
    "    accuracy 0.6430 loss 1.0200 (10000 images)\n"
    "or, with --json, {\"accuracy\", \"loss\", \"samples\"}. If always answering the\n"
    "commonest class could give that accuracy, or the model never answers a class, a\n"
    "line on standard error says so.\n"
    "\n"
    "--tta averages the logits of several views of each image: mirror, of the image\n"
    "and its mirror image; mirror-shift, also of both shifted by a pixel to the upper\n"
    "left and to the lower right, with half the weight.\n"
    "\n"
    "For pictures (--image, JPEG or PNG) it prints the most probable classes, and\n"
    "writes nothing. They are resized and cropped as by import-images, and normalised\n"
    "as in training:\n"
    "    image    class  probability\n"
    "    cat.jpg  cat         0.9132\n"
    "    cat.jpg  dog         0.0511\n"
    "or, with --json, {\"images\": [{\"image\", \"classes\": [{\"label\", \"class\",\n"
    "\"probability\"}]}]}.\n"
    "\n"
    "A PyTorch checkpoint contains neither architecture nor normalisation; pass both:\n"
    "    evaluate --model m.safetensors --architecture lenet.yaml --mean 0.5,0.5,0.5\n"
    "             --std 0.5,0.5,0.5 --data test.st.zst --out DIR\n"
    "For pictures, pass the class names, too: --classes cat,dog,bird";

typedef struct arguments {
    evaluate_settings settings;
    devices devices;
    cli_list images;
    const char *classes, *out, *device, *math, *tta;
    int64_t top, threads;
    bool only_key, json;
} arguments;

static status need(const char *value, const char *option, error *err) {
    if (value) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot start: missing option '--%s'", option);
}

static status print_json(const evaluation *v, tta_kind tta, error *err) {
    yaml_node *answer = yaml_new(YAML_MAPPING);
    yaml_put(answer, "accuracy", json_new_number(evaluation_accuracy(v)));
    yaml_put(answer, "loss", json_new_number(v->loss));
    yaml_put(answer, "samples", yaml_new_integer((int64_t)v->samples));
    if (tta != TTA_NONE) yaml_put(answer, "views", json_new_string(tta_word(tta)));
    return json_answer(answer, err);
}

static status print(const text *lines, error *err) {
    return output_write_file("-", text_string(lines), lines->length, err);
}

static status print_result(const evaluation *v, tta_kind tta, error *err) {
    text line = {0};
    text_format(&line, "accuracy %.4f loss %.4f (%llu image%s", evaluation_accuracy(v), v->loss,
                (unsigned long long)v->samples, v->samples == 1 ? "" : "s");
    if (tta != TTA_NONE)
        text_format(&line, ", %d views of each: %s", tta_count(tta), tta_word(tta));
    text_append(&line, ")\n");
    const status rc = print(&line, err);
    text_release(&line);
    return rc;
}

static status print_key(const evaluate_settings *s, manifest *m, FILE *answers, error *err) {
    status rc = evaluate_model_describe(s, m, err);
    return rc == STATUS_OK ? manifest_print_key(m, answers, err) : rc;
}

static status evaluate(const evaluate_settings *s, const char *folder, bool json, manifest *m,
                       error *err) {
    evaluate_model e = {0};
    output_folder taken = {0};
    status rc;
    TRY(output_folder_open(folder, s->log, &taken, err));
    TRY(evaluate_model_init(&e, s, m, err));
    TRY(evaluate_model_compute(&e, err));
    TRY(evaluate_model_write(&e, folder, m, err));
    TRY(json ? print_json(&e.result, s->tta, err) : print_result(&e.result, s->tta, err));
    evaluation_warn(&e.result, tensor_file_metadata(&e.data.files[0], "classes"), s->log);
out:
    evaluate_model_release(&e);
    output_folder_close(&taken, rc);
    return rc;
}

// ---- Pictures ----

static yaml_node *class_tree(const image_answers *a, const image_class *c) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    const char *name = a->names->items[c->label]->text;
    yaml_put(node, "label", yaml_new_integer(c->label));
    yaml_put(node, "class", json_new_string(name));
    yaml_put(node, "probability", json_new_number(c->probability));
    return node;
}

static yaml_node *picture_tree(const image_answers *a, const char *path, const image_class *ranked,
                               int top) {
    yaml_node *node = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    yaml_put(node, "image", json_new_string(path));
    for (int k = 0; k < top; k++) yaml_append(list, class_tree(a, &ranked[k]));
    yaml_put(node, "classes", list);
    return node;
}

static status print_pictures_json(const image_answers *a, const cli_list *images, int top,
                                  error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < images->count; i++) {
        const image_class *ranked = a->ranked + i * (size_t)a->classes;
        yaml_append(list, picture_tree(a, images->items[i], ranked, top));
    }
    yaml_put(root, "images", list);
    return json_answer(root, err);
}

// Writes a line of the table; `probability` is a number, or the column's title. It widens the
// columns where they are too narrow.
static void table_line(size_t width[2], const char *image, const char *class,
                       const char *probability, text *out) {
    const char *cells[2] = {image, class};
    for (size_t c = 0; c < 2; c++) {
        char *shown = memory_string(cells[c]);
        (void)printable(shown, true);
        const size_t columns = text_columns(shown);
        if (columns > width[c]) width[c] = columns;
        text_format(out, "%s%*s", shown, (int)(width[c] - columns + 2), "");
        free(shown);
    }
    text_format(out, "%11s\n", probability);
}

static void table_lines(size_t width[2], const image_answers *a, const cli_list *images, int top,
                        text *out) {
    table_line(width, "image", "class", "probability", out);
    for (size_t i = 0; i < images->count; i++)
        for (int k = 0; k < top; k++) {
            const image_class *c = &a->ranked[i * (size_t)a->classes + (size_t)k];
            char number[32];
            snprintf(number, sizeof number, "%.4f", c->probability);
            table_line(width, images->items[i], a->names->items[c->label]->text, number, out);
        }
}

static status print_pictures(const image_answers *a, const cli_list *images, int top, error *err) {
    size_t width[2] = {0};
    text narrow = {0}, table = {0};
    table_lines(width, a, images, top, &narrow);
    table_lines(width, a, images, top, &table);
    const status rc = print(&table, err);
    text_release(&narrow);
    text_release(&table);
    return rc;
}

static status answer(const arguments *a, error *err) {
    const evaluate_settings *s = &a->settings;
    const image_settings of = {.model = s->model,
                               .classes = a->classes,
                               .paths = a->images.items,
                               .count = a->images.count,
                               .devices = s->devices,
                               .threads = s->threads,
                               .isa = s->isa};
    image_answers said = {0};
    status rc;
    TRY(image_answers_compute(&said, &of, err));
    const int top = a->top < said.classes ? (int)a->top : said.classes;
    TRY(a->json ? print_pictures_json(&said, &a->images, top, err)
                : print_pictures(&said, &a->images, top, err));
out:
    image_answers_release(&said);
    return rc;
}

// ---- The command line ----

static status parse_tta(const char *word, tta_kind *tta, error *err) {
    const char *words[TTA_KINDS];
    char hint[HINT_BYTES];
    if (tta_find(word, tta)) return STATUS_OK;
    for (int k = 0; k < TTA_KINDS; k++) words[k] = tta_word((tta_kind)k);
    return error_set(err, STATUS_USAGE,
                     "cannot start: '--tta %s': expected none, mirror or mirror-shift%s", word,
                     hint_about(word, words, TTA_KINDS, HINT_FUNCTIONS, hint));
}

// `--image *.jpg`: a shell makes one argument of each file, and the option takes the first.
static status take_pictures(arguments *a, const cli_list *operands, error *err) {
    if (operands->count && !a->images.count)
        return error_set(
            err, STATUS_USAGE,
            "unexpected argument: '%.200s': the data set is --data FILE, and a picture "
            "--image FILE",
            operands->items[0]);
    for (size_t i = 0; i < operands->count; i++) cli_list_add(&a->images, operands->items[i]);
    return STATUS_OK;
}

// Pictures write nothing, so they are not a stage.
static status check_arguments(const arguments *a, error *err) {
    const evaluate_settings *s = &a->settings;
    NEED(need(s->model.path, "model", err));
    if (a->images.count && (s->data || a->out || a->only_key))
        return error_set(err, STATUS_USAGE,
                         "cannot start: '--%s': --image only prints, and takes no dataset and no "
                         "folder",
                         s->data  ? "data"
                         : a->out ? "out"
                                  : "print-key");
    if (a->images.count && s->tta != TTA_NONE)
        return error_set(err, STATUS_USAGE,
                         "cannot start: '--tta': it is for a data set, not for --image");
    if (a->images.count) return STATUS_OK;
    if (a->classes)
        return error_set(err, STATUS_USAGE,
                         "cannot start: '--classes': it is for --image; a dataset has class names");
    NEED(need(s->data, "data", err));
    if (!a->only_key) NEED(need(a->out, "out", err));
    return STATUS_OK;
}

static status run(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    evaluate_settings *s = &a->settings;
    manifest m = {0};
    status rc;
    TRY(take_pictures(a, call->operands, err));
    TRY(parse_tta(a->tta, &s->tta, err));
    TRY(check_arguments(a, err));
    s->threads = (int)a->threads;
    s->devices = &a->devices;
    s->log = s->model.log = a->only_key ? NULL : call->log;
    TRY(devices_parse(&a->devices, a->device, err));
    TRY(devices_math(&a->devices, a->math, err));
    a->devices.count = 1;
    if (!a->only_key || devices_undecided(&a->devices))
        TRY(devices_open(&a->devices, 1, s->log, err));
    if (a->images.count) return answer(a, err);
    TRY(manifest_begin(&m, "evaluate", EVALUATE_BITS, call->argc, call->argv, err));
    TRY(a->only_key ? print_key(s, &m, call->answers, err) : evaluate(s, a->out, a->json, &m, err));
out:
    manifest_release(&m);
    return rc;
}

status evaluate_tool(int argc, char **argv, FILE *answers, error *err) {
    arguments a = {.settings.isa = getenv("LOCKSTEP_ISA"),
                   .device = "auto",
                   .math = "exact",
                   .tta = "none",
                   .top = 5,
                   .threads = cores_usable()};
    evaluate_settings *s = &a.settings;
    const cli_option options[] = {
        {"model", CLI_STRING, &s->model.path, "FILE", "checkpoint to evaluate", 0, 0},
        {"data", CLI_STRING, &s->data, "FILE|-", "data set: a file, or - for standard input", 0, 0},
        {"out", CLI_STRING, &a.out, "DIR", "output folder for predictions and manifest", 0, 0},
        {"tta", CLI_STRING, &a.tta, "VIEWS",
         "average over views of each image: none, mirror or mirror-shift (default none)", 0, 0},
        {"image", CLI_LIST, &a.images, "FILE", "a picture, or several, instead of a data set", 0,
         0},
        {"top", CLI_INTEGER, &a.top, "N", "number of classes for each picture (default 5)", 1,
         LABELS_MAX_CLASSES},
        {"architecture", CLI_STRING, &s->model.architecture, "MODEL.yaml",
         "the model, if the checkpoint does not contain it", 0, 0},
        {"mean", CLI_STRING, &s->model.mean, "LIST", "mean of each channel, for pixels from 0 to 1",
         0, 0},
        {"std", CLI_STRING, &s->model.std, "LIST", "standard deviation of each channel", 0, 0},
        {"classes", CLI_STRING, &a.classes, "LIST", "class names, if the checkpoint has none", 0,
         0},
        {"device", CLI_STRING, &a.device, "auto|cpu|cuda|LIST",
         "device; the first of a list is used", 0, 0},
        {"math", CLI_STRING, &a.math, "exact|fast",
         "GPU: exact (default): the bits of the CPU; fast: other orders of sums", 0, 0},
        {"threads", CLI_INTEGER, &a.threads, "N",
         "threads (default: all usable processors; 1 on a GPU)", 1, 1024},
        {"json", CLI_FLAG, &a.json, NULL, "print the result as one line of JSON", 0, 0},
        {"print-key", CLI_FLAG, &a.only_key, NULL, "print the stage key and exit", 0, 0},
        {NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const cli_tool tool = {.name = "evaluate",
                           .usage = "--model FILE --data FILE|- --out DIR [OPTION]...\n"
                                    "--model FILE --image FILE... [OPTION]...",
                           .options = options,
                           .notes = NOTES,
                           .operands_max = 10000};
    const status rc = cli_run(&tool, argc, argv, answers, run, &a, err);
    cli_list_release(&a.images);
    return rc;
}

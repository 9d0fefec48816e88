// evaluate - evaluates a trained model on a dataset.
#include <stdlib.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/output.h"
#include "train/evaluate_model.h"

// Raised when equal inputs give different predictions than before.
enum { EVALUATE_BITS = 2 };

static const char NOTES[] =
    "Writes predictions.st.zst (logits, labels, ids) and manifest.yaml (accuracy,\n"
    "loss, figures per class, confusion matrix), and prints one line:\n"
    "    accuracy 0.6430 loss 1.0200 (10000 images)\n"
    "or, with --json, {\"accuracy\", \"loss\", \"samples\"}.\n"
    "\n"
    "A PyTorch checkpoint contains neither architecture nor normalisation; pass both:\n"
    "    evaluate --model m.safetensors --architecture lenet.yaml --mean 0.5,0.5,0.5\n"
    "             --std 0.5,0.5,0.5 --data test.st.zst --out DIR";

static status need(const char *value, const char *option, error *err) {
    if (value) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot start: missing option '--%s'", option);
}

static status print_json(const evaluation *v, error *err) {
    yaml_node *answer = yaml_new(YAML_MAPPING, err);
    status rc = answer ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    TRY(yaml_put(answer, "accuracy", json_new_number(evaluation_accuracy(v), err), err));
    TRY(yaml_put(answer, "loss", json_new_number(v->loss, err), err));
    TRY(yaml_put(answer, "samples", yaml_new_integer((int64_t)v->samples, err), err));
    rc = json_print(answer, err);
out:
    yaml_free(answer);
    return rc;
}

static status print_result(const evaluation *v, error *err) {
    output *out = NULL;
    status rc;
    TRY(output_open("-", &out, err));
    TRY(output_format(out, err, "accuracy %.4f loss %.4f (%llu image%s)\n", evaluation_accuracy(v),
                      v->loss, (unsigned long long)v->samples, v->samples == 1 ? "" : "s"));
    TRY(output_commit(out, err));
out:
    output_free(out);
    return rc;
}

static status print_key(const evaluate_settings *s, manifest *m, error *err) {
    status rc = evaluate_model_describe(s, m, err);
    return rc == STATUS_OK ? manifest_print_key(m, err) : rc;
}

static status evaluate(const evaluate_settings *s, const char *folder, bool json, manifest *m,
                       error *err) {
    evaluate_model e = {0};
    int lock = -1;
    status rc;
    TRY(output_make_folder(folder, err));
    TRY(output_lock_folder(folder, &lock, err));
    TRY(evaluate_model_init(&e, s, m, err));
    TRY(evaluate_model_compute(&e, err));
    TRY(evaluate_model_write(&e, folder, m, err));
    TRY(json ? print_json(&e.result, err) : print_result(&e.result, err));
out:
    evaluate_model_release(&e);
    output_unlock_folder(lock);
    return rc;
}

int main(int argc, char **argv) {
    devices on;
    evaluate_settings s = {.devices = &on, .isa = getenv("LOCKSTEP_ISA")};
    const char *out = NULL, *device = "auto";
    int64_t threads = sysconf(_SC_NPROCESSORS_ONLN);
    bool only_key = false, json = false, done = false;
    const cli_option options[] = {
        {"model", CLI_STRING, &s.model, "FILE", "checkpoint to evaluate", 0, 0},
        {"data", CLI_STRING, &s.data, "FILE|-", "data set: a file, or - for standard input", 0, 0},
        {"out", CLI_STRING, &out, "DIR", "output folder for predictions and manifest", 0, 0},
        {"architecture", CLI_STRING, &s.architecture, "MODEL.yaml",
         "the model, if the checkpoint does not contain it", 0, 0},
        {"mean", CLI_STRING, &s.mean, "LIST", "mean of each channel, for pixels from 0 to 1", 0, 0},
        {"std", CLI_STRING, &s.std, "LIST", "standard deviation of each channel", 0, 0},
        {"device", CLI_STRING, &device, "auto|cpu|cuda|LIST", "device; the first of a list is used",
         0, 0},
        {"threads", CLI_INTEGER, &threads, "N", "threads (default: all cores; 1 on a GPU)", 1,
         1024},
        {"json", CLI_FLAG, &json, NULL, "print the result as one line of JSON", 0, 0},
        {"print-key", CLI_FLAG, &only_key, NULL, "print the stage key and exit", 0, 0},
        {NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const cli_tool tool = {.name = "evaluate",
                           .usage = "--model FILE --data FILE|- --out DIR [OPTION]...",
                           .options = options,
                           .notes = NOTES};
    logger log = {tool.name, LOG_NORMAL};
    cli_list operands = {0};
    manifest m = {0};
    error err = {0};
    status rc;
    TRY(cli_parse(&tool, argc, argv, &log, &operands, &done, &err));
    if (done) goto out;
    TRY(need(s.model, "model", &err));
    TRY(need(s.data, "data", &err));
    if (!only_key) TRY(need(out, "out", &err));
    s.threads = (int)threads;
    s.log = only_key ? NULL : &log;
    TRY(devices_parse(&on, device, &err));
    on.count = 1;
    if (!only_key || on.kind == DEVICE_AUTO)
        TRY(devices_open(&on, 1, only_key ? NULL : &log, &err));
    TRY(manifest_begin(&m, tool.name, EVALUATE_BITS, argc, argv, &err));
    TRY(only_key ? print_key(&s, &m, &err) : evaluate(&s, out, json, &m, &err));
out:
    manifest_release(&m);
    cli_list_release(&operands);
    return cli_finish(&tool, rc, &err);
}

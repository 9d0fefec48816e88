// SPDX-License-Identifier: MIT
// Models: shapes, names and places of tensors, initial values, and errors in model files.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "nn/initial_values.h"
#include "nn/model.h"

#define LAYER_WORD(to, KIND, word, ...) #word ", "
#define LAYER_WORDS                     "layers are: " LAYERS(LAYER_WORD, ) "global_avg_pool, instance_norm, residual"
#define HEAD                            "schema: lockstep.model/1\nname: m\ninput: [3, 32, 32]\nlayers:\n"

static status load(const char *text, model *m, error *err) {
    yaml_node *root;
    status rc = yaml_read_text(text, strlen(text), "m.yaml", &root, err);
    if (rc != STATUS_OK) fail_msg("%s", err->message);
    rc = model_from_yaml(m, root, err);
    yaml_free(root);
    return rc;
}

static void must_load(const char *text, model *m) {
    error err;
    if (load(text, m, &err) != STATUS_OK) fail_msg("%s", err.message);
}

static const char lenet_bn[] =
    HEAD "  [conv: {out: 6, kernel: 5}, batch_norm, relu, max_pool: {size: 2},\n"
         "   conv: {out: 16, kernel: 5}, batch_norm, relu, max_pool: {size: 2}, flatten,\n"
         "   linear: {out: 120}, batch_norm, relu, linear: {out: 84}, batch_norm, relu,\n"
         "   linear: {out: 10}]\n";

static const struct {
    const char *name;
    int rank;
    int64_t shape[4];
} lenet_bn_tensors[] = {{"conv1.weight", 4, {6, 3, 5, 5}},
                        {"conv1.bias", 1, {6}},
                        {"bn1.weight", 1, {6}},
                        {"bn1.bias", 1, {6}},
                        {"bn1.running_mean", 1, {6}},
                        {"bn1.running_var", 1, {6}},
                        {"conv2.weight", 4, {16, 6, 5, 5}},
                        {"conv2.bias", 1, {16}},
                        {"bn2.weight", 1, {16}},
                        {"bn2.bias", 1, {16}},
                        {"bn2.running_mean", 1, {16}},
                        {"bn2.running_var", 1, {16}},
                        {"fc1.weight", 2, {120, 400}},
                        {"fc1.bias", 1, {120}},
                        {"bn3.weight", 1, {120}},
                        {"bn3.bias", 1, {120}},
                        {"bn3.running_mean", 1, {120}},
                        {"bn3.running_var", 1, {120}},
                        {"fc2.weight", 2, {84, 120}},
                        {"fc2.bias", 1, {84}},
                        {"bn4.weight", 1, {84}},
                        {"bn4.bias", 1, {84}},
                        {"bn4.running_mean", 1, {84}},
                        {"bn4.running_var", 1, {84}},
                        {"fc3.weight", 2, {10, 84}},
                        {"fc3.bias", 1, {10}}};

static void lenet_has_the_names_and_shapes_of_pytorch(void **state) {
    (void)state;
    model m;
    must_load(lenet_bn, &m);
    assert_int_equal(m.program.count, 16);
    assert_int_equal(m.program.classes, 10);
    assert_int_equal(m.tensor_count, sizeof lenet_bn_tensors / sizeof *lenet_bn_tensors);
    size_t parameters = 0;
    for (int i = 0; i < m.tensor_count; i++) {
        const model_tensor *t = &m.tensors[i];
        assert_string_equal(t->name, lenet_bn_tensors[i].name);
        assert_int_equal(t->rank, lenet_bn_tensors[i].rank);
        size_t count = 1;
        for (int k = 0; k < t->rank; k++) {
            assert_int_equal(t->shape[k], lenet_bn_tensors[i].shape[k]);
            count *= (size_t)t->shape[k];
        }
        assert_int_equal(t->count, count);
        assert_int_equal(t->is_buffer, strstr(t->name, "running") != NULL);
        if (!t->is_buffer) parameters += count;
    }
    assert_int_equal(parameters, 62458); // 62,006 in LeNet-5 and 2 x 226 in batch norm
    const layer *l = &m.program.layers[9];
    assert_int_equal(l->kind, LAYER_LINEAR);
    assert_int_equal(l->in.channels, 400);
    assert_string_equal(l->name, "fc1");
    assert_string_equal(m.program.layers[3].name, "pool1");
    assert_string_equal(m.program.layers[8].name, "flatten1");
    assert_ptr_equal(model_find(&m, "fc1.weight"), &m.tensors[12]);
    assert_null(model_find(&m, "fc9.weight"));
    model_release(&m);
}

static void tensors_are_aligned_and_do_not_overlap(void **state) {
    (void)state;
    model m;
    must_load(lenet_bn, &m);
    size_t end[2] = {0, 0};
    for (int i = 0; i < m.tensor_count; i++) {
        const model_tensor *t = &m.tensors[i];
        assert_int_equal(t->offset % ARENA_ALIGNMENT, 0);
        assert_true(t->offset >= end[t->is_buffer]);
        assert_true(t->offset < end[t->is_buffer] + ARENA_ALIGNMENT);
        end[t->is_buffer] = t->offset + t->count;
    }
    assert_true(m.program.parameters >= end[0] && m.program.parameters < end[0] + ARENA_ALIGNMENT);
    assert_true(m.program.buffers >= end[1] && m.program.buffers < end[1] + ARENA_ALIGNMENT);
    assert_int_equal(m.program.layers[0].weight, model_find(&m, "conv1.weight")->offset);
    assert_int_equal(m.program.layers[0].bias, model_find(&m, "conv1.bias")->offset);
    assert_int_equal(m.program.layers[1].variance, model_find(&m, "bn1.running_var")->offset);
    model_release(&m);
}

static void shapes_follow_the_windows(void **state) {
    (void)state;
    model m;
    must_load(HEAD "- conv: {name: first, out: 8, kernel: [3, 5], stride: [2, 1], padding: [1, 2], "
                   "bias: false}\n"
                   "- avg_pool: {size: 3, stride: 2, padding: 1}\n"
                   "- dropout: {p: 0.25}\n"
                   "- max_pool: {size: [2, 3]}\n"
                   "- flatten\n- linear: {out: 7, bias: false}\n",
              &m);
    const layer *l = m.program.layers;
    assert_int_equal(l[0].out.channels, 8);
    assert_int_equal(l[0].out.height, 16); // (32 + 2 - 3) / 2 + 1
    assert_int_equal(l[0].out.width, 32);
    assert_false(l[0].has_bias);
    assert_int_equal(l[1].out.height, 8);
    assert_int_equal(l[1].out.width, 16);
    assert_string_equal(l[1].name, "pool1");
    assert_true(l[2].rate == 0.25);
    assert_int_equal(l[3].out.height, 4);
    assert_int_equal(l[3].out.width, 5); // 16 is not a multiple of 3: the rest is left out
    assert_int_equal(l[3].stride_w, 3);
    assert_string_equal(l[3].name, "pool2");
    assert_int_equal(l[4].out.channels, 8 * 4 * 5);
    assert_int_equal(m.tensor_count, 2);
    assert_string_equal(m.tensors[0].name, "first.weight");
    model_release(&m);
}

static void the_description_reads_back_the_same(void **state) {
    (void)state;
    model m, again;
    error err;
    yaml_node *root;
    must_load(HEAD
              "- conv: {out: 4, kernel: [3, 1]}\n- batch_norm: {eps: 1e-3}\n- relu\n- flatten:\n"
              "- dropout\n- linear: {out: 2}\n",
              &m);
    assert_string_equal(m.canonical,
                        "{\"input\":[3,32,32],\"layers\":["
                        "{\"conv\":{\"bias\":true,\"kernel\":[3,1],\"name\":\"conv1\",\"out\":4,"
                        "\"padding\":0,\"stride\":1}},"
                        "{\"batch_norm\":{\"eps\":0.001,\"momentum\":0.1,\"name\":\"bn1\"}},"
                        "{\"relu\":{\"name\":\"relu1\"}},{\"flatten\":{\"name\":\"flatten1\"}},"
                        "{\"dropout\":{\"name\":\"dropout1\",\"p\":0.5}},"
                        "{\"linear\":{\"bias\":true,\"name\":\"fc1\",\"out\":2}}],"
                        "\"name\":\"m\",\"schema\":\"lockstep.model/1\"}");
    assert_int_equal(json_to_yaml(m.canonical, "x.st.zst: model", &root, &err), STATUS_OK);
    assert_int_equal(model_from_yaml(&again, root, &err), STATUS_OK);
    assert_string_equal(again.canonical, m.canonical);
    assert_true(yaml_equal(again.description, m.description));
    yaml_free(root);
    model_release(&again);
    model_release(&m);
}

// ---- Graphs ----

#define RELU(name) "{\"relu\":{\"name\":\"" name "\"}},"

static void a_residual_block_is_its_layers_and_a_sum(void **state) {
    (void)state;
    model m;
    must_load(HEAD "- relu\n"
                   "- residual: {body: [relu, relu]}\n"
                   "- residual: {name: sum, body: [relu], shortcut: [relu, relu]}\n"
                   "- global_avg_pool\n- flatten\n- linear: {out: 2}\n",
              &m);
    assert_string_equal(m.canonical,
                        "{\"input\":[3,32,32],\"layers\":[" RELU("relu1") RELU("relu2")
                            RELU("relu3") "{\"add\":{\"name\":\"add1\",\"with\":\"relu1\"}}"
                                          "," RELU("relu4") "{\"relu\":{\"from\":\"add1\","
                                                            "\"name\":\"relu5\"}}," RELU(
                                                                "relu6") "{\"add\":{\"name\":"
                                                                         "\"sum\",\"with\":"
                                                                         "\"relu4\"}},"
                                                                         "{\"avg_pool\":{"
                                                                         "\"name\":\"pool1\","
                                                                         "\"padding\":0,"
                                                                         "\"size\":32,"
                                                                         "\"stride\":32}},"
                                                                         "{\"flatten\":{"
                                                                         "\"name\":"
                                                                         "\"flatten1\"}},"
                                                                         "{\"linear\":{"
                                                                         "\"bias\":true,"
                                                                         "\"name\":\"fc1\","
                                                                         "\"out\":2}}],"
                                                                         "\"name\":\"m\","
                                                                         "\"schema\":"
                                                                         "\"lockstep.model/"
                                                                         "1\"}");
    const program *p = &m.program;
    assert_int_equal(layer_source(p, 3), 2);
    assert_int_equal(layer_second_source(p, 3), 0);
    assert_int_equal(layer_source(p, 5), 3);
    assert_int_equal(layer_source(p, 7), 6);
    assert_int_equal(layer_second_source(p, 7), 4);
    model_release(&m);
}

static void layers_name_their_inputs(void **state) {
    (void)state;
    model m;
    must_load(HEAD "- conv: {name: a, out: 4, kernel: 1, stride: 2}\n"
                   "- conv: {name: b, from: input, out: 4, kernel: 3, stride: 2, padding: 1}\n"
                   "- add: {with: a}\n"
                   "- flatten: {from: b}\n- linear: {name: l, out: 5}\n"
                   "- max_pool: {from: add1, size: 8}\n- flatten\n- linear: {out: 5}\n"
                   "- add: {with: l}\n- linear: {out: 2}\n",
              &m);
    const program *p = &m.program;
    assert_int_equal(layer_source(p, 1), -1);
    assert_int_equal(p->layers[1].in.channels, 3);
    assert_int_equal(p->layers[2].out.height, 16);
    assert_int_equal(layer_source(p, 3), 1);
    assert_true(p->layers[4].flat);
    assert_int_equal(layer_source(p, 5), 2);
    assert_false(p->layers[5].flat);
    assert_int_equal(layer_second_source(p, 8), 4);
    assert_true(p->layers[8].flat);
    model_release(&m);
}

static void concats_list_their_inputs(void **state) {
    (void)state;
    model m, again;
    yaml_node *root = NULL;
    error err = {0};
    must_load(HEAD "- conv: {out: 4, kernel: 3, padding: 1}\n"
                   "- concat: {with: input}\n"
                   "- slice: {channels: [1, 6]}\n"
                   "- concat: {from: conv1, with: [concat1, input, conv1, slice1]}\n"
                   "- shuffle: {groups: 23}\n- flatten\n- linear: {out: 2}\n",
              &m);
    const program *p = &m.program;
    const int sources[] = {0, 1, -1, 0, 2};
    assert_int_equal(p->layers[1].out.channels, 7);
    assert_int_equal(p->layers[2].out.channels, 5);
    assert_int_equal(layer_inputs(&p->layers[3]), 5);
    for (int k = 0; k < 5; k++) assert_int_equal(layer_input_source(p, 3, k), sources[k]);
    assert_int_equal(p->layers[3].out.channels, 4 + 7 + 3 + 4 + 5);
    assert_non_null(strstr(m.canonical,
                           "{\"concat\":{\"name\":\"concat1\",\"with\":[\"input\"]}},"
                           "{\"slice\":{\"channels\":[1,6],\"name\":\"slice1\"}},"
                           "{\"concat\":{\"from\":\"conv1\",\"name\":\"concat2\",\"with\":["
                           "\"concat1\",\"input\",\"conv1\",\"slice1\"]}},"
                           "{\"shuffle\":{\"groups\":23,\"name\":\"shuffle1\"}}"));
    if (yaml_read_text(m.canonical, strlen(m.canonical), "m", &root, &err) != STATUS_OK ||
        model_from_yaml(&again, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(again.canonical, m.canonical);
    yaml_free(root);
    model_release(&again);
    model_release(&m);
}

// A stage takes one value from the stage before it.
static void stages_begin_outside_of_blocks(void **state) {
    (void)state;
    model m;
    must_load(HEAD "- conv: {out: 4, kernel: 1}\n"
                   "- residual: {body: [conv: {out: 4, kernel: 1}, conv: {out: 4, kernel: 1}]}\n"
                   "- conv: {out: 4, kernel: 1}\n- flatten\n- linear: {out: 2}\n",
              &m);
    const bool expected[] = {true, true, false, false, true, false, true};
    for (int i = 0; i < m.program.count; i++)
        assert_int_equal(program_can_cut(&m.program, i), expected[i]);
    model_release(&m);
}

static void refuses(const char *text, const char *message) {
    model m;
    error err = {0};
    status rc = load(text, &m, &err);
    if (rc == STATUS_OK) fail_msg("accepted: %s", text);
    assert_int_equal(rc, STATUS_INPUT);
    if (strcmp(err.message, message) != 0) fail_msg("'%s'\n is not '%s'", err.message, message);
    assert_null(m.tensors);
    assert_null(m.program.layers);
}

static void refuses_bad_layers(void **state) {
    (void)state;
    refuses(HEAD "- conv: {out: 6, kernel: 5}\n- rleu\n",
            "m.yaml:6:3: unknown layer 'rleu': did you mean 'relu'? The " LAYER_WORDS);
    refuses(HEAD "- conv: {out: 6, kernle: 5}\n",
            "m.yaml:5:18: unknown key 'kernle': did you mean 'kernel'?");
    refuses(HEAD "- relu: {size: 5}\n",
            "m.yaml:5:10: unknown key 'size': the keys are: name, from");
    refuses(HEAD "- conv: {out: 6}\n", "m.yaml:5:3: 'kernel' is missing");
    refuses(HEAD "- conv: {kernel: 5}\n", "m.yaml:5:3: 'out' is missing");
    refuses(HEAD "- conv: {out: 0, kernel: 5}\n",
            "m.yaml:5:15: 'out': expected an integer between 1 and 16777216, got '0'");
    refuses(HEAD "- conv: {out: 6, kernel: [5]}\n",
            "m.yaml:5:26: 'kernel': expected an integer or [height, width]");
    refuses(HEAD "- conv: {out: 6, kernel: [5, x]}\n",
            "m.yaml:5:30: 'kernel': expected an integer, got 'x'");
    refuses(HEAD "- conv: {out: 6, kernel: 5, bias: 1}\n",
            "m.yaml:5:35: 'bias': expected true or false, got '1'");
    refuses(HEAD "- conv: 6\n", "m.yaml:5:9: 'conv': expected options as {key: value}");
    refuses(HEAD "- [conv]\n",
            "m.yaml:5:3: a layer is one word, or one word with options: conv: {out: 6, ...}");
    refuses(HEAD "- max_pool: {size: 2, padding: 2}\n",
            "m.yaml:5:32: 'padding' of a pool may be at most half its 'size'");
    refuses(HEAD "- dropout: {p: 1}\n", "m.yaml:5:16: 'p' must be at least 0 and below 1");
    refuses(HEAD "- batch_norm: {eps: 0}\n",
            "m.yaml:5:21: 'eps' must be above 0, and in the range of single precision");
    refuses(HEAD "- dropout: {p: 0.999999999}\n",
            "m.yaml:5:16: 'p' must be at least 0 and below 1 in single precision");
    refuses(
        HEAD "- batch_norm: {eps: 1e-80}\n",
        "m.yaml:5:21: 'eps' must be larger: 1 / sqrt(eps) exceeds the range of single precision");
    refuses(HEAD "- group_norm\n", "m.yaml:5:3: 'groups' is missing");
    refuses(HEAD "- group_norm: {groups: 2}\n",
            "m.yaml:5:24: 'groups': 2 does not divide the 3 channels of layer 'gn1'");
    refuses(HEAD "- group_norm: {groups: 3, eps: 0}\n",
            "m.yaml:5:32: 'eps' must be above 0, and in the range of single precision");
    refuses(HEAD "- flatten\n- instance_norm\n",
            "m.yaml:6:3: layer 'gn1' needs an image, but comes after flatten");
    refuses(HEAD "- flatten\n- local_response_norm: {size: 5}\n",
            "m.yaml:6:3: layer 'lrn1' needs an image, but comes after flatten");
    refuses(HEAD "- local_response_norm\n", "m.yaml:5:3: 'size' is missing");
    refuses(HEAD "- local_response_norm: {size: 65}\n",
            "m.yaml:5:31: 'size': expected an integer between 1 and 64, got '65'");
    refuses(HEAD "- local_response_norm: {size: 5, beta: 0.6}\n",
            "m.yaml:5:40: 'beta' must be 0.25, 0.5, 0.75 or 1: powers that square roots make");
    refuses(HEAD "- local_response_norm: {size: 5, k: 0}\n",
            "m.yaml:5:37: 'k' must be between 1e-05 and 1000");
    refuses(HEAD "- batch_norm: {momentum: 2}\n",
            "m.yaml:5:26: 'momentum' must be between 0 and 1");
}

static void refuses_bad_graphs(void **state) {
    (void)state;
    refuses(HEAD "- relu\n- relu: {from: relu3}\n",
            "m.yaml:6:16: 'from': no earlier layer is named 'relu3'; did you mean 'relu1'?");
    refuses(HEAD "- relu: {from: relu1}\n",
            "m.yaml:5:16: 'from': no earlier layer is named 'relu1'");
    refuses(HEAD "- relu\n- add\n", "m.yaml:6:3: 'with' is missing: the layer to add");
    refuses(HEAD "- relu\n- conv: {out: 4, kernel: 3}\n- add: {with: relu1}\n",
            "m.yaml:7:3: layer 'add1' cannot add [4, 30, 30] of 'conv1' and [3, 32, 32] of "
            "'relu1': their shapes differ");
    refuses(HEAD "- relu\n- concat\n",
            "m.yaml:6:3: 'with' is missing: the layers whose channels follow, as a list");
    refuses(HEAD "- relu\n- concat: {with: []}\n",
            "m.yaml:6:18: 'with' is missing: the layers whose channels follow, as a list");
    refuses(HEAD "- relu\n- concat: {with: [input, rel]}\n",
            "m.yaml:6:26: 'with': no earlier layer is named 'rel'");
    refuses(HEAD "- relu\n- conv: {out: 4, kernel: 3}\n- concat: {with: [conv1, relu1]}\n",
            "m.yaml:7:26: layer 'concat1' cannot join [3, 32, 32] of 'relu1' to [4, 30, 30] of "
            "'conv1': only the channels may differ");
    refuses(HEAD "- conv: {out: 4, kernel: 32}\n- flatten\n- concat: {with: conv1}\n",
            "m.yaml:7:18: layer 'concat1' cannot join [4, 1, 1] of 'conv1' to [4, 1, 1] of "
            "'flatten1', after flatten: only the channels may differ");
    refuses(HEAD "- slice\n", "m.yaml:5:3: 'channels' is missing: [first, end]");
    refuses(HEAD "- slice: {channels: 2}\n",
            "m.yaml:5:21: 'channels': expected [first, end], as in x[:, first:end]");
    refuses(HEAD "- slice: {channels: [1, 4]}\n",
            "m.yaml:5:25: 'channels': expected an integer between 2 and 3, got '4'");
    refuses(HEAD "- shuffle: {groups: 2}\n",
            "m.yaml:5:21: 'groups': 2 does not divide the 3 channels of layer 'shuffle1'");
    refuses(HEAD "- flatten\n- shuffle: {groups: 2}\n",
            "m.yaml:6:3: layer 'shuffle1' needs an image, but comes after flatten");
    refuses(HEAD "- residual: {body: [conv: {out: 4, kernel: 1}]}\n",
            "m.yaml:5:3: layer 'add1' cannot add [4, 32, 32] of 'conv1' and [3, 32, 32] of "
            "'input': their shapes differ");
    refuses(HEAD "- residual\n", "m.yaml:5:3: 'residual' needs a 'body': a list of layers");
    refuses(HEAD "- residual: {body: []}\n", "m.yaml:5:20: 'body': expected a list of layers");
    refuses(HEAD "- residual: {bdy: [relu]}\n",
            "m.yaml:5:14: unknown key 'bdy': did you mean 'body'?");
    refuses(HEAD
            "- relu\n- conv: {from: input, out: 4, kernel: 1}\n- flatten\n- linear: {out: 2}\n",
            "m.yaml:5:1: no layer reads the output of 'relu1'");
    refuses(HEAD "- relu\n- log_softmax\n",
            "m.yaml:6:3: layer 'log_softmax1' must follow the logits, a vector: cross entropy "
            "includes it, and there is no other here");
    refuses(HEAD "- flatten\n- log_softmax\n",
            "m.yaml:6:3: there is nothing to train: no layer has parameters");
    refuses(HEAD "- flatten\n- linear: {out: 4}\n- log_softmax\n- linear: {out: 2}\n",
            "m.yaml:8:3: no layer can follow 'log_softmax1', which is part of the loss");
    refuses(HEAD "- relu: {name: input}\n",
            "m.yaml:5:16: no layer can be named 'input', which is the input of the network; "
            "choose another name");
}

// Words that people used to PyTorch write.
static void pytorch_names_get_suggestions(void **state) {
    (void)state;
    static const struct {
        const char *word, *answer;
    } words[] = {
        {"ReLU", "did you mean 'relu'?"},
        {"Conv2d", "did you mean 'conv'?"},
        {"nn.Conv2d", "did you mean 'conv'?"},
        {"BatchNorm2d", "did you mean 'batch_norm'?"},
        {"batchnorm", "did you mean 'batch_norm'?"},
        {"MaxPool2d", "did you mean 'max_pool'?"},
        {"maxpool", "did you mean 'max_pool'?"},
        {"AvgPool2d", "did you mean 'avg_pool'?"},
        {"Linear", "did you mean 'linear'?"},
        {"Dense", "did you mean 'linear'?"},
        {"fc", "did you mean 'linear'?"},
        {"Flatten", "did you mean 'flatten'?"},
        {"Dropout2d", "did you mean 'dropout2d'?"},
        {"GlobalAveragePooling2D", "did you mean 'global_avg_pool'?"},
        {"AdaptiveAvgPool2d", "did you mean 'adaptive_avg_pool'?"},
        {"BasicBlock", "did you mean 'residual'?"},
        {"nn.LayerNorm", "did you mean 'layer_norm'?"},
        {"LayerNorm2d", "did you mean 'layer_norm'?"},
        {"LocalResponseNorm", "did you mean 'local_response_norm'?"},
        {"InstanceNorm2d", "did you mean 'instance_norm'?"},
        {"softmax",
         "the loss includes it, so a model ends with the layer before it. Cross entropy of the "
         "outputs of a softmax takes it twice: that flattens the gradients, and the loss of K "
         "classes stays above log(1 + (K - 1) / e), 1.46 for 10."},
        {"LogSoftmax", "did you mean 'log_softmax'?"},
        {"CrossEntropyLoss", "it is the loss of every model, not a layer."},
        {"GELU", "did you mean 'gelu'?"},
        {"Swish", "did you mean 'silu'?"},
        {"PReLU", "another activation, which is not here."},
        {"convolution", "did you mean 'conv'?"},
        {"GroupNorm", "did you mean 'group_norm'?"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[200], message[1000];
        snprintf(text, sizeof text, HEAD "- %s\n", words[i].word);
        snprintf(message, sizeof message, "m.yaml:5:3: unknown layer '%s': %s The " LAYER_WORDS,
                 words[i].word, words[i].answer);
        refuses(text, message);
        snprintf(text, sizeof text, HEAD "- %s: {size: 2}\n", words[i].word);
        refuses(text, message);
    }
    refuses(HEAD "- poster\n", "m.yaml:5:3: unknown layer 'poster': the " LAYER_WORDS);
    refuses(HEAD "- ''\n", "m.yaml:5:3: unknown layer '': the " LAYER_WORDS);
}

static void refuses_options_of_geometry_and_chance(void **state) {
    (void)state;
    refuses(HEAD "- max_pool: {size: 40, ceil_mode: true, stride: 2}\n",
            "m.yaml:5:20: 'size': expected a window of at most 255 values, got 40x40 = 1600");
    refuses(HEAD "- avg_pool: {size: 40, ceil_mode: true, stride: 2}\n",
            "m.yaml:5:3: the window of layer 'pool1' is larger than its input: 40x40 on 32x32");
    refuses(HEAD "- max_pool: {size: 2, count_include_pad: false}\n",
            "m.yaml:5:23: unknown key 'count_include_pad': the keys are: name, from, size, stride, "
            "padding, ceil_mode");
    refuses(HEAD "- zero_pad\n", "m.yaml:5:3: 'padding' is missing");
    refuses(HEAD "- zero_pad: {padding: [1, 2]}\n",
            "m.yaml:5:23: 'padding': expected an integer, [left, right, top, bottom], or [left, "
            "right, top, bottom, front, back]");
    refuses(HEAD "- zero_pad: {padding: [-30, -2, 0, 0]}\n",
            "m.yaml:5:23: 'padding' leaves nothing of the 3x32x32 values of its input");
    refuses(HEAD "- upsample\n", "m.yaml:5:3: 'scale_factor' is missing");
    refuses(HEAD "- stochastic_depth\n", "m.yaml:5:3: 'p' is missing");
    refuses(HEAD "- stochastic_depth: {p: 0.5, mode: rows}\n",
            "m.yaml:5:36: 'mode': expected 'row' or 'batch', got 'rows'");
    static const char *const images[][2] = {{"adaptive_avg_pool: {output_size: 1}", "pool1"},
                                            {"dropout2d", "dropout1"},
                                            {"upsample: {scale_factor: 2}", "upsample1"},
                                            {"zero_pad: {padding: 1}", "pad1"}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char text[200], message[200];
        snprintf(text, sizeof text, HEAD "- flatten\n- %s\n", images[i][0]);
        snprintf(message, sizeof message,
                 "m.yaml:6:3: layer '%s' needs an image, but comes after flatten", images[i][1]);
        refuses(text, message);
    }
}

// Each is named in docs/formats.md.
static void refuses_models_beyond_the_limits(void **state) {
    (void)state;
    refuses(HEAD "- max_pool: {size: [8, 32]}\n",
            "m.yaml:5:20: 'size': expected a window of at most 255 values, got 8x32 = 256");
    refuses(HEAD "- conv: {out: 6, kernel: 5000}\n",
            "m.yaml:5:26: 'kernel': expected an integer between 1 and 4096, got '5000'");
    refuses(HEAD "- conv: {out: 6, kernel: 3, padding: -1}\n",
            "m.yaml:5:38: 'padding': expected an integer between 0 and 4096, got '-1'");
    refuses("schema: lockstep.model/1\nname: m\ninput: [17, 8, 8]\nlayers: [relu]\n",
            "m.yaml:3:9: 'input': expected at most 16 channels, got 17");
    refuses("schema: lockstep.model/1\nname: m\ninput: [16, 4096, 4096]\nlayers: [relu]\n",
            "m.yaml:3:8: 'input': more than 16777216 values");
    refuses(HEAD "- upsample: {scale_factor: 4096}\n",
            "m.yaml:5:3: the output of layer 'upsample1' has more than 16777216 values");
    refuses(HEAD "- zero_pad: {padding: 4096}\n",
            "m.yaml:5:3: the output of layer 'pad1' has more than 16777216 values");
    refuses(HEAD "- adaptive_avg_pool: {output_size: 4096}\n",
            "m.yaml:5:3: the output of layer 'pool1' has more than 16777216 values");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 1, 8]\nlayers:\n"
            "- upsample: {scale_factor: [1, 4096]}\n- adaptive_avg_pool: {output_size: 1}\n",
            "m.yaml:6:3: the input of layer 'pool1' is larger than 4096x4096");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 1, 4096]\nlayers:\n"
            "- upsample: {scale_factor: [1, 4096]}\n- upsample: {scale_factor: [1, 4096]}\n",
            "m.yaml:6:3: the output of layer 'upsample2' has more than 16777216 values");
    char *text = malloc(20000), *p = text + sprintf(text, "%s", HEAD);
    for (int i = 0; i < 1001; i++) p += sprintf(p, "- relu\n");
    refuses(text, "m.yaml:1005:3: a model may have at most 1000 layers");
    p = text + sprintf(text, "%s- concat: {with: [input", HEAD);
    for (int i = 0; i < 4096; i++) p += sprintf(p, ",a");
    (void)sprintf(p, "]}\n");
    refuses(text, "m.yaml:5:18: the 'concat' layers of a model may have at most 4096 inputs");
    p = text + sprintf(text, "%s- concat: {with: input}\n", HEAD);
    for (int i = 1; i < 20; i++) p += sprintf(p, "- concat: {with: concat%d}\n", i);
    refuses(text, "m.yaml:17:3: the output of layer 'concat13' has more than 16777216 values");
    free(text);
}

// The largest possible sizes.
static void accepts_models_within_the_limits(void **state) {
    (void)state;
    model m;
    error err = {0};
    if (load("schema: lockstep.model/1\nname: m\ninput: [16, 32, 32]\nlayers:\n"
             "- avg_pool: {size: 15}\n- flatten\n- linear: {out: 10}\n",
             &m, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    model_release(&m);
}

#define LONG "abcdefghijklmnopqrstuvwxyz-1234." // 32 bytes

static void refuses_layers_that_do_not_fit(void **state) {
    (void)state;
    refuses(HEAD "- conv: {out: 6, kernel: 33}\n",
            "m.yaml:5:3: the window of layer 'conv1' is larger than its input: 33x33 on 32x32");
    refuses(HEAD "- linear: {out: 6}\n",
            "m.yaml:5:3: layer 'fc1' is linear and needs a vector: put flatten before it");
    refuses(HEAD "- flatten\n- conv: {out: 6, kernel: 1}\n",
            "m.yaml:6:3: layer 'conv1' needs an image, but comes after flatten");
    refuses(HEAD "- flatten\n- max_pool: {size: 1}\n",
            "m.yaml:6:3: layer 'pool1' needs an image, but comes after flatten");
    refuses(HEAD "- unflatten: {size: [3, 32, 32]}\n",
            "m.yaml:5:3: layer 'unflatten1' makes an image of a vector: put flatten before it");
    refuses(HEAD "- flatten\n- unflatten: {size: [4, 32, 32]}\n",
            "m.yaml:6:21: 'size': the input of layer 'unflatten1' has 3072 features, not 4096");
    refuses(HEAD "- layer_norm: {normalized_shape: [3, 32, 32]}\n",
            "m.yaml:5:34: 'normalized_shape': layer_norm is over the channels of each position, or "
            "after flatten over all features; leave it out. Over all values of an image it is "
            "flatten, layer_norm, unflatten: {size: [channels, height, width]}");
    refuses(HEAD "- conv: {out: 6, kernel: 1}\n- global_avg_pool\n",
            "m.yaml:6:3: the network must end in a vector, with a value for each class, but "
            "'pool1' gives [6, 1, 1]: put flatten after it");
    refuses(HEAD "- flatten\n- linear: {out: 1}\n- sigmoid\n",
            "m.yaml:7:3: the network has one output: the loss is cross entropy, which needs an "
            "output for each class, of two classes two: linear: {out: 2}, and no sigmoid after it");
    refuses(HEAD "- flatten\n- scale: {factor: 2}\n",
            "m.yaml:6:3: there is nothing to train: no layer has parameters");
    refuses(HEAD "- conv: {out: 6, kernel: 1, groups: 2}\n",
            "m.yaml:5:37: 'groups': layer 'conv1' has 3 channels in and 6 out; 2 does not divide "
            "both");
    refuses(HEAD "- scale\n", "m.yaml:5:3: 'factor' is missing");
    refuses(HEAD "- scale: {factor: 0}\n",
            "m.yaml:5:19: 'factor' must not be 0 or infinite in single precision");
    refuses(HEAD "- scale: {factor: 1e-50}\n",
            "m.yaml:5:19: 'factor' must not be 0 or infinite in single precision");
    refuses(HEAD "- relu: {name: a}\n- relu: {name: a}\n", "m.yaml:6:16: two layers are named 'a'");
    refuses(HEAD "- relu: {name: relu2}\n- relu\n", "m.yaml:6:3: two layers are named 'relu2'");
    refuses(HEAD "- relu: {name: 'a b'}\n", "m.yaml:5:16: 'name': expected 1 to 127 letters, "
                                            "digits, '_', '-' (not first) or '.' (not first or "
                                            "last), got 'a b'");
    refuses(HEAD "- relu: {name: -a}\n",
            "m.yaml:5:16: 'name': expected 1 to 127 letters, digits, '_', '-' (not first) or '.' "
            "(not first or last), got '-a'");
    refuses(
        HEAD "- relu: {name: " LONG LONG LONG LONG "x}\n",
        "m.yaml:5:16: 'name': expected 1 to 127 letters, digits, '_', '-' (not first) or '.' "
        "(not first or last), got 'abcdefghijklmnopqrstuvwxyz-1234.abcdefghijklmnopqrstuvwxyz-1'");
    refuses(HEAD "- flatten\n- linear: {out: 16777216}\n",
            "m.yaml:6:3: the model has more than 536870912 parameters");
    refuses(HEAD "- conv: {out: 16777216, kernel: 1, bias: false}\n",
            "m.yaml:5:3: the output of layer 'conv1' has more than 16777216 values");
}

static void refuses_bad_headers(void **state) {
    (void)state;
    refuses("name: m\n", "m.yaml:1:1: 'schema' is missing: expected 'lockstep.model/1'");
    refuses("schema: lockstep.model/2\nname: m\ninput: [1, 2, 3]\nlayers: [relu]\n",
            "m.yaml:1:9: 'schema': expected 'lockstep.model/1', got 'lockstep.model/2'");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 2]\nlayers: [relu]\n",
            "m.yaml:3:8: 'input': expected [channels, height, width]");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 0, 2]\nlayers: [relu]\n",
            "m.yaml:3:12: 'input': expected an integer between 1 and 4096, got '0'");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 1, 2]\n",
            "m.yaml:1:1: 'layers' is missing");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 1, 2]\nlayers: []\n",
            "m.yaml:4:9: 'layers': expected a list of layers");
    refuses("schema: lockstep.model/1\nname: m\ninput: [1, 1, 2]\nlayers: [relu]\nlayer: 1\n",
            "m.yaml:5:1: unknown key 'layer': did you mean 'layers'?");
    refuses("[1]", "m.yaml:1:1: expected a mapping, got a list");
}

static void moments(const float *x, size_t n, double *mean, double *largest) {
    *mean = *largest = 0;
    for (size_t i = 0; i < n; i++) {
        *mean += (double)x[i] / (double)n;
        if (fabs((double)x[i]) > *largest) *largest = fabs((double)x[i]);
    }
}

static void initial_values_have_pytorchs_distribution(void **state) {
    (void)state;
    model m;
    must_load(lenet_bn, &m);
    float *p = calloc(m.program.parameters, sizeof *p), *b = calloc(m.program.buffers, sizeof *b);
    float *q = calloc(m.program.parameters, sizeof *q);
    memset(p, 0xff, m.program.parameters * sizeof *p);
    model_init_parameters(&m, 42, p, b);
    double mean, largest;
    const model_tensor *t = model_find(&m, "fc1.weight");
    moments(p + t->offset, t->count, &mean, &largest);
    assert_true(largest <= 0.05 && largest > 0.0499); // 1 / sqrt(400)
    assert_true(fabs(mean) < 5 * 0.05 / sqrt(3.0 * 48000));
    t = model_find(&m, "conv1.bias");
    moments(p + t->offset, t->count, &mean, &largest);
    assert_true(largest <= 1 / sqrt(75.0) && largest > 0.02);
    t = model_find(&m, "bn2.weight");
    for (size_t i = 0; i < t->count; i++) assert_true(p[t->offset + i] == 1);
    t = model_find(&m, "bn2.running_var");
    for (size_t i = 0; i < t->count; i++) assert_true(b[t->offset + i] == 1);
    t = model_find(&m, "bn2.running_mean");
    for (size_t i = 0; i < t->count; i++) assert_true(b[t->offset + i] == 0);
    // Gaps are zero: conv1.bias holds 6 of 16 places.
    t = model_find(&m, "conv1.bias");
    for (size_t i = 6; i < ARENA_ALIGNMENT; i++) assert_true(p[t->offset + i] == 0);

    model_init_parameters(&m, 42, q, b);
    assert_memory_equal(p, q, m.program.parameters * sizeof *p);
    model_init_parameters(&m, 43, q, b);
    assert_memory_not_equal(p, q, m.program.parameters * sizeof *p);
    // Each layer has a separate stream.
    assert_true(p[model_find(&m, "fc2.weight")->offset] != p[model_find(&m, "fc3.weight")->offset]);
    free(p);
    free(q);
    free(b);
    model_release(&m);
}

static void values_come_from_the_documented_stream(void **state) {
    (void)state;
    model m;
    must_load(HEAD "- flatten\n- linear: {out: 2}\n", &m);
    float *p = calloc(m.program.parameters, sizeof *p);
    model_init_parameters(&m, 1, p, NULL);
    assert_int_equal(m.program.buffers, 0);
    float bound = (float)(1 / sqrt(3072.0));
    // printf fc1 | sha256sum
    random_stream s = {
        .seed = UINT64_C(0xcb107ef919596a96) ^ 1, .purpose = RANDOM_INIT, .sample = 0};
    assert_true(p[5] == bound * (2 * random_uniform(&s, 5) - 1));
    s.sample = 1;
    assert_true(p[m.program.layers[1].bias] == bound * (2 * random_uniform(&s, 0) - 1));
    free(p);
    model_release(&m);
}

// Layers of the first model, by name, have the same keys and initial values in the second.
static void expect_same_values(const model *m, const model *longer, const char *what) {
    float *p = calloc(m->program.parameters, sizeof *p), *b = calloc(m->program.buffers, sizeof *b);
    float *q = calloc(longer->program.parameters, sizeof *q);
    float *c = calloc(longer->program.buffers, sizeof *c);
    assert_true(p && b && q && c);
    model_init_parameters(m, 42, p, b);
    model_init_parameters(longer, 42, q, c);
    assert_int_equal(m->tensor_count, longer->tensor_count);
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i], *u = model_find(longer, t->name);
        assert_non_null(u);
        if (memcmp((t->is_buffer ? b : p) + t->offset, (u->is_buffer ? c : q) + u->offset,
                   t->count * sizeof *p))
            fail_msg("%s: %s has other values", what, t->name);
    }
    for (int i = 0, k = 0; i < m->program.count; i++, k++) {
        const layer *l = &m->program.layers[i];
        while (k < longer->program.count && strcmp(l->name, longer->program.layers[k].name)) k++;
        if (k == longer->program.count) fail_msg("%s: no layer %s", what, l->name);
        if (l->key != longer->program.layers[k].key) fail_msg("%s: key of %s", what, l->name);
    }
    free(p), free(b), free(q), free(c);
}

static void inserted_layers_change_no_random_numbers_of_others(void **state) {
    (void)state;
    // After the first convolution, before the named dropout, and between the linear layers.
    static const char form[] = HEAD
        "  "
        "[conv: {out: 6, kernel: 5}, %s batch_norm, max_pool: {size: 8}, conv: {out: 4, kernel: 2},"
        " flatten, %s dropout: {name: last}, linear: {out: 8}, %s linear: {out: 5}]\n";
    static const char *const inserted[][3] = {
        {"relu,", "", ""},    {"", "relu,", "gelu,"},    {"scale: {factor: 2},", "", "silu,"},
        {"dropout,", "", ""}, {"", "dropout,", "relu,"}, {"", "flatten,", ""},
    };
    char text[600];
    model m, longer;
    (void)snprintf(text, sizeof text, form, "", "", "");
    must_load(text, &m);
    for (size_t i = 0; i < sizeof inserted / sizeof *inserted; i++) {
        const char *const *with = inserted[i];
        (void)snprintf(text, sizeof text, form, with[0], with[1], with[2]);
        must_load(text, &longer);
        expect_same_values(&m, &longer, text + sizeof HEAD - 1);
        model_release(&longer);
    }
    model_release(&m);
}

static void costs_count_multiply_adds(void **state) {
    (void)state;
    model m;
    must_load(lenet_bn, &m);
    layer_cost c = model_cost(&m, 0);
    assert_true(c.forward == 28 * 28 * 6 * 3 * 25 && c.weight_gradient == c.forward);
    assert_true(c.input_gradient == 0);
    c = model_cost(&m, 4);
    assert_true(c.forward == 10 * 10 * 16 * 6 * 25 && c.input_gradient == c.forward);
    c = model_cost(&m, 9);
    assert_true(c.forward == 400 * 120);
    c = model_cost(&m, 1);
    assert_true(c.forward == 0);
    model_release(&m);
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    model m;
    error err;
    assert_int_equal(model_read(&m, "/nonexistent.yaml", &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "cannot read YAML file: '/nonexistent.yaml': No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet_has_the_names_and_shapes_of_pytorch),
        cmocka_unit_test(tensors_are_aligned_and_do_not_overlap),
        cmocka_unit_test(shapes_follow_the_windows),
        cmocka_unit_test(the_description_reads_back_the_same),
        cmocka_unit_test(a_residual_block_is_its_layers_and_a_sum),
        cmocka_unit_test(layers_name_their_inputs),
        cmocka_unit_test(concats_list_their_inputs),
        cmocka_unit_test(stages_begin_outside_of_blocks),
        cmocka_unit_test(refuses_bad_layers),
        cmocka_unit_test(refuses_bad_graphs),
        cmocka_unit_test(pytorch_names_get_suggestions),
        cmocka_unit_test(refuses_options_of_geometry_and_chance),
        cmocka_unit_test(refuses_models_beyond_the_limits),
        cmocka_unit_test(accepts_models_within_the_limits),
        cmocka_unit_test(refuses_layers_that_do_not_fit),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(initial_values_have_pytorchs_distribution),
        cmocka_unit_test(values_come_from_the_documented_stream),
        cmocka_unit_test(inserted_layers_change_no_random_numbers_of_others),
        cmocka_unit_test(costs_count_multiply_adds),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

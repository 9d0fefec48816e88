// SPDX-License-Identifier: MIT
#include "train/export/torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/named_files.h"
#include "base/number_text.h"
#include "base/text.h"

static const char HEAD[] =
    "\"\"\"A network that Lockstep trained, for PyTorch 1.10 or later.\n"
    "\n"
    "    import model\n"
    "    network = model.load()                     # in eval mode\n"
    "    logits = network(model.normalize(pixels))  # uint8 [N, channels, height, width]\n"
    "\n"
    "The weights are read from model.safetensors beside this file.\n"
    "\"\"\"\n"
    "import json\n"
    "import pathlib\n"
    "import struct\n"
    "\n"
    "import torch\n"
    "from torch import nn\n"
    "\n";

static const char FUNCTIONS[] =
    "\n"
    "\n"
    "def put(network, name, layer):\n"
    "    \"\"\"A layer into the network; 'features.0' is the layer '0' of 'features'.\"\"\"\n"
    "    *outer, inner = name.split(\".\")\n"
    "    for part in outer:\n"
    "        if part not in dict(network.named_children()):\n"
    "            network.add_module(part, nn.Module())\n"
    "        network = network.get_submodule(part)\n"
    "    network.add_module(inner, layer)\n";

static const char FORMULA[] = "\n"
                              "\n"
                              "class %s(nn.Module):\n"
                              "    def forward(self, a, b):\n"
                              "        return %s\n";

static const char STOCHASTIC_DEPTH[] =
    "\n"
    "\n"
    "class StochasticDepth(nn.Module):\n"
    "    \"\"\"That of torchvision.ops.\"\"\"\n"
    "\n"
    "    def __init__(self, mode, p):\n"
    "        super().__init__()\n"
    "        self.mode, self.p = mode, p\n"
    "\n"
    "    def forward(self, x):\n"
    "        if not self.training:\n"
    "            return x\n"
    "        draws = x.shape[:1] if self.mode == \"row\" else (1,)\n"
    "        kept = x.new_empty(draws + (1,) * (x.ndim - 1)).bernoulli_(1 - self.p)\n"
    "        return x * kept / (1 - self.p)\n";

static const char CLASS_HEAD[] =
    "\n"
    "\n"
    "class Concat(nn.Module):\n"
    "    def forward(self, *values):\n"
    "        return torch.cat(values, 1)\n"
    "\n"
    "\n"
    "class Scale(nn.Module):\n"
    "    def __init__(self, factor):\n"
    "        super().__init__()\n"
    "        self.factor = factor\n"
    "\n"
    "    def forward(self, x):\n"
    "        return self.factor * x\n"
    "\n"
    "\n"
    "class LayerNorm(nn.LayerNorm):\n"
    "    \"\"\"Over the channels of each position.\"\"\"\n"
    "\n"
    "    def forward(self, x):\n"
    "        return super().forward(x.movedim(1, -1)).movedim(-1, 1)\n"
    "\n"
    "\n"
    "class Shuffle(nn.Module):\n"
    "    \"\"\"nn.ChannelShuffle, of which some versions have no gradient.\"\"\"\n"
    "\n"
    "    def __init__(self, groups):\n"
    "        super().__init__()\n"
    "        self.groups = groups\n"
    "\n"
    "    def forward(self, x):\n"
    "        apart = x.reshape(len(x), self.groups, -1, *x.shape[2:])\n"
    "        return apart.transpose(1, 2).reshape(x.shape)\n"
    "\n"
    "\n"
    "class Slice(nn.Module):\n"
    "    def __init__(self, first, end):\n"
    "        super().__init__()\n"
    "        self.range = slice(first, end)\n"
    "\n"
    "    def forward(self, x):\n"
    "        return x[:, self.range]\n"
    "\n"
    "\n"
    "class Network(nn.Module):\n"
    "    \"\"\"The layers, under the names that their weights have.\"\"\"\n"
    "\n"
    "    def __init__(self):\n"
    "        super().__init__()\n";

static const char TAIL[] =
    "\n"
    "    def forward(self, x):\n"
    "        values = {\"input\": x}\n"
    "        for name, inputs in LAYERS:\n"
    "            x = self.get_submodule(name)(*[values[i] for i in inputs])\n"
    "            values[name] = x\n"
    "        return x\n"
    "\n"
    "\n"
    "def normalize(pixels):\n"
    "    \"\"\"Bytes, uint8 [N, channels, height, width], as inputs of the network.\"\"\"\n"
    "    mean, std = [torch.tensor(list(values), device=pixels.device).view(1, -1, 1, 1)\n"
    "                 for values in (MEAN, STD)]\n"
    "    return (pixels.float() / 255 - mean) / std\n"
    "\n"
    "\n"
    "def read_weights(path):\n"
    "    \"\"\"The tensors of a .safetensors file of floats.\"\"\"\n"
    "    data = bytearray(pathlib.Path(path).read_bytes())\n"
    "    (length,) = struct.unpack_from(\"<Q\", data)\n"
    "    header = json.loads(data[8:8 + length].decode())\n"
    "    header.pop(\"__metadata__\", None)\n"
    "    tensors = {}\n"
    "    for name, entry in header.items():\n"
    "        begin, end = entry[\"data_offsets\"]\n"
    "        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4,\n"
    "                                offset=8 + length + begin)\n"
    "        tensors[name] = flat.reshape(entry[\"shape\"])\n"
    "    return tensors\n"
    "\n"
    "\n"
    "def load(path=None):\n"
    "    \"\"\"The trained network, in eval mode.\"\"\"\n"
    "    network = Network()\n"
    "    path = path or pathlib.Path(__file__).with_name(\"model.safetensors\")\n"
    "    network.load_state_dict(read_weights(path))\n"
    "    return network.eval()\n";

// ---- Names ----

// 'a.b' is the child 'b' of the module 'a', so 'a' cannot be a layer.
static status check_names(const trained_model *m, const char *path, error *err) {
    const program *p = &m->model.program;
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->count; k++) {
            const char *outer = p->layers[i].name, *inner = p->layers[k].name;
            const size_t length = strlen(outer);
            if (strncmp(inner, outer, length) == 0 && inner[length] == '.')
                return error_set(err, STATUS_INPUT,
                                 "cannot export model: '%s': PyTorch cannot have the layer '%s' "
                                 "inside of the layer '%s'",
                                 path, inner, outer);
        }
    return STATUS_OK;
}

// ---- Layers ----

static void put_pair(text *t, const char *key, int h, int w) {
    text_format(t, "%s=(%d, %d)", key, h, w);
}

static void put_number(text *t, const char *key, double value) {
    char number[NUMBER_TEXT_BYTES];
    number_text(value, number);
    text_format(t, "%s%s", key, number);
}

static void put_window(text *t, const layer *l) {
    put_pair(t, "kernel_size", l->kernel_h, l->kernel_w);
    put_pair(t, ", stride", l->stride_h, l->stride_w);
    put_pair(t, ", padding", l->pad_h, l->pad_w);
}

static void put_bias(text *t, const layer *l) {
    if (!l->has_bias) text_append(t, ", bias=False");
}

static void put_conv(text *t, const layer *l) {
    text_format(t, "%d, %d, ", l->in.channels, l->out.channels);
    put_window(t, l);
    if (l->groups > 1) text_format(t, ", groups=%d", l->groups);
    put_bias(t, l);
}

static void put_linear(text *t, const layer *l) {
    text_format(t, "%d, %d", l->in.channels, l->out.channels);
    put_bias(t, l);
}

static void put_batch_norm(text *t, const layer *l) {
    text_format(t, "%d", l->in.channels);
    put_number(t, ", eps=", l->eps);
    put_number(t, ", momentum=", l->momentum);
}

static void put_group_norm(text *t, const layer *l) {
    text_format(t, "%d, %d", l->groups, l->in.channels);
    put_number(t, ", eps=", l->eps);
}

static void put_layer_norm(text *t, const layer *l) {
    text_format(t, "%d", l->in.channels);
    put_number(t, ", eps=", l->eps);
}

static void put_log_softmax(text *t, const layer *l) {
    (void)l;
    text_append(t, "dim=1");
}

static void put_unflatten(text *t, const layer *l) {
    text_format(t, "1, (%d, %d, %d)", l->out.channels, l->out.height, l->out.width);
}

static void put_scale(text *t, const layer *l) {
    put_number(t, "", l->factor);
}

static void put_shuffle(text *t, const layer *l) {
    text_format(t, "%d", l->groups);
}

static void put_slice(text *t, const layer *l) {
    text_format(t, "%d, %d", l->channel, l->channel + l->out.channels);
}

// What modules take if it is not their options by name.
static void (*const arguments[LAYER_KINDS])(text *t, const layer *l) = {
    [LAYER_CONV] = put_conv,
    [LAYER_LINEAR] = put_linear,
    [LAYER_BATCH_NORM] = put_batch_norm,
    [LAYER_GROUP_NORM] = put_group_norm,
    [LAYER_LAYER_NORM] = put_layer_norm,
    [LAYER_LOG_SOFTMAX] = put_log_softmax,
    [LAYER_UNFLATTEN] = put_unflatten,
    [LAYER_SCALE] = put_scale,
    [LAYER_SHUFFLE] = put_shuffle,
    [LAYER_SLICE] = put_slice,
};

static void put_value(text *t, const yaml_node *value) {
    if (value->kind == YAML_SEQUENCE) {
        for (size_t i = 0; i < value->count; i++) {
            text_append(t, i ? ", " : "(");
            put_value(t, value->items[i]);
        }
        text_append(t, ")");
        return;
    }
    const yaml_type type = yaml_scalar_type(value);
    if (type == YAML_BOOLEAN)
        text_append(t, strcmp(value->text, "true") ? "False" : "True");
    else
        text_format(t, type == YAML_STRING ? "\"%s\"" : "%s", value->text);
}

// Most options have the names that PyTorch's modules give them.
static void put_options(text *t, const layer *l, const yaml_node *options) {
    static const char ours[][8] = {"name", "from", "with"};
    bool first = true;
    for (size_t i = 0; i < options->count; i++) {
        const char *key = options->keys[i];
        if (!strcmp(key, ours[0]) || !strcmp(key, ours[1]) || !strcmp(key, ours[2])) continue;
        const bool window = l->kernel_h > 0 && !strcmp(key, "size");
        text_format(t, "%s%s=", first ? "" : ", ", window ? "kernel_size" : key);
        put_value(t, options->items[i]);
        first = false;
    }
}

static void put_module(text *t, const layer *l, const yaml_node *options) {
    text_append(t, layer_traits_of(l)->torch);
    if (l->kind == LAYER_BATCH_NORM) text_append(t, l->flat ? "1d" : "2d");
    text_append(t, "(");
    if (arguments[l->kind])
        arguments[l->kind](t, l);
    else
        put_options(t, l, options);
    text_append(t, ")");
}

// Modules that PyTorch lacks.
static void put_formulas(text *t, const program *p) {
    bool skips = false;
    for (int i = 0; i < p->count; i++) skips |= p->layers[i].kind == LAYER_STOCHASTIC_DEPTH;
    if (skips) text_append(t, STOCHASTIC_DEPTH);
    for (int k = 0; k < LAYER_KINDS; k++) {
        const layer_traits *kind = &layer_kind_traits[k];
        if (kind->formula) text_format(t, FORMULA, kind->torch, kind->formula);
    }
}

static void put_layers(text *t, const model *m) {
    const yaml_node *descriptions = yaml_find(m->description, "layers");
    for (int i = 0; i < m->program.count; i++) {
        text_format(t, "        put(self, \"%s\", ", m->program.layers[i].name);
        put_module(t, &m->program.layers[i], descriptions->items[i]->items[0]);
        text_append(t, ")\n");
    }
}

// ---- Constants ----

static void put_floats(text *t, const char *name, const float *values, int count) {
    text_format(t, "%s = (", name);
    for (int i = 0; i < count; i++) text_format(t, "%s%.9g", i ? ", " : "", (double)values[i]);
    text_append(t, count == 1 ? ",)\n" : ")\n");
}

static const char *value_name(const program *p, int index) {
    return index < 0 ? "input" : p->layers[index].name;
}

static void put_graph(text *t, const program *p) {
    text_append(t, "LAYERS = [  # each with its inputs\n");
    for (int i = 0; i < p->count; i++) {
        text_format(t, "    (\"%s\", [", p->layers[i].name);
        for (int k = 0; k < layer_inputs(&p->layers[i]); k++)
            text_format(t, "%s\"%s\"", k ? ", " : "", value_name(p, layer_input_source(p, i, k)));
        text_append(t, "]),\n");
    }
    text_append(t, "]\n");
}

// A JSON string, or list of strings, is also one in Python.
static void put_constants(text *t, const trained_model *m, const char *classes) {
    const program *p = &m->model.program;
    yaml_node *node = json_new_string(m->model.name);
    char *name = json_from_yaml(node);
    text_format(t, "NAME = %s\n", name);
    text_format(t, "INPUT = (%d, %d, %d)  # channels, height, width\n", p->input.channels,
                p->input.height, p->input.width);
    text_format(t, "CLASSES = %s\n", classes ? classes : "None  # the checkpoint has no names");
    put_floats(t, "MEAN", m->normalization.mean, m->normalization.channels);
    put_floats(t, "STD", m->normalization.std, m->normalization.channels);
    put_graph(t, p);
    free(name);
    yaml_free(node);
}

// ---- The files ----

static status write_program(const trained_model *m, const char *classes, const char *file,
                            error *err) {
    text t = {0};
    text_append(&t, HEAD);
    put_constants(&t, m, classes);
    text_append(&t, FUNCTIONS);
    put_formulas(&t, &m->model.program);
    text_append(&t, CLASS_HEAD);
    put_layers(&t, &m->model);
    text_append(&t, TAIL);
    const status rc = output_write_file(file, t.data, t.length, err);
    text_release(&t);
    return rc;
}

static status write_weights(const trained_model *m, const char *classes, const char *file,
                            error *err) {
    tensor_file f = {0};
    model_file_describe(&m->model, m->parameters, m->buffers, &m->normalization, classes, &f);
    const status rc = tensor_file_write_plain(file, &f, err);
    tensor_file_release(&f);
    return rc;
}

status torch_write(const trained_model *m, const char *path, const char *folder, error *err) {
    char *code = memory_format("%s/model.py", folder);
    char *weights = memory_format("%s/model.safetensors", folder);
    char *classes = trained_model_class_list(m);
    status rc = STATUS_OK;
    const named_file in = {"MODEL", path}, out[] = {{"--out", code}, {"--out", weights}};
    TRY(named_files_check(&in, 1, out, 2, err));
    TRY(check_names(m, path, err));
    TRY(output_make_folder(folder, err));
    TRY(write_weights(m, classes, weights, err));
    TRY(write_program(m, classes, code, err));
out:
    free(code);
    free(weights);
    free(classes);
    return rc;
}

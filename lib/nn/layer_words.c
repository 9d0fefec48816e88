// SPDX-License-Identifier: MIT
#include "nn/layer_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "nn/layer_types.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PLAIN_BYTES = 40 };

// ---- One word in many spellings ----

// "nn.BatchNorm2d", "batch-norm" and "batch_norm" are all "batchnorm".
static void make_plain(const char *word, char plain[PLAIN_BYTES]) {
    const char *dot = strrchr(word, '.');
    size_t length = 0;
    for (const char *p = dot ? dot + 1 : word; *p && length < PLAIN_BYTES - 1; p++)
        if (*p != '_' && *p != '-' && *p != ' ') plain[length++] = (char)tolower((unsigned char)*p);
    if (length > 2 && plain[length - 1] == 'd' && isdigit((unsigned char)plain[length - 2]))
        length -= 2;
    plain[length] = 0;
}

// Words that are not spellings of ours, matched by prefix: "softmax" also matches "softmax2d".
static const struct {
    const char *theirs, *advice;
} others[] = {
    {"dense", "did you mean 'linear'?"},
    {"fullyconnected", "did you mean 'linear'?"},
    {"fc", "did you mean 'linear'?"},
    {"convolution", "did you mean 'conv'?"},
    {"batchnormalization", "did you mean 'batch_norm'?"},
    {"bn", "did you mean 'batch_norm'?"},
    {"layernorm", "'group_norm: {groups: 1}' normalises all channels and positions of a sample"},
    {"instancenorm", "'group_norm' with as many groups as channels normalises each of them apart"},
    {"gn", "did you mean 'group_norm'?"},
    {"averagepool", "did you mean 'avg_pool'?"},
    {"meanpool", "did you mean 'avg_pool'?"},
    {"globala", "did you mean 'global_avg_pool'?"},
    {"globalm", "did you mean 'max_pool' with a window as large as the image?"},
    {"adaptiveavg", "did you mean 'global_avg_pool'?"},
    {"adaptivemax", "did you mean 'max_pool' with a window as large as the image?"},
    {"skip", "did you mean 'residual'?"},
    {"shortcut", "did you mean 'residual'?"},
    {"basicblock", "did you mean 'residual'?"},
    {"sum", "did you mean 'add'?"},
    {"plus", "did you mean 'add'?"},
    {"view", "did you mean 'flatten'?"},
    {"reshape", "did you mean 'flatten'?"},
    {"softmax", "the loss includes it, so a model ends with a 'linear' layer"},
    {"logsoftmax", "the loss includes it, so a model ends with a 'linear' layer"},
    {"crossentropy", "it is the loss of every model, not a layer"},
    {"nllloss", "cross entropy is the loss of every model, not a layer"},
    {"leakyrelu", "the activations are 'relu', 'gelu' and 'silu'"},
    {"prelu", "the activations are 'relu', 'gelu' and 'silu'"},
    {"swish", "did you mean 'silu'?"},
    {"elu", "the activations are 'relu', 'gelu' and 'silu'"},
    {"tanh", "the activations are 'relu', 'gelu' and 'silu'"},
    {"sigmoid", "the activations are 'relu', 'gelu' and 'silu'"},
};

enum { WORDS = LAYER_TYPES + 1 };

static const char *word_of(int k) {
    return k < LAYER_TYPES ? layer_types[k].word : "residual";
}

static const char *same_word(const char *plain) {
    char ours[PLAIN_BYTES];
    for (int k = 0; k < WORDS; k++) {
        make_plain(word_of(k), ours);
        if (!strcmp(plain, ours)) return word_of(k);
    }
    return NULL;
}

static const char *other_word(const char *plain) {
    for (size_t i = 0; i < COUNT(others); i++)
        if (!strncmp(plain, others[i].theirs, strlen(others[i].theirs))) return others[i].advice;
    return NULL;
}

// ---- The answer ----

static const char *nearest(const char *word, const char *plain) {
    const char *words[WORDS], *same = same_word(plain);
    if (same) return same;
    for (int k = 0; k < WORDS; k++) words[k] = word_of(k);
    return cli_nearest(word, words, WORDS);
}

void layer_words_explain(const char *word, char *text, size_t size) {
    char plain[PLAIN_BYTES];
    make_plain(word, plain);
    const char *near = nearest(word, plain), *advice = near ? NULL : other_word(plain);
    size_t used = 0;
    *text = 0;
    if (near) used = (size_t)snprintf(text, size, "did you mean '%s'? ", near);
    if (advice)
        used = (size_t)snprintf(text, size, "%s%s ", advice,
                                advice[strlen(advice) - 1] == '?' ? "" : ".");
    const char *lead = used ? "The layers are: " : "the layers are: ";
    for (int k = 0; k < WORDS && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : lead, word_of(k));
}

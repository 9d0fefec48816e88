// SPDX-License-Identifier: MIT
// layer_words.h - the explanation of an unknown layer: the nearest known one, also for PyTorch's
// names.
#ifndef LOCKSTEP_NN_LAYER_WORDS_H
#define LOCKSTEP_NN_LAYER_WORDS_H

#include <stddef.h>

// Writes an explanation to `text`: "did you mean 'conv'? The layers are: conv, linear, …".
// Recognises PyTorch's names (Conv2d, nn.ReLU, AdaptiveAvgPool2d) and gives their equivalents here;
// if there is none, the text says why.
void layer_words_explain(const char *word, char *text, size_t size);

#endif

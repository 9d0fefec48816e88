// layer_words.h - what to say of a layer that is none: the nearest one, also to a word of PyTorch.
#ifndef LOCKSTEP_NN_LAYER_WORDS_H
#define LOCKSTEP_NN_LAYER_WORDS_H

#include <stddef.h>

// "did you mean 'conv'? The layers are: conv, linear, …" into `text`. Knows PyTorch's names
// (Conv2d, nn.ReLU, AdaptiveAvgPool2d) and what stands for them here; where nothing does, it says
// why.
void layer_words_explain(const char *word, char *text, size_t size);

#endif

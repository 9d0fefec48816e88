// SPDX-License-Identifier: MIT
// onnx.h - writes a trained model as an ONNX file, for runtimes with opset 13
// (https://onnx.ai/onnx/intro/concepts.html; the messages are those of onnx.proto).
//
// Input `pixels` is uint8 [batch, channels, height, width], the bytes of the data set; output
// `logits` is float [batch, classes]. The batch is of any size. The first nodes normalise, with the
// numbers of the engines: byte · 1 / (255 std) - mean / std. Dropout is left out, and batch norm
// takes its running statistics. Nodes have the names of the layers, weights those of the
// state_dict.
//
// Metadata: `model` and `normalize` as in model.st.zst, `classes` if they are known (a JSON
// list), and `source`, the content hash of the checkpoint.
#ifndef LOCKSTEP_TRAIN_EXPORT_ONNX_H
#define LOCKSTEP_TRAIN_EXPORT_ONNX_H

#include "base/error.h"
#include "train/trained_model.h"

// Writes the file `to`. Equal models give equal bytes. STATUS_INPUT, with the name of the
// checkpoint, `path`, if the file would have more than PROTOBUF_MAX bytes.
status onnx_write(const trained_model *m, const char *path, const char *to, error *err) MUST_CHECK;

#endif

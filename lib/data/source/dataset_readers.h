// SPDX-License-Identifier: MIT
// dataset_readers.h - from the published files of a data set to images and labels: a function for
// each format, which datasets.inc names.
//
// cifar_read: CIFAR's "binary version": records of label bytes and 3,072 pixel bytes (the red,
// green and blue planes of 32 x 32), first those for training. CIFAR-100 has two label bytes,
// coarse and fine; the last one is used. A. Krizhevsky, "Learning multiple layers of features from
// tiny images", 2009.
//
// mnist_read: IDX files: images and labels for training, then those for testing. MNIST (Y. LeCun,
// C. Cortes, C. Burges) and Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, 2017).
#ifndef LOCKSTEP_DATA_SOURCE_DATASET_READERS_H
#define LOCKSTEP_DATA_SOURCE_DATASET_READERS_H

#include "base/error.h"
#include "base/log.h"
#include "data/source/dataset_list.h"
#include "data/source/members.h"
#include "data/source/raw_dataset.h"

// Reads both splits of `d` out of `sources`, as members_read does, into `r`, whose name, shape and
// classes are set. The labels are still to be checked. Call raw_dataset_release in any case.
typedef status dataset_reader(const dataset_entry *d, const char *const *sources,
                              size_t source_count, const logger *log, raw_dataset *r,
                              member_origin *origin, error *err);

#define DATASET(reader, ...) dataset_reader reader;
#include "data/source/datasets.inc"
#undef DATASET

#endif

// SPDX-License-Identifier: MIT
// fetch_tool.h - the fetch-* tools: from the published files of a data set to tensor files. A tool
// fetches the data sets whose row in dataset_list.h names it.
#ifndef LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H
#define LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H

#include "base/cli.h"

cli_function fetch_cifar_tool, fetch_mnist_tool;

#endif

// SPDX-License-Identifier: MIT
#include "base/tool_list.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const tool_entry tool_list[] = {
    {"fetch-cifar", TOOLS_DATA, OWN_NAME,
     "fetch CIFAR-10 or another data set, verified, as tensor files"},
    {"fetch-mnist", TOOLS_DATA, SUBCOMMAND,
     "fetch MNIST or Fashion-MNIST, verify it, write tensor files"},
    {"import-images", TOOLS_DATA, SUBCOMMAND,
     "convert your own pictures to tensor files for training"},
    {"synth-cifar", TOOLS_DATA, SUBCOMMAND,
     "draw images of ten classes, or noise, as tensor files"},
    {"shard", TOOLS_DATA, OWN_NAME, "deal a data set into V shard files"},

    {"train-single", TOOLS_TRAIN, OWN_NAME, "train in one process on one device"},
    {"train-dp", TOOLS_TRAIN, OWN_NAME, "train on replicas in one process, as DataParallel does"},
    {"train-ddp", TOOLS_TRAIN, OWN_NAME, "train in several processes that reduce their gradients"},
    {"train-mp", TOOLS_TRAIN, SUBCOMMAND, "train with the model's layers cut into pipeline stages"},

    {"evaluate", TOOLS_RESULTS, OWN_NAME,
     "evaluate a trained model on a data set, or classify pictures"},
    {"report", TOOLS_RESULTS, OWN_NAME, "make a report from finished runs"},
    {"time-runs", TOOLS_RESULTS, SUBCOMMAND,
     "time trainings, or any commands, against each other, in turns"},
    {"audit", TOOLS_RESULTS, SUBCOMMAND, "check published claims against their own figures"},
    {"tensor", TOOLS_RESULTS, SUBCOMMAND, "inspect, compare and convert tensor files"},
    {"manifest", TOOLS_RESULTS, SUBCOMMAND, "read, verify and compare manifest.yaml files"},
    {"replay", TOOLS_RESULTS, SUBCOMMAND,
     "train random parts of a run again, and compare the bits"},
    {"bench-allreduce", TOOLS_RESULTS, SUBCOMMAND,
     "measure the all-reduce of train-ddp on this machine"},

    {"pipeline", TOOLS_EXPERIMENTS, SUBCOMMAND, "run experiments from the data to the report"},
    {"plan", TOOLS_EXPERIMENTS, SUBCOMMAND, "decide which runs answer a question"},
};
const size_t tool_count = sizeof tool_list / sizeof *tool_list;

const char *tool_summary(const char *name) {
    for (size_t i = 0; i < tool_count; i++)
        if (strcmp(tool_list[i].name, name) == 0) return tool_list[i].summary;
    return NULL;
}

status tool_folder(char folder[PATH_MAX], error *err) {
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length < 0)
        return error_system(err, STATUS_FAILED, errno,
                            "cannot find the running program: /proc/self/exe");
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return STATUS_OK;
}

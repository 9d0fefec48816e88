// SPDX-License-Identifier: MIT
// evaluate - evaluates a trained model on a dataset, or classifies single pictures.
#include "train/evaluate_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("evaluate", evaluate_tool, argc, argv);
}

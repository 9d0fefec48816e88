// SPDX-License-Identifier: MIT
// report - writes a report about finished runs, explains its figures, and checks them.
#include "report/report_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("report", report_tool, argc, argv);
}

// SPDX-License-Identifier: MIT
// report_tool.h - the tool `report`: writes a report about finished runs, explains its figures, and
// checks them against bands.
#ifndef LOCKSTEP_REPORT_REPORT_TOOL_H
#define LOCKSTEP_REPORT_REPORT_TOOL_H

#include "base/cli.h"

cli_function report_tool;

#endif

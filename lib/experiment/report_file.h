// SPDX-License-Identifier: MIT
// report_file.h - the file of one published report (schema lockstep.report/1): it names the
// experiments and studies that stand for the report's rows. It lies in a folder with these and with
// its claim.
#ifndef LOCKSTEP_EXPERIMENT_REPORT_FILE_H
#define LOCKSTEP_EXPERIMENT_REPORT_FILE_H

#include "base/error.h"
#include "base/yaml_tree.h"

#define REPORT_SCHEMA "lockstep.report/1"

// Reads the file. `claim` defaults to the claim.yaml in the same folder, if there is one, and
// `source` and `title` to the claim's name and title. STATUS_INPUT if it is not a report file; does
// not check whether its rows can be run.
status report_file_read(const char *path, yaml_node **report, error *err) MUST_CHECK;

// Checks that all keys are those of a report.
status report_file_check_keys(const yaml_node *report, error *err) MUST_CHECK;

// Finds the claim that `report` names: a name means claims/NAME.yaml, in the folder of the file or
// in one above it; a path is relative to the file. free() `path`.
status report_file_claim(const yaml_node *report, char **path, error *err) MUST_CHECK;

#endif

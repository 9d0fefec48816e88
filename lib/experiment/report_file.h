// report_file.h - the file of one published report (schema lockstep.report/1): which experiments
// and studies stand for its rows. It lies in a folder with these and with its claim.
#ifndef LOCKSTEP_EXPERIMENT_REPORT_FILE_H
#define LOCKSTEP_EXPERIMENT_REPORT_FILE_H

#include "base/error.h"
#include "base/yaml_tree.h"

#define REPORT_SCHEMA "lockstep.report/1"

// Reads the file. Where it does not say them, `claim` is the claim.yaml beside it, if there is one,
// and `source` and `title` are the name and the title of the claim. STATUS_INPUT for what is no
// such file; whether its rows can be run is not asked.
status report_file_read(const char *path, yaml_node **report, error *err) MUST_CHECK;

// Are all keys those of a report?
status report_file_check_keys(const yaml_node *report, error *err) MUST_CHECK;

// The claim that `report` names: a name means claims/NAME.yaml, in the folder of the file or in one
// above it; a path is relative to the file. free() it.
status report_file_claim(const yaml_node *report, char **path, error *err) MUST_CHECK;

#endif

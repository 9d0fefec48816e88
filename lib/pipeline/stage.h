// stage.h - a stage: a tool, its arguments and the folder that it fills. It runs when it is not
// done.
//
// A stage is done when its manifest is there, whole, and carries the key that the tool prints for
// these arguments (--print-key): the contents of its inputs, and the parameters that matter for its
// outputs. The tool writes the manifest last, so a stage that was killed is not done.
#ifndef LOCKSTEP_PIPELINE_STAGE_H
#define LOCKSTEP_PIPELINE_STAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sha256.h"
#include "pipeline/pipeline.h"
#include "pipeline/words.h"

typedef struct stage {
    const char *name;      // what it does: "train"
    const char *dir;       // the folder that it fills
    const char *shown;     // the folder's name in messages; NULL: `dir`
    const char *key;       // NULL: the tool is asked
    const char *reason;    // why it runs, for the user; NULL: found out from the folder
    const words *command;  // the tool's name, without a folder, and its arguments
    const words *launcher; // starts the tool as several processes; NULL: none
    bool quiet;            // nothing is said, and the tool's output is dropped
    bool drop_output;      // only the latter
    const char *more;      // one more argument when it runs ("--resume"), which makes no key
} stage;

// The key that the tool prints for these arguments. An empty message: the tool has said why not.
status stage_key(pipeline *p, const words *command, char key[SHA256_TEXT_BYTES],
                 error *err) MUST_CHECK;

// Runs the stage unless it is done, and says which. Another call that wants the same stage at the
// same time is waited for, and its result used. A folder that this call has seen to before is
// passed over.
status stage_run(pipeline *p, const stage *s, error *err) MUST_CHECK;

// Can anything be made below ARTIFACTS? If not, the message names the setting.
status stage_check_place(const pipeline *p, error *err) MUST_CHECK;

// "BIN/TOOL ARGUMENTS": the words to start. STATUS_FAILED where the tool was not built.
status stage_program(const pipeline *p, const words *command, words *program,
                     error *err) MUST_CHECK;

#endif

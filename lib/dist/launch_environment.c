// Which group this process was started into, by the names in its environment.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dist/launch.h"
#include "dist/segment.h"

// Who else starts processes, and how it tells each which one it is. The address is MASTER_ADDR and
// MASTER_PORT in all of them.
typedef struct family {
    const char *rank, *size;
    bool partial; // the rank alone means nothing: it is also set where there is one process
} family;

static const family families[] = {
    {"RANK", "WORLD_SIZE", false}, // torchrun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
    {"PMI_RANK", "PMI_SIZE", false},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true},
};
enum { FAMILIES = sizeof families / sizeof *families };

// A variable that is set to nothing is not set.
static const char *value_of(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static status missing(const char *name, const char *other, error *err) {
    return error_set(err, STATUS_USAGE,
                     "cannot join a group: '%s' is not set, but %s is: set RANK, WORLD_SIZE, "
                     "MASTER_ADDR and MASTER_PORT, or none of them",
                     name, other);
}

static status read_number(const char *name, int min, int max, int *out, error *err) {
    const char *text = value_of(name);
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < min || number > max)
        return error_set(err, STATUS_USAGE,
                         "cannot join a group: '%s=%s': expected an integer from %d to %d", name,
                         text, min, max);
    *out = (int)number;
    return STATUS_OK;
}

// The family that the environment belongs to; NULL: none.
static const family *find_family(void) {
    for (int i = 0; i < FAMILIES; i++) {
        const family *f = &families[i];
        const char *rank = value_of(f->rank), *size = value_of(f->size);
        if (f->partial ? rank && size && strcmp(size, "1") != 0 : rank || size) return f;
    }
    return NULL;
}

static status read_address(const char *because, launch_environment *env, error *err) {
    const char *address = value_of("MASTER_ADDR");
    if (!address) return missing("MASTER_ADDR", because, err);
    if (strlen(address) >= sizeof env->address)
        return error_set(err, STATUS_USAGE, "cannot join a group: 'MASTER_ADDR': too long");
    memcpy(env->address, address, strlen(address) + 1);
    if (!value_of("MASTER_PORT")) return missing("MASTER_PORT", because, err);
    return read_number("MASTER_PORT", 1, 65535, &env->port, err);
}

status launch_detect(launch_environment *env, error *err) {
    *env = (launch_environment){.size = 1, .seconds = LAUNCH_RENDEZVOUS_SECONDS};
    status rc;
    const family *f = find_family();
    if (!f) {
        for (const char *const *name = (const char *const[]){"MASTER_ADDR", "MASTER_PORT", NULL};
             *name; name++)
            if (value_of(*name)) return missing("RANK", *name, err);
        return STATUS_OK;
    }
    if (!value_of(f->rank)) return missing(f->rank, f->size, err);
    if (!value_of(f->size)) return missing(f->size, f->rank, err);
    TRY(read_number(f->size, 1, SEGMENT_MAX_RANKS, &env->size, err));
    TRY(read_number(f->rank, 0, env->size - 1, &env->rank, err));
    TRY(read_address(f->rank, env, err));
    if (value_of("LOCKSTEP_RENDEZVOUS_SECONDS"))
        TRY(read_number("LOCKSTEP_RENDEZVOUS_SECONDS", 1, 86400, &env->seconds, err));
    env->joined = true;
out:
    return rc;
}

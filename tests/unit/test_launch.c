// SPDX-License-Identifier: MIT
// Groups started here and groups that are joined: how they end, successfully or not.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/signals.h"
#include "dist/endpoint.h"
#include "dist/launch_join.h"
#include "dist/launch_local.h"

// A rank that waits in vain for another does so for at least 20 s; a busy machine takes seconds for
// an immediate answer. This limit separates the two.
enum { RANKS = 4, SOON_MS = 15000 };

static uint64_t milliseconds_since(uint64_t begin) {
    return (clock_now() - begin) / 1000000;
}

// Memory that children write and the test reads.
static void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void assert_no_children(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

// ---- The environment ----

static const char *const variables[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_PTY_PORT",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "LOCKSTEP_RENDEZVOUS_SECONDS",
    "LOCKSTEP_MPI_LIBRARY",
};

// Sets the environment given as "NAME=VALUE" words.
static void set_variables(const char *words) {
    char copy[512], *rest = copy;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = 0;
        setenv(word, value, 1);
    }
}

static status detect(const char *words, launch_environment *env, error *err) {
    set_variables(words);
    return launch_detect(env, err);
}

static void a_process_that_joins_no_group_is_alone(void **state) {
    (void)state;
    static const struct {
        const char *words, *started; // NULL: alone
    } cases[] = {
        {"", NULL},
        {"RANK=0 WORLD_SIZE=4", "torchrun started 4 processes (WORLD_SIZE)"},
        {"LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=a", "torchrun started 2 processes"},
        {"RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=1", NULL},
        {"WORLD_SIZE=4", NULL}, // some script's variable: no launcher sets it alone
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4", "start one (mpirun -n 1)"},
        {"PMI_RANK=0 PMI_SIZE=3", "mpiexec started 3 processes (PMI_SIZE)"},
        {"MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2", "mpiexec started 2 processes (MPI_LOCALNRANKS)"},
        // A step without PMI, and one of an old Slurm.
        {"SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=3",
         "srun started 4 processes (SLURM_NTASKS)"},
        {"SLURM_STEP_ID=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", "env -u SLURM_PROCID"},
        // srun -n 1 in a job of four tasks; the script of such a job, also where it is a step.
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1", NULL},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1", NULL},
        {"SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4", NULL},
        {"SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=4", NULL},
        // A shell by srun --pty; mpirun -n 1 whose daemons srun has started on two nodes.
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PTY_PORT=1", NULL},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=1 "
         "SLURM_STEP_NUM_TASKS=2",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};
        set_variables(cases[i].words);
        const status expected = cases[i].started ? STATUS_USAGE : STATUS_OK;
        if (launch_check_alone(&err) != expected) fail_msg("%s: %s", cases[i].words, err.message);
        if (cases[i].started && !strstr(err.message, cases[i].started))
            fail_msg("%s: %s", cases[i].words, err.message);
    }
}

static void an_environment_may_describe_a_group(void **state) {
    (void)state;
    error err;
    launch_environment env;
    assert_int_equal(detect("", &env, &err), STATUS_OK);
    assert_false(env.joined);
    assert_int_equal(detect("SLURM_PROCID=0 SLURM_NTASKS=1", &env, &err), STATUS_OK);
    assert_false(env.joined);
    assert_int_equal(detect("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", &env, &err), STATUS_OK);
    assert_false(env.joined);
    assert_int_equal(
        detect("RANK=2 WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=29500", &env, &err),
        STATUS_OK);
    assert_true(env.joined);
    assert_int_equal(env.rank, 2);
    assert_int_equal(env.size, 3);
    assert_string_equal(env.address, "localhost");
    assert_int_equal(env.port, 29500);
    assert_int_equal(env.seconds, 60);
    assert_int_equal(detect("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 MASTER_ADDR=a MASTER_PORT=1 "
                            "LOCKSTEP_RENDEZVOUS_SECONDS=5",
                            &env, &err),
                     STATUS_OK);
    assert_true(env.joined);
    assert_int_equal(env.rank, 1);
    assert_int_equal(env.seconds, 5);
}

static void a_launcher_of_mpi_needs_no_address(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int rank, size, local_rank, local_size;
    } cases[] = {
        {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=1 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=2",
         5, 6, 1, 2},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=3", 1, 4, 0, 3},
        // Without this information, all ranks count as ranks on one host.
        {"PMI_RANK=1 PMI_SIZE=4", 1, 4, 1, 4},
        {"SLURM_PROCID=4 SLURM_STEP_NUM_TASKS=7 PMIX_RANK=4 SLURM_LOCALID=1 SLURM_NODEID=2 "
         "SLURM_STEP_TASKS_PER_NODE=2(x2),3",
         4, 7, 1, 3},
        {"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=7 PMIX_RANK=2 SLURM_LOCALID=0 SLURM_NODEID=1 "
         "SLURM_STEP_TASKS_PER_NODE=2(x2),3",
         2, 7, 0, 2},
        {"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=7 PMIX_RANK=2 SLURM_LOCALID=0 SLURM_NODEID=3 "
         "SLURM_STEP_TASKS_PER_NODE=2(x2),3",
         2, 7, 2, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err;
        launch_environment env;
        char words[512];
        snprintf(words, sizeof words, "LOCKSTEP_MPI_LIBRARY=/dev/null %s", cases[i].words);
        assert_int_equal(detect(words, &env, &err), STATUS_OK);
        assert_true(env.joined && env.mpi);
        assert_int_equal(env.rank, cases[i].rank);
        assert_int_equal(env.size, cases[i].size);
        assert_int_equal(env.local_rank, cases[i].local_rank);
        assert_int_equal(env.local_size, cases[i].local_size);
    }
}

static void an_incomplete_environment_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *words, *named;
    } cases[] = {
        {"RANK=0", "'WORLD_SIZE' is not set, but RANK is"},
        {"WORLD_SIZE=2", "'RANK' is not set, but WORLD_SIZE is"},
        {"MASTER_PORT=1", "'RANK' is not set, but MASTER_PORT is"},
        {"RANK=0 WORLD_SIZE=2", "'MASTER_ADDR' is not set"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a", "'MASTER_PORT' is not set"},
        {"RANK= WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "'RANK' is not set"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 MASTER_PORT=1", "'MASTER_ADDR' is not set"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 LOCKSTEP_MPI_LIBRARY=/none.so",
         "OMPI_COMM_WORLD_RANK is set, but this build has no MPI ('/none.so' does not exist)"},
        {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
         "srun started 2 tasks ('SLURM_PROCID' is set), but provides no PMIx"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4", "use srun --mpi=pmix, or srun -n 1"},
        {"LOCAL_RANK=0 LOCAL_WORLD_SIZE=2", "'RANK' is not set, but LOCAL_WORLD_SIZE is"},
        {"RANK=2 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "'RANK=2': expected an integer"},
        {"RANK=-1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1", "'RANK=-1'"},
        {"RANK=0 WORLD_SIZE=two MASTER_ADDR=a MASTER_PORT=1", "'WORLD_SIZE=two'"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=65536", "'MASTER_PORT=65536'"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=80x", "'MASTER_PORT=80x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err;
        launch_environment env;
        assert_int_equal(detect(cases[i].words, &env, &err), STATUS_USAGE);
        if (!strstr(err.message, cases[i].named)) fail_msg("%s: %s", cases[i].words, err.message);
        assert_false(env.joined);
    }
}

// ---- Started here: rank bodies ----

typedef struct plan {
    int rank;         // the one that is different
    int signal;       // sent to it
    volatile int *at; // ranks that are under way
    pid_t *processes; // of the ranks
} plan;

static status meet_often(comm *c, int times, error *err) {
    status rc = STATUS_OK;
    for (int i = 0; i < times && rc == STATUS_OK; i++) rc = c->ops->barrier(c, err);
    return rc;
}

static status just_meet(void *argument, comm *c, error *err) {
    const plan *p = argument;
    p->processes[c->rank] = getpid();
    return meet_often(c, 100, err);
}

static status fail_alone(void *argument, comm *c, error *err) {
    const plan *p = argument;
    status rc = meet_often(c, 5, err);
    if (rc != STATUS_OK) return rc;
    if (c->rank == p->rank) return error_set(err, STATUS_INPUT, "cannot read: 'x': no such thing");
    return meet_often(c, 1000, err);
}

static status fail_together(void *argument, comm *c, error *err) {
    (void)argument;
    status rc = meet_often(c, 5, err);
    return rc == STATUS_OK ? error_set(err, STATUS_FAILED, "the loss is not a number") : rc;
}

static status die(void *argument, comm *c, error *err) {
    const plan *p = argument;
    status rc = meet_often(c, 5, err);
    p->processes[c->rank] = getpid();
    if (c->rank == p->rank) p->signal ? kill(getpid(), p->signal) : _exit(77);
    return rc == STATUS_OK ? meet_often(c, 1000, err) : rc;
}

// Ignores SIGTERM, and is in no collective.
static status be_stubborn(void *argument, comm *c, error *err) {
    const plan *p = argument;
    p->processes[c->rank] = getpid();
    signals_watch();
    status rc = meet_often(c, 1, err);
    if (rc != STATUS_OK) return rc;
    if (c->rank == p->rank) return error_set(err, STATUS_FAILED, "enough");
    for (;;) pause();
}

// Works until a signal requests a stop, as training does.
static status work(void *argument, comm *c, error *err) {
    const plan *p = argument;
    signals_watch();
    p->processes[c->rank] = getpid();
    __atomic_fetch_add(p->at, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        unsigned char mine = signals_pending() != 0, all[RANKS] = {0};
        status rc = c->ops->all_gather(c, &mine, 1, all, err);
        if (rc != STATUS_OK) return rc;
        if (memchr(all, 1, (size_t)c->size)) return STATUS_STOPPED;
        usleep(1000);
    }
}

static status talk(void *argument, comm *c, error *err) {
    (void)argument, (void)err;
    printf("%d", c->rank);
    return STATUS_OK;
}

static plan new_plan(int rank, int number) {
    return (plan){rank, number, shared(4096), shared(4096)};
}

static void free_plan(plan *p) {
    for (int r = 0; r < RANKS; r++)
        if (p->processes[r]) assert_int_equal(kill(p->processes[r], 0), -1); // gone
    munmap((void *)p->at, 4096);
    munmap(p->processes, 4096);
    assert_no_children();
}

// ---- Started here: tests ----

static void ranks_are_children_that_meet(void **state) {
    (void)state;
    for (int size = 1; size <= RANKS; size++) {
        error err;
        plan p = new_plan(0, 0);
        assert_int_equal(launch_local(size, 100, 8, just_meet, &p, NULL, NULL, &err), STATUS_OK);
        for (int r = 0; r < size; r++) {
            assert_true(p.processes[r] > 0);
            assert_int_not_equal(p.processes[r], getpid());
        }
        free_plan(&p);
    }
}

static void the_first_failure_decides(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        error err;
        launch_death death;
        plan p = new_plan(i % RANKS, 0);
        char message[64];
        const uint64_t begin = clock_now();
        assert_int_equal(launch_local(RANKS, 100, 8, fail_alone, &p, &death, NULL, &err),
                         STATUS_INPUT);
        snprintf(message, sizeof message, "rank %d: cannot read: 'x': no such thing", i % RANKS);
        assert_string_equal(err.message, message);
        assert_int_equal(err.code, STATUS_INPUT);
        assert_false(death.happened);
        assert_true(milliseconds_since(begin) < SOON_MS);
        free_plan(&p);
    }
}

static void a_common_failure_is_reported_once(void **state) {
    (void)state;
    error err;
    signals_watch(); // so that a rank can still report the request to stop
    assert_int_equal(launch_local(RANKS, 100, 8, fail_together, NULL, NULL, NULL, &err),
                     STATUS_FAILED);
    assert_string_equal(err.message, "the loss is not a number");
    assert_int_equal(launch_local(1, 100, 8, fail_together, NULL, NULL, NULL, &err), STATUS_FAILED);
    assert_string_equal(err.message, "the loss is not a number");
    assert_no_children();
}

static void a_killed_rank_is_named(void **state) {
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        error err;
        launch_death death;
        plan p = new_plan(rank, SIGKILL);
        char message[64];
        const uint64_t begin = clock_now();
        assert_int_equal(launch_local(RANKS, 100, 8, die, &p, &death, NULL, &err), STATUS_FAILED);
        snprintf(message, sizeof message, "rank %d was killed by signal 9 (Killed)", rank);
        assert_string_equal(err.message, message);
        assert_true(death.happened);
        snprintf(message, sizeof message, "rank %d died (killed by SIGKILL)", rank);
        assert_string_equal(death.text, message);
        assert_true(milliseconds_since(begin) < SOON_MS);
        free_plan(&p);
    }
}

static void a_rank_that_exits_is_named(void **state) {
    (void)state;
    error err;
    launch_death death;
    plan p = new_plan(1, 0);
    assert_int_equal(launch_local(RANKS, 100, 8, die, &p, &death, NULL, &err), STATUS_FAILED);
    assert_string_equal(err.message, "rank 1 ended early with exit code 77");
    assert_string_equal(death.text, "rank 1 died (exit code 77)");
    free_plan(&p);
}

static void a_single_process_is_not_called_a_rank(void **state) {
    (void)state;
    error err;
    launch_death death;
    plan p = new_plan(0, SIGKILL);
    assert_int_equal(launch_local(1, 100, 8, die, &p, &death, NULL, &err), STATUS_FAILED);
    assert_string_equal(err.message, "the process was killed by signal 9 (Killed)");
    assert_string_equal(death.text, "the process died (killed by SIGKILL)");
    free_plan(&p);
}

static void a_rank_that_does_not_end_is_killed(void **state) {
    (void)state;
    error err;
    plan p = new_plan(1, 0);
    const uint64_t begin = clock_now();
    assert_int_equal(launch_local(RANKS, 100, 8, be_stubborn, &p, NULL, NULL, &err), STATUS_FAILED);
    assert_string_equal(err.message, "rank 1: enough");
    assert_in_range(milliseconds_since(begin), LAUNCH_GRACE_SECONDS * 1000, SOON_MS);
    free_plan(&p);
}

// A process that starts ranks, for tests that send it signals; it ends with the group's status.
static pid_t fork_launcher(plan *p, bool watch) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0) {
        while (__atomic_load_n(p->at, __ATOMIC_SEQ_CST) < RANKS) usleep(1000);
        return process;
    }
    error err;
    setpgid(0, 0); // a process group, as a shell makes for a job
    if (watch) signals_watch();
    const status rc = launch_local(RANKS, 100, 8, work, p, NULL, NULL, &err);
    _exit(signals_pending() ? 100 + signals_pending() : (int)rc);
}

static void signals_are_passed_on(void **state) {
    (void)state;
    const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    for (int i = 0; i < 3; i++) {
        int ended;
        plan p = new_plan(0, 0);
        const pid_t process = fork_launcher(&p, true);
        kill(process, numbers[i]);
        assert_int_equal(waitpid(process, &ended, 0), process);
        assert_true(WIFEXITED(ended)); // the ranks stopped in order, then it got the signal
        assert_int_equal(WEXITSTATUS(ended), 100 + numbers[i]);
        free_plan(&p);
    }
}

static void an_unwatched_signal_ends_it_after_the_ranks(void **state) {
    (void)state;
    int ended;
    plan p = new_plan(0, 0);
    const pid_t process = fork_launcher(&p, false);
    kill(process, SIGTERM);
    assert_int_equal(waitpid(process, &ended, 0), process);
    assert_true(WIFSIGNALED(ended));
    assert_int_equal(WTERMSIG(ended), SIGTERM);
    free_plan(&p);
}

// A terminal sends SIGINT to the ranks, too; they must still stop in order.
static void an_interrupt_of_all_stops_in_order(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        int ended;
        plan p = new_plan(0, 0);
        const pid_t process = fork_launcher(&p, true);
        kill(-process, SIGINT);
        assert_int_equal(waitpid(process, &ended, 0), process);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 100 + SIGINT);
        free_plan(&p);
    }
}

static void a_rank_may_stop_all(void **state) {
    (void)state;
    int ended;
    plan p = new_plan(0, 0);
    const pid_t process = fork_launcher(&p, true);
    kill(p.processes[1], SIGTERM);
    assert_int_equal(waitpid(process, &ended, 0), process);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), STATUS_STOPPED);
    free_plan(&p);
}

static void ranks_die_with_their_parent(void **state) {
    (void)state;
    int ended;
    plan p = new_plan(0, 0);
    const pid_t process = fork_launcher(&p, true);
    kill(process, SIGKILL);
    assert_int_equal(waitpid(process, &ended, 0), process);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < SOON_MS / 10 && kill(p.processes[r], 0) == 0; i++) usleep(10000);
    free_plan(&p);
}

static void output_is_written_once(void **state) {
    (void)state;
    char text[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t process = fork();
    if (process == 0) {
        error err;
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        printf("x"); // still in the buffer when the ranks start
        const status rc = launch_local(3, 1, 1, talk, NULL, NULL, NULL, &err);
        fflush(stdout);
        _exit((int)rc);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n; (n = read(ends[0], text + got, sizeof text - got)) > 0;) got += (size_t)n;
    close(ends[0]);
    waitpid(process, NULL, 0);
    assert_int_equal(got, 4);
    assert_int_equal(text[0], 'x');
    for (char rank = '0'; rank < '3'; rank++) assert_non_null(memchr(text, rank, got));
}

// ---- Joined ----

typedef struct member {
    launch_environment env;
    size_t n;
    int delay_ms;
    int behind;  // number of others that are connected when it comes
    int ends_as; // signal that ends it after joining, before the first collective
    status rc;
    error err;
    uint64_t took_ms;
} member;

static int free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(file, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&at, &size), 0);
    close(file);
    return ntohs(at.sin_port);
}

// Connections to rank 0. Those waiting to be accepted count; they will be accepted in order.
static int connections_to(int port) {
    enum { LISTENS = 1 << 16 };
    char line[512], name[256], expected[64];
    unsigned flags;
    int count = 0;
    FILE *file = fopen("/proc/net/unix", "r");
    if (!file) return 0;
    snprintf(expected, sizeof expected, "@lockstep/%u/rendezvous/%d", (unsigned)geteuid(), port);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %255s", &flags, name) == 2)
            count += strcmp(name, expected) == 0 && !(flags & LISTENS);
    fclose(file);
    return count;
}

static void await_connections(int port, int count) {
    for (int i = 0; i < SOON_MS / 10 && connections_to(port) < count; i++) usleep(10000);
}

static void join_and_meet(member *m) {
    comm *c = NULL;
    usleep((unsigned)m->delay_ms * 1000);
    await_connections(m->env.port, m->behind);
    const uint64_t begin = clock_now();
    m->rc = launch_join(&m->env, m->n, 8, &c, &m->err);
    if (m->rc == STATUS_OK && m->ends_as) kill(getpid(), m->ends_as);
    if (m->rc == STATUS_OK) {
        int mine = c->rank, all[RANKS];
        m->rc = c->ops->all_gather(c, &mine, sizeof mine, all, &m->err);
        for (int r = 0; r < c->size && m->rc == STATUS_OK; r++)
            if (all[r] != r) m->rc = error_set(&m->err, STATUS_FAILED, "ranks are mixed up");
        if (m->rc == STATUS_OK) m->rc = meet_often(c, 50, &m->err);
    }
    comm_free(c);
    m->took_ms = milliseconds_since(begin);
}

static member *new_members(int size, const char *address) {
    member *m = shared(RANKS * sizeof *m);
    const int port = free_port();
    for (int r = 0; r < RANKS; r++) {
        m[r].env = (launch_environment){.joined = true,
                                        .rank = r,
                                        .size = size,
                                        .local_size = size,
                                        .port = port,
                                        .seconds = 20};
        snprintf(m[r].env.address, sizeof m[r].env.address, "%s", address);
        m[r].n = 100;
    }
    return m;
}

// Runs the first `count` members as processes, and waits for them.
static void join_all(member *m, int count) {
    pid_t processes[RANKS];
    for (int r = 0; r < count; r++) {
        processes[r] = fork();
        assert_true(processes[r] >= 0);
        if (processes[r] == 0) {
            join_and_meet(&m[r]);
            _exit(0);
        }
    }
    for (int r = 0; r < count; r++) waitpid(processes[r], NULL, 0);
    assert_no_children();
}

// As join_all, where a rank never comes: rank 0 waits 3 s, and says that `missing` did not connect.
// On a busy machine others may come later, too: then again, with more time. Returns the seconds.
static int join_in_time(member *m, int count, const char *missing) {
    char expected[256];
    for (int seconds = 3;; seconds = 5 * seconds) {
        m[0].env.seconds = seconds;
        join_all(m, count);
        snprintf(expected, sizeof expected, " did not connect within %d s: %s", seconds, missing);
        const char *end = strstr(m[0].err.message, " did not connect");
        if (seconds > 10 || (end && strcmp(end, expected) == 0)) return seconds;
    }
}

static void free_members(member *m) {
    munmap(m, RANKS * sizeof *m);
}

static void ranks_join_in_any_order(void **state) {
    (void)state;
    const char *const addresses[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 8; i++) {
        const int size = i % RANKS + 1;
        member *m = new_members(size, addresses[i / 4]);
        for (int r = 0; r < size; r++) m[r].delay_ms = (r * 7 + i * 5) % 3 * 60;
        join_all(m, size);
        for (int r = 0; r < size; r++) {
            if (m[r].rc != STATUS_OK) print_error("rank %d: %s\n", r, m[r].err.message);
            assert_int_equal(m[r].rc, STATUS_OK);
        }
        free_members(m);
    }
}

static void a_missing_rank_is_named(void **state) {
    (void)state;
    member *m = new_members(4, "127.0.0.1");
    char whole[256];
    m[1].env.rank = 3; // ranks 1 and 2 never come
    const int seconds = join_in_time(m, 2, "1, 2");
    snprintf(whole, sizeof whole,
             "cannot start the group: 2 of 4 ranks did not connect within %d s: 1, 2", seconds);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(m[r].rc, STATUS_FAILED);
        assert_string_equal(m[r].err.message, whole);
        assert_in_range(m[r].took_ms, r ? 0 : seconds * 1000, seconds * 1000 + SOON_MS);
    }
    free_members(m);
}

static void a_missing_rank_0_is_named(void **state) {
    (void)state;
    member *m = new_members(2, "127.0.0.1");
    m[0].env.rank = 1;
    m[0].env.seconds = 1;
    join_all(m, 1);
    assert_int_equal(m[0].rc, STATUS_FAILED);
    assert_non_null(strstr(m[0].err.message, "rank 0 did not listen at '127.0.0.1:"));
    assert_in_range(m[0].took_ms, 1000, SOON_MS);
    free_members(m);
}

static void missing_ranks_on_other_hosts_need_mpi(void **state) {
    (void)state;
    static const char remedy[] = ": ranks on several hosts need MPI: start them with mpirun or "
                                 "srun, without MASTER_ADDR";
    member *m = new_members(2, "127.0.0.1");
    char whole[256];
    for (int rank = 0; rank < 2; rank++) {
        m[0].env.rank = rank;
        m[0].env.local_size = 1;
        m[0].env.seconds = 1;
        join_all(m, 1);
        assert_int_equal(m[0].rc, STATUS_FAILED);
        if (rank == 0)
            snprintf(whole, sizeof whole,
                     "cannot start the group: 1 of 2 ranks did not connect within 1 s: 1%s",
                     remedy);
        else
            snprintf(whole, sizeof whole,
                     "cannot join the group: rank 0 did not listen at '127.0.0.1:%d' within 1 s%s",
                     m[0].env.port, remedy);
        assert_string_equal(m[0].err.message, whole);
    }
    free_members(m);
}

// The last of three is different: it gets the error at once, the others at the time limit.
static void expect_refusal(member *m, const char *message) {
    char whole[256], missing[128];
    m[2].behind = 1;
    snprintf(missing, sizeof missing, "2; one connected and was refused: %s", message);
    const int seconds = join_in_time(m, 3, missing);
    snprintf(whole, sizeof whole, "cannot join the group: %s", message);
    assert_int_equal(m[2].rc, STATUS_USAGE);
    assert_string_equal(m[2].err.message, whole);
    snprintf(whole, sizeof whole,
             "cannot start the group: 1 of 3 ranks did not connect within %d s: %s", seconds,
             missing);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(m[r].rc, STATUS_FAILED);
        assert_string_equal(m[r].err.message, whole);
        assert_true(m[r].took_ms < (uint64_t)seconds * 1000 + SOON_MS);
    }
    free_members(m);
}

static void duplicate_ranks_are_refused(void **state) {
    (void)state;
    member *m = new_members(3, "127.0.0.1");
    m[2].env.rank = 1;
    expect_refusal(m, "two processes have RANK=1");
}

static void another_world_size_is_refused(void **state) {
    (void)state;
    member *m = new_members(3, "127.0.0.1");
    m[2].env.size = 4;
    expect_refusal(m, "rank 2 has WORLD_SIZE=4, rank 0 has 3");
}

static void another_experiment_is_refused(void **state) {
    (void)state;
    member *m = new_members(3, "127.0.0.1");
    m[2].n = 101;
    expect_refusal(m, "ranks 0 and 2 do not run the same experiment");
}

// A rank of another group connects to the same port, before this group is complete.
static void another_group_is_rejected(void **state) {
    (void)state;
    member *m = new_members(2, "127.0.0.1");
    m[2].env.size = 3;
    pid_t processes[3];
    for (int i = 0; i < 3; i++) {
        const int r = (int[]){0, 2, 1}[i];
        processes[r] = fork();
        if (processes[r] == 0) {
            join_and_meet(&m[r]);
            _exit(0);
        }
        if (r == 2) assert_int_equal(waitpid(processes[r], NULL, 0), processes[r]);
    }
    for (int r = 0; r < 2; r++) waitpid(processes[r], NULL, 0);
    assert_int_equal(m[2].rc, STATUS_USAGE);
    assert_string_equal(m[2].err.message,
                        "cannot join the group: rank 2 has WORLD_SIZE=3, rank 0 has 2");
    for (int r = 0; r < 2; r++) assert_int_equal(m[r].rc, STATUS_OK);
    free_members(m);
}

static void impossible_addresses(void **state) {
    (void)state;
    member *m = new_members(2, "no-such-host.invalid");
    join_all(m, 1);
    assert_int_equal(m[0].rc, STATUS_USAGE);
    assert_non_null(strstr(m[0].err.message, "'no-such-host.invalid'"));
    free_members(m);
    m = new_members(2, "192.0.2.1"); // reserved for examples: no host has it
    join_all(m, 1);
    assert_int_equal(m[0].rc, STATUS_USAGE);
    assert_non_null(strstr(m[0].err.message, "not an address of this host"));
    free_members(m);
}

static void a_port_in_use_is_named(void **state) {
    (void)state;
    error err;
    int listener;
    char message[64];
    member *m = new_members(2, "127.0.0.1");
    assert_int_equal(endpoint_listen(m[0].env.port, &listener, &err), STATUS_OK);
    join_all(m, 1);
    assert_int_equal(m[0].rc, STATUS_FAILED);
    snprintf(message, sizeof message, "cannot listen: 'MASTER_PORT=%d': Address already in use",
             m[0].env.port);
    assert_string_equal(m[0].err.message, message);
    close(listener);
    free_members(m);
}

// A rank waits for rank 0 of a run that is ending.
static void a_port_that_becomes_free_is_taken(void **state) {
    (void)state;
    error err;
    int listener, begun[2];
    char byte;
    member *m = new_members(2, "127.0.0.1");
    pid_t processes[2];
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(endpoint_listen(m[0].env.port, &listener, &err), STATUS_OK);
    for (int r = 0; r < 2; r++) {
        processes[r] = fork();
        if (processes[r] == 0) {
            close(listener);
            if (write(begun[1], "", 1) != 1) _exit(1);
            join_and_meet(&m[r]);
            _exit(0);
        }
        // Rank 1 must not reach the old listener, of which rank 0 inherits a copy.
        assert_int_equal(read(begun[0], &byte, 1), 1);
        if (r == 0) usleep(300000);
        if (r == 0) close(listener);
    }
    close(begun[0]);
    close(begun[1]);
    for (int r = 0; r < 2; r++) waitpid(processes[r], NULL, 0);
    for (int r = 0; r < 2; r++) assert_int_equal(m[r].rc, STATUS_OK);
    free_members(m);
}

static int knock(int port) {
    error err;
    int connection;
    const uint64_t deadline = clock_now() + SOON_MS * UINT64_C(1000000);
    if (endpoint_connect(port, deadline, &connection, &err) != STATUS_OK || connection < 0)
        _exit(1);
    return connection;
}

// One that sends nonsense, one that hangs up, and more silent ones than rank 0 has room for.
static _Noreturn void be_strange(int port) {
    char text[300] = "GET / HTTP/1.1\r\n";
    const int talker = knock(port), quitter = knock(port);
    endpoint_send(talker, text, sizeof text, -1);
    close(quitter);
    for (int i = 0; i < 100; i++) (void)knock(port);
    pause();
    _exit(0);
}

static void unrelated_connections_are_ignored(void **state) {
    (void)state;
    member *m = new_members(2, "127.0.0.1");
    pid_t processes[2];
    processes[0] = fork();
    if (processes[0] == 0) {
        join_and_meet(&m[0]);
        _exit(0);
    }
    const pid_t stranger = fork();
    if (stranger == 0) be_strange(m[0].env.port);
    await_connections(m[0].env.port, 60);
    processes[1] = fork();
    if (processes[1] == 0) {
        join_and_meet(&m[1]);
        _exit(0);
    }
    for (int r = 0; r < 2; r++) waitpid(processes[r], NULL, 0);
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(m[r].rc, STATUS_OK);
        assert_true(m[r].took_ms < SOON_MS);
    }
    free_members(m);
}

static void a_joined_rank_that_dies_is_named(void **state) {
    (void)state;
    member *m = new_members(3, "127.0.0.1");
    m[1].ends_as = SIGKILL;
    join_all(m, 3);
    for (int r = 0; r < 3; r += 2) {
        assert_int_equal(m[r].rc, STATUS_FAILED);
        assert_string_equal(m[r].err.message, "rank 1 died");
        assert_true(m[r].took_ms < SOON_MS);
    }
    free_members(m);
}

static bool is_asleep(pid_t process) {
    char path[64], how = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool read = fscanf(file, "%*d (%*[^)]) %c", &how) == 1;
    fclose(file);
    return read && how == 'S';
}

// Waits until rank 0 has admitted rank 1, and both wait for the third: asleep at every check.
static void await_a_wait(const member *m, const pid_t processes[2]) {
    await_connections(m->env.port, 1);
    for (int i = 0, still = 0; i < SOON_MS / 10 && still < 10; i++) {
        still = is_asleep(processes[0]) && is_asleep(processes[1]) ? still + 1 : 0;
        usleep(10000);
    }
}

static void a_signal_ends_the_wait(void **state) {
    (void)state;
    member *m = new_members(3, "127.0.0.1");
    pid_t processes[2];
    for (int r = 0; r < 2; r++) {
        processes[r] = fork();
        if (processes[r] == 0) {
            signals_watch();
            join_and_meet(&m[r]);
            _exit(0);
        }
    }
    await_a_wait(&m[0], processes);
    kill(processes[0], SIGTERM);
    for (int r = 0; r < 2; r++) waitpid(processes[r], NULL, 0);
    assert_int_equal(m[0].rc, STATUS_STOPPED);
    assert_int_equal(m[1].rc, STATUS_FAILED);
    assert_string_equal(m[1].err.message, "cannot join the group: rank 0 was stopped");
    for (int r = 0; r < 2; r++) assert_true(m[r].took_ms < SOON_MS);
    free_members(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_environment_may_describe_a_group),
        cmocka_unit_test(a_process_that_joins_no_group_is_alone),
        cmocka_unit_test(a_launcher_of_mpi_needs_no_address),
        cmocka_unit_test(an_incomplete_environment_is_refused),
        cmocka_unit_test(ranks_are_children_that_meet),
        cmocka_unit_test(the_first_failure_decides),
        cmocka_unit_test(a_killed_rank_is_named),
        cmocka_unit_test(a_rank_that_exits_is_named),
        cmocka_unit_test(a_single_process_is_not_called_a_rank),
        cmocka_unit_test(a_rank_that_does_not_end_is_killed),
        cmocka_unit_test(signals_are_passed_on),
        cmocka_unit_test(an_unwatched_signal_ends_it_after_the_ranks),
        cmocka_unit_test(an_interrupt_of_all_stops_in_order),
        cmocka_unit_test(a_rank_may_stop_all),
        cmocka_unit_test(ranks_die_with_their_parent),
        cmocka_unit_test(output_is_written_once),
        cmocka_unit_test(ranks_join_in_any_order),
        cmocka_unit_test(a_missing_rank_is_named),
        cmocka_unit_test(a_missing_rank_0_is_named),
        cmocka_unit_test(missing_ranks_on_other_hosts_need_mpi),
        cmocka_unit_test(duplicate_ranks_are_refused),
        cmocka_unit_test(another_world_size_is_refused),
        cmocka_unit_test(another_experiment_is_refused),
        cmocka_unit_test(another_group_is_rejected),
        cmocka_unit_test(impossible_addresses),
        cmocka_unit_test(a_port_in_use_is_named),
        cmocka_unit_test(a_port_that_becomes_free_is_taken),
        cmocka_unit_test(unrelated_connections_are_ignored),
        cmocka_unit_test(a_joined_rank_that_dies_is_named),
        cmocka_unit_test(a_signal_ends_the_wait),
        cmocka_unit_test(a_common_failure_is_reported_once), // watches signals from now on
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

# SPDX-License-Identifier: MIT
# pipelines/slurm/*.sbatch in a real Slurm, whose nodes are network namespaces on this machine.

load helpers
load training
load hosts

setup_file() {
    file_data 200 50
}

setup() {
    begin_training strategy=ddp world_size=4
    PATH=$PATH:/usr/sbin
    for program in munged slurmctld slurmd sbatch; do
        needs "$program" deps-hosts
    done
}

teardown() {
    remove_hosts
}

# start_slurm: a controller on the first host, and a node of four processors on each.
start_slurm() {
    local host
    mkdir -m 700 slurm slurm/state
    head -c 128 /dev/urandom >slurm/munge.key
    chmod 600 slurm/munge.key
    cat >slurm/slurm.conf <<CONFIG
ClusterName=lockstep
SlurmctldHost=$host_a
SlurmUser=root
AuthInfo=socket=$WORK/slurm/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=2
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
StateSaveLocation=$WORK/slurm/state
SlurmdSpoolDir=$WORK/slurm/spool.%n
TmpFS=$WORK/slurm/tmp.%n
SlurmctldPidFile=$WORK/slurm/controller.pid
SlurmdPidFile=$WORK/slurm/%n.pid
SlurmctldLogFile=$WORK/slurm/controller.log
SlurmdLogFile=$WORK/slurm/%n.log
NodeName=$(IFS=,; echo "${hosts[*]}") CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
CONFIG
    # Nothing uses control groups, but slurmd otherwise looks for their kind, and there are none here.
    echo CgroupPlugin=cgroup/v1 >slurm/cgroup.conf
    export SLURM_CONF=$WORK/slurm/slurm.conf
    on_host "$host_a" munged --force --foreground --key-file="$WORK/slurm/munge.key" \
        --socket="$WORK/slurm/munge.socket" --pid-file="$WORK/slurm/munge.pid" \
        --log-file="$WORK/slurm/munge.log" --seed-file="$WORK/slurm/munge.seed" >slurm/munged 2>&1 3>&- &
    wait_for_service [ -S slurm/munge.socket ] || fail "munged: $(cat slurm/munged)"
    on_host "$host_a" slurmctld -D >slurm/controller 2>&1 3>&- &
    for host in "${hosts[@]}"; do
        mkdir "slurm/spool.$host" "slurm/tmp.$host"
        on_host "$host" slurmd -D -N "$host" >"slurm/$host" 2>&1 3>&- &
    done
    wait_for_service nodes_are_idle || fail "Slurm did not start: $(tail -n 5 slurm/*.log)"
}

nodes_are_idle() {
    [ "$(on_host "$host_a" sinfo --noheader --Node --format=%T | grep -cx idle)" = "${#hosts[@]}" ]
}

# submit SCRIPT OPTION...: the script of pipelines/slurm with the tiny experiment; its number in $job.
submit() {
    local script=$1
    shift
    job=$(PATH=$BIN:$PATH on_host "$host_a" sbatch --parsable --output="$WORK/log" "$@" \
        "$ROOT/pipelines/slurm/$script" "$WORK/e.yaml" "$train" "$WORK/out" -q) || fail "sbatch: $job"
}

# ends_in STATE: the job ends so.
ends_in() {
    local state tries=3000
    while ((tries--)); do
        state=$(on_host "$host_a" squeue --noheader --states=all --jobs="$job" --format=%T)
        case $state in
        COMPLETED | FAILED | TIMEOUT | CANCELLED | NODE_FAIL) break ;;
        esac
        sleep 0.1
    done
    [ "$state" = "$1" ] || fail "the job is $state instead of $1: $(cat log)" "$(on_host "$host_a" scontrol show job "$job")"
}

@test "train.sbatch saves on USR1, is requeued, and gives the same model" {
    make_hosts 1
    start_slurm
    write_experiment e.yaml strategy=ddp world_size=4 epochs=100
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    submit train.sbatch
    wait_for out/state.st.zst
    # As Slurm does before the time limit.
    on_host "$host_a" scancel --signal=USR1 "$job"
    ends_in COMPLETED
    cmp expected/model.st.zst out/model.st.zst
    # It was stopped, and resumed.
    succeeds "$BIN/manifest" get out/manifest.yaml run.execution.1.world_size
}

@test "train-nodes.sbatch: ranks on two nodes save, are requeued, and give the same model" {
    [ -e "$BIN/../lib/lockstep-mpi.so" ] || skip "lockstep-mpi.so is not built (make deps-mpi)"
    make_hosts 2
    start_slurm
    [[ $(on_host "$host_a" srun --mpi=list 2>&1) == *pmix* ]] || skip "this Slurm has no PMIx"
    write_experiment e.yaml strategy=ddp world_size=4 epochs=120
    "$BIN/train-single" -q --experiment e.yaml --train "$train" --out expected
    submit train-nodes.sbatch
    wait_for out/state.st.zst
    on_host "$host_a" scancel --signal=USR1 "$job"
    ends_in COMPLETED
    cmp expected/model.st.zst out/model.st.zst
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.hosts.{0,1}.host)" = "$host_a"$'\n'"$host_b" ]
    [ "$("$BIN/manifest" get out/manifest.yaml run.execution.1.transport)" = mpi ]
}

@test "a job that fails is not requeued" {
    make_hosts 1
    start_slurm
    train=$WORK/none
    submit train.sbatch
    ends_in FAILED
    [[ $(on_host "$host_a" scontrol show job "$job") == *ExitCode=3:0* ]]
    grep -q "cannot read dataset: '$WORK/none'" log
}

# SPDX-License-Identifier: MIT
# Simulated hosts on this machine: network namespaces with separate host names, on one switch. They
# share this machine's files. The clock of the second host is a day ahead.
# shellcheck shell=bash
# shellcheck disable=SC2154 # bats and helpers.bash set the others

# make_hosts N: creates $host_a, $host_b, …, also in ${hosts[@]}, with the addresses 10.77.0.1 to
# 10.77.0.N. Skips if that is impossible. ./agent HOST COMMAND... runs a command on a host, in the
# current folder of this shell; mpirun can use it as ssh. remove_hosts, for teardown, ends all
# processes on the hosts.
make_hosts() {
    local letter place=0
    [ "$(id -u)" -eq 0 ] || skip "only root can create network namespaces"
    needs ip deps-hosts
    hosts=()
    switch=lss$$
    ip netns add "$switch" 2>/dev/null || skip "cannot create a network namespace on this machine"
    ip -n "$switch" link add switch type bridge 2>/dev/null || skip "cannot create a network bridge on this machine"
    ip -n "$switch" link set switch up
    echo '127.0.0.1 localhost' >hosts
    for letter in a b c d; do
        [ "$place" -lt "$1" ] || break
        place=$((place + 1))
        connect_host "ls$letter$$" "10.77.0.$place"
        printf -v "host_$letter" %s "ls$letter$$"
    done
    # Every host resolves the names of all hosts.
    cat >agent <<'AGENT'
#!/bin/bash
host=$1
shift
clock=()
[[ $host != lsb* ]] || clock=(--time --monotonic 86400 --fork --kill-child)
exec ip netns exec "$host" unshare --uts --mount "${clock[@]}" bash -c \
    'hostname "$0" && mount --bind "$1/hosts" /etc/hosts && cd "$1" && exec bash -c "$2"' "$host" "${0%/*}" "$*"
AGENT
    chmod +x agent
}

# connect_host NAME ADDRESS
connect_host() {
    ip netns add "$1"
    hosts+=("$1")
    ip link add "to-$1" netns "$switch" type veth peer name eth0 netns "$1"
    ip -n "$switch" link set "to-$1" master switch up
    ip -n "$1" addr add "$2/24" dev eth0
    ip -n "$1" link set lo up
    ip -n "$1" link set eth0 up
    echo "$2 $1" >>hosts
}

# on_host HOST WORD...: runs these words, as they are, on the host.
on_host() {
    local host=$1
    shift
    "$WORK/agent" "$host" "$(printf '%q ' "$@")"
}

# cut_off HOST: disconnects it from the network. Its processes continue.
cut_off() {
    ip -n "$switch" link set "to-$1" down
}

remove_hosts() {
    local host processes
    for host in "${hosts[@]}" ${switch:+"$switch"}; do
        processes=$(ip netns pids "$host" 2>/dev/null) || true
        # shellcheck disable=SC2086 # numbers
        [ -z "$processes" ] || kill -KILL $processes 2>/dev/null || true
        ip netns delete "$host" || true
    done
}

# start_sshd: an SSH server on every host, which admits the key of this test only; $WORK/ssh/ssh is
# the client for it. Skips without OpenSSH.
start_sshd() {
    local host
    needs ssh deps-hosts
    needs ssh-keygen deps-hosts
    sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || skip "sshd is not installed (make deps-hosts)"
    mkdir ssh
    ssh-keygen -q -t ed25519 -N '' -f ssh/key
    ssh-keygen -q -t ed25519 -N '' -f ssh/host_key
    cat >ssh/sshd_config <<CONFIG
HostKey $WORK/ssh/host_key
AuthorizedKeysFile $WORK/ssh/key.pub
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
LogLevel ERROR
MaxStartups 100
CONFIG
    cat >ssh/config <<CONFIG
IdentityFile $WORK/ssh/key
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ServerAliveInterval 5
ServerAliveCountMax 4
CONFIG
    printf '#!/bin/sh\nexec ssh -F %q "$@"\n' "$WORK/ssh/config" >ssh/ssh
    chmod +x ssh/ssh
    for host in "${hosts[@]}"; do
        ./agent "$host" "mount -t tmpfs none /run && mkdir /run/sshd && exec $sshd -D -e -f ssh/sshd_config" \
            >"ssh/$host.log" 2>&1 3>&- &
    done
    for host in "${hosts[@]}"; do
        wait_for_service on_host "$host_a" ssh/ssh "$host" true || fail "$host: $(cat "ssh/$host.log")"
    done
}

# wait_for_service COMMAND...: waits until it succeeds, a minute at least; its messages are not shown.
wait_for_service() {
    local tries=600
    until "$@" 2>/dev/null; do
        ((tries--)) || return 1
        sleep 0.1
    done
}

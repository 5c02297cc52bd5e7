#!/usr/bin/env bash
# Runs a program under mpirun across a real link: two network namespaces with host names of their own, a veth pair
# between them, shaped by tc tbf; Open MPI starts across it without ssh.
#   run.sh [--gbps G] [--ranks N] [--expect CODE] -- PROGRAM [ARGUMENT...]
#     --gbps G       rate of each direction (default 1; 0: as fast as it comes)
#     --ranks N      ranks, given to the two hosts in turn (default 2)
#     --expect CODE  the job's exit code that counts as success (default 0)
# Needs root, iproute2 and Open MPI; without them it says so and exits 77 (skipped). Whatever happens, the namespaces
# and the job are gone when it ends.
set -uo pipefail

gbps=1 ranks=2 expect=0
while [ $# -gt 0 ]; do
  case $1 in
    --gbps) gbps=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --expect) expect=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "run.sh: unknown option '$1'; usage: run.sh [--gbps G] [--ranks N] [--expect CODE] -- PROGRAM..." >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || { echo "run.sh: nothing to run; give a program behind --" >&2; exit 2; }

skip() { echo "SKIPPED: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip tc unshare mpirun; do command -v "$tool" >/dev/null || skip "there is no '$tool' here"; done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Short names: a host name ends up in paths of sockets. The process id keeps runs beside each other apart.
one=lk$$a two=lk$$b
job=
cleanup() {
  trap - EXIT
  trap '' INT TERM HUP
  if [ -n "$job" ]; then kill -TERM "$job" 2>/dev/null; fi
  for space in "$one" "$two"; do
    # All that still runs in our namespaces is ours.
    for round in TERM KILL; do
      local pids
      pids=$(ip netns pids "$space" 2>/dev/null)
      [ -n "$pids" ] || break
      kill -"$round" $pids 2>/dev/null
      sleep 0.3
    done
    ip netns del "$space" 2>/dev/null
    rm -rf "/etc/netns/$space"
  done
  if [ -n "$job" ]; then wait "$job" 2>/dev/null; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

ip netns add "$one" 2>/dev/null || skip "this kernel or container allows no network namespaces"
ip netns add "$two" || exit 1
ip link add lk0 netns "$one" type veth peer name lk0 netns "$two" || skip "this kernel has no veth devices"
for side in 1 2; do
  space=$one; [ $side = 1 ] || space=$two
  ip -n "$space" addr add "10.77.0.$side/24" dev lk0 && ip -n "$space" link set lk0 up &&
    ip -n "$space" link set lo up || exit 1
  if [ "$gbps" != 0 ]; then
    # A larger burst would let small messages arrive faster than the wire allows.
    tc -n "$space" qdisc add dev lk0 root tbf rate "$(awk "BEGIN{printf \"%d\", $gbps * 1e6}")kbit" burst 16kb latency 50ms ||
      skip "this kernel has no tbf queueing"
  fi
  # 'ip netns exec' shows this file as /etc/hosts.
  mkdir -p "/etc/netns/$space"
  printf '127.0.0.1 localhost\n10.77.0.1 %s\n10.77.0.2 %s\n' "$one" "$two" >"/etc/netns/$space/hosts"
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
slots=$(((ranks + 1) / 2))
# Each "host" has a name of its own; mpirun itself runs on the first.
ip netns exec "$one" unshare -u sh -c 'hostname "$1"; shift; exec "$@"' sh "$one" \
  mpirun -n "$ranks" --host "$one:$slots,$two:$slots" --map-by node --bind-to none --oversubscribe \
  --mca plm rsh --mca plm_rsh_agent "$here/agent.sh" --mca plm_rsh_no_tree_spawn 1 \
  --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
  --mca pml ob1 --mca btl tcp,self \
  "$@" &
job=$!
wait "$job"
code=$?
job=
echo "link of $gbps Gbit/s, $ranks ranks: exit code $code"
[ "$code" = "$expect" ] || { echo "FAILED: expected exit code $expect"; exit 1; }
exit 0

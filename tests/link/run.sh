#!/usr/bin/env bash
# Runs a program under mpirun across a real link: network namespaces with host names of their own, joined by a veth
# pair (two) or by a bridge in a namespace of its own (more), shaped by tc tbf; Open MPI starts across it without ssh.
#   run.sh [--gbps G] [--hosts N] [--ranks N] [--expect CODE] -- PROGRAM [ARGUMENT...]
#     --gbps G       rate of each direction of each host's port (default 1; 0: as fast as it comes)
#     --hosts N      hosts, 2 to 8 (default 2)
#     --ranks N      ranks, given to the hosts in turn (default: one each)
#     --expect CODE  the job's exit code that counts as success (default 0); with another one this ends with 2, 3, 4, 5 or
#                    75 where the job did, else with 1
# Needs root, iproute2 and Open MPI; without them it says so and exits 77 (skipped). Whatever happens, the namespaces
# and the job are gone when it ends.
set -uo pipefail

gbps=1 hosts=2 ranks= expect=0
refuse() { echo "run.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --gbps | --hosts | --ranks | --expect) [ $# -ge 2 ] || refuse "$1 needs a value" ;;&
    --gbps) gbps=$2; shift 2 ;;
    --hosts) hosts=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --expect) expect=$2; shift 2 ;;
    --) shift; break ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) refuse "unknown option '$1'; usage: run.sh [--gbps G] [--hosts N] [--ranks N] [--expect CODE] -- PROGRAM..." ;;
  esac
done
# Before anything says "skipped": a mistyped number is no missing root.
[[ $gbps =~ ^[0-9]{1,4}(\.[0-9]{1,6})?$ ]] || refuse "--gbps takes a number such as 1 or 0.25 (0: as fast as it comes), found '$gbps'"
[[ $gbps =~ ^0+\.?0*$ ]] && gbps=0
[ "$gbps" = 0 ] || awk "BEGIN{exit !($gbps >= 0.001)}" || refuse "--gbps takes 0, or 0.001 and more, found '$gbps'"
[[ $hosts =~ ^[2-8]$ ]] || refuse "--hosts takes 2 to 8, found '$hosts'"
: "${ranks:=$hosts}"
[[ $ranks =~ ^[1-9][0-9]{0,2}$ ]] || refuse "--ranks takes a whole number from 1 to 999, found '$ranks'"
[[ $expect =~ ^[0-9]{1,3}$ ]] || refuse "--expect takes an exit code, found '$expect'"
[ $# -gt 0 ] || refuse "nothing to run; give a program behind --"

skip() { echo "SKIPPED: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
for tool in ip tc unshare mpirun; do command -v "$tool" >/dev/null || skip "there is no '$tool' here"; done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Short names: a host name ends up in paths of sockets. The process id keeps runs beside each other apart.
letters=abcdefgh switch=lk$$s
spaces=()
for ((i = 0; i < hosts; ++i)); do spaces+=("lk$$${letters:$i:1}"); done
job=
cleanup() {
  trap - EXIT
  trap '' INT TERM HUP
  if [ -n "$job" ]; then kill -TERM "$job" 2>/dev/null; fi
  for space in "${spaces[@]}" "$switch"; do
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

# Rate, burst and largest unit of a port. A larger burst than 16 KiB would let small messages arrive faster than the
# wire allows. tbf passes on what fits its burst as one; larger ones it cuts into frames and sets a timer for each,
# which at 1 Gbit/s leaves a core no time for anything else.
shape() { # NAMESPACE DEVICE
  [ "$gbps" = 0 ] && return
  local unit
  unit=$(awk "BEGIN{u = 15000 * $gbps; print int(u < 3000 ? 3000 : u > 15000 ? 15000 : u)}")
  ip -n "$1" link set "$2" gso_max_size "$unit" 2>/dev/null || ip -n "$1" link set "$2" mtu 9000
  tc -n "$1" qdisc add dev "$2" root tbf rate "$(awk "BEGIN{printf \"%d\", $gbps * 1e6}")kbit" burst $((unit + 1000)) latency 50ms ||
    skip "this kernel has no tbf queueing"
}

ip netns add "${spaces[0]}" 2>/dev/null || skip "this kernel or container allows no network namespaces"
for space in "${spaces[@]:1}"; do ip netns add "$space" || exit 1; done
if [ "$hosts" = 2 ]; then
  ip link add lk0 netns "${spaces[0]}" type veth peer name lk0 netns "${spaces[1]}" || skip "this kernel has no veth devices"
else
  ip netns add "$switch" || exit 1
  ip -n "$switch" link add br0 type bridge || skip "this kernel has no bridges"
  ip -n "$switch" link set br0 up || exit 1
  for ((i = 0; i < hosts; ++i)); do
    ip link add lk0 netns "${spaces[$i]}" type veth peer name "port$i" netns "$switch" || skip "this kernel has no veth devices"
    ip -n "$switch" link set "port$i" master br0 up || exit 1
    shape "$switch" "port$i"
  done
fi
names='127.0.0.1 localhost\n'
for ((i = 0; i < hosts; ++i)); do names+="10.77.0.$((i + 1)) ${spaces[$i]}\n"; done
for ((i = 0; i < hosts; ++i)); do
  space=${spaces[$i]}
  # bbr, where it is the default, slows down for 0.2 s every 10 s; namespaces may choose reno.
  ip netns exec "$space" sysctl -qw net.ipv4.tcp_congestion_control=reno 2>/dev/null
  ip -n "$space" addr add "10.77.0.$((i + 1))/24" dev lk0 && ip -n "$space" link set lk0 up &&
    ip -n "$space" link set lo up || exit 1
  shape "$space" lk0
  # 'ip netns exec' shows this file as /etc/hosts.
  mkdir -p "/etc/netns/$space"
  printf "$names" >"/etc/netns/$space/hosts"
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
slots=$(((ranks + hosts - 1) / hosts))
where=$(printf "%s:$slots," "${spaces[@]}")
# Each "host" has a name of its own; mpirun itself runs on the first.
ip netns exec "${spaces[0]}" unshare -u sh -c 'hostname "$1"; shift; exec "$@"' sh "${spaces[0]}" \
  mpirun -n "$ranks" --host "${where%,}" --map-by node --bind-to none --oversubscribe \
  --mca plm rsh --mca plm_rsh_agent "$here/agent.sh" --mca plm_rsh_no_tree_spawn 1 \
  --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
  --mca pml ob1 --mca btl tcp,self \
  "$@" &
job=$!
wait "$job"
code=$?
job=
echo "link of $gbps Gbit/s, $hosts hosts, $ranks ranks: exit code $code"
[ "$code" = "$expect" ] && exit 0
echo "FAILED: expected exit code $expect"
# What the program says by its exit code stays what this says.
case $code in 2 | 3 | 4 | 5 | 75) exit "$code" ;; *) exit 1 ;; esac

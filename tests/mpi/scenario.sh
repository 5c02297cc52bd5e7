#!/usr/bin/env bash
# Runs one scenario of mpi_scenarios under mpirun and checks how the job ends.
#   scenario.sh BINARY SCENARIO RANKS memory|tcp|ucx [mpi|nccl]
# Scenarios in which a rank fails have to end with a nonzero code, and by themselves.
set -uo pipefail
binary=$1 scenario=$2 ranks=$3 path=$4 transport=${5:-mpi}

command -v mpirun >/dev/null || { echo "SKIPPED: there is no mpirun here"; exit 77; }
# Open MPI wants this said twice where root runs it, as in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $path in
  memory) how=(--mca pml ob1 --mca btl vader,self) ;;
  tcp) how=(--mca pml ob1 --mca btl tcp,self) ;;
  ucx) # over whatever UCX finds here; Open MPI by itself takes it for the devices that it knows only
    ompi_info --parsable 2>/dev/null | grep -q '^mca:pml:ucx:' || { echo "SKIPPED: this Open MPI has no UCX"; exit 77; }
    how=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any) ;;
  *) echo "unknown path $path"; exit 2 ;;
esac
limit=60
began=$(date +%s%N)
timeout --kill-after=5 "$limit" mpirun -n "$ranks" --oversubscribe --bind-to none "${how[@]}" \
  "$binary" "$scenario" "$transport"
code=$?
took_ms=$(( ($(date +%s%N) - began) / 1000000 ))
echo "scenario $scenario, $transport, $ranks ranks over $path: exit code $code after $took_ms ms"
if [ "$code" = 124 ] || [ "$code" = 137 ] && [ "$took_ms" -ge $((limit * 1000)) ]; then
  echo "FAILED: the job did not end by itself"
  exit 1
fi
expect() { [ "$1" "$2" "$3" ] || { echo "FAILED: expected code $2 $3"; exit 1; }; }
case $scenario in
  killed) expect "$code" -ne 0 ;;
  # The watchdog, and a peer's error that is told to the others, end the job with the transport's code.
  stopped | throws) expect "$code" -eq 4 ;;
  leaves-early) expect "$code" -eq 3 ;;
  *) expect "$code" -eq 0 ;;
esac

#!/bin/sh
# under_mpi.sh STRESS SECONDS [SEED]: the stress test on four ranks.
command -v mpirun >/dev/null || { echo "SKIPPED: there is no mpirun here"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec mpirun -n 4 --oversubscribe --bind-to none "$1" "$2" mpi "${3:-1}"

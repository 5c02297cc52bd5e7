#!/bin/sh
# Stands in for ssh in run.sh: agent.sh HOST COMMAND... runs the command line in the network namespace that has the
# host's name, under that host name.
host=$1
shift
exec ip netns exec "$host" unshare -u sh -c 'hostname "$1"; eval "$2"' sh "$host" "$*"

#!/usr/bin/env bash
# run.sh leaves nothing behind when it is interrupted: no namespace, no process, no file.
set -uo pipefail
run=$1
before=$(ip netns list 2>/dev/null | wc -l)
for signal in INT TERM; do
  mark=$((RANDOM + 100000))
  # A background job of a script ignores SIGINT unless told otherwise.
  setsid python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
    "$run" --gbps 1 -- sleep "$mark" >"${TMPDIR:-/tmp}/lk-cleanup.$$" 2>&1 &
  pid=$!
  for _ in $(seq 100); do
    [ "$(pgrep -fc "^sleep $mark")" -ge 2 ] && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  if ! kill -0 $pid 2>/dev/null; then
    wait $pid
    code=$?
    cat "${TMPDIR:-/tmp}/lk-cleanup.$$"
    rm -f "${TMPDIR:-/tmp}/lk-cleanup.$$"
    [ $code = 77 ] && exit 77
    echo "FAILED: run.sh ended with $code before it was interrupted"
    exit 1
  fi
  [ "$(pgrep -fc "^sleep $mark")" -ge 2 ] || { echo "FAILED: the job never started"; kill -TERM $pid; exit 1; }
  kill -$signal $pid
  wait $pid
  code=$?
  rm -f "${TMPDIR:-/tmp}/lk-cleanup.$$"
  [ $code -ge 128 ] || { echo "FAILED: run.sh ended with $code after SIG$signal"; exit 1; }
  ! pgrep -f "^sleep $mark" >/dev/null || { echo "FAILED: a rank outlived SIG$signal"; exit 1; }
done
after=$(ip netns list 2>/dev/null | wc -l)
[ "$before" = "$after" ] || { echo "FAILED: $before namespaces before, $after after"; ip netns list; exit 1; }
ls -d /etc/netns/lk*a >/dev/null 2>&1 && { echo "FAILED: files are left in /etc/netns"; exit 1; }
echo "nothing is left behind"

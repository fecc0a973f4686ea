#!/usr/bin/env bash
# A producer in shell: runs a command here, outside the daemon, and shows it there as a task of kind "watch" whose output
# is read as it comes. Killing the task ends the command.
#
#   watch.sh LABEL COMMAND ARGS…
#
# The task is the person's own. With SIDETASK_SESSION it belongs to that agent session instead, whose model then is told
# of its end. Needs bash 4.4 and socat. Prints the task's id. This connection holds the task: register, append, settle.
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: watch.sh LABEL COMMAND ARGS…" >&2; exit 2; }
label=$1
shift
socket=${SIDETASK_SOCKET:-${XDG_RUNTIME_DIR:-/run/user/$UID}/sidetask/sidetask.sock}

# quote TEXT: as a JSON string; control characters that no line should have are dropped.
quote() {
  local s=$1
  s=${s//\\/\\\\} s=${s//\"/\\\"} s=${s//$'\t'/\\t} s=${s//$'\n'/\\n}
  printf '"%s"' "${s//[[:cntrl:]]/}"
}
# send ID METHOD PARAMS
send() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":{%s}}\n' "$1" "$2" "$3" >&"$to"; }

coproc daemon { exec socat - "UNIX-CONNECT:$socket"; }
exec {from}<&"${daemon[0]}" {to}>&"${daemon[1]}"

send register task/register "${SIDETASK_SESSION:+\"session\":$(quote "$SIDETASK_SESSION"),}\"kind\":\"watch\",\"label\":$(quote "$label"),\"stream\":true"
read -r answer <&"$from" || { echo "watch.sh: no daemon at $socket: sidetask status" >&2; exit 1; }
[[ $answer =~ \"id\":\"(watch-[0-9]+)\" ]] || { echo "watch.sh: $answer" >&2; exit 1; }
id=${BASH_REMATCH[1]}
echo "$id"

exec {work_fd}< <(exec "$@" 2>&1)
work=$!

# What the daemon says: answers to our calls, and its request to cancel.
while read -r line; do
  case $line in
    *'"method":"task/cancel"'*)
      kill "$work" 2> /dev/null || true
      [[ $line =~ \"id\":([^,}]+) ]] && printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "${BASH_REMATCH[1]}" >&"$to"
      ;;
    *'"error"'*) echo "watch.sh: $line" >&2 ;;
  esac
  [[ $line != *'"id":"settle"'* ]] || break
done <&"$from" &
listener=$!

while IFS= read -r line <&"$work_fd" || [[ -n $line ]]; do
  send append task/append "\"id\":\"$id\",\"text\":$(quote "$line"$'\n')"
done
status=0
wait "$work" || status=$?
outcome='"status":"completed","detail":"exit code: '$status'"'
[[ $status -ne 143 ]] || outcome='"status":"killed","detail":"signal: SIGTERM"'
send settle task/settle "\"id\":\"$id\",$outcome"
wait "$listener"

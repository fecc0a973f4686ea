# shellcheck shell=bash disable=SC2154,SC2016
# The checks of scripts/test-systemd, which has the words used here: user, ctl, prop, want, lacks, yes, await.

service=sidetask.service socket=sidetask.socket

# All of them, in this order: each leaves a service that runs. CHECKS="check_install check_stop" runs a few.
checks() {
  local check
  for check in ${CHECKS:-check_package check_install check_activation check_tasks check_reload check_restart check_editor check_failure check_binary check_stop check_rival check_drain check_configuration check_repair check_uninstall}; do
    $check
  done
}

st() { user sidetask "$@" 2>&1; }
only() { user sidetask "$@" 2> /dev/null; }
# state ID: status and detail of a task, from the list.
state() { st ls -a --json | jq -r --arg id "$1" '.tasks[] | select(.id == $id) | .status + " " + (.detail // "")'; }
pid() { prop $service MainPID; }
running() { [ "$(state "$1")" = "running " ]; }
another() { [ "$(pid)" != "$1" ] && [ "$(pid)" != 0 ] && [ "$(prop $service ActiveState)" = active ]; }
# same NAME ID: the task runs on, and its output with it.
goes_on() {
  local before
  before=$(st tail "$2" | wc -l)
  if running "$2" && await more_lines "$2" "$before"; then ok "$1"; else bad "$1: $(state "$2"), $before lines: $(st tail "$2" | tail -2)"; fi
}
more_lines() { [ "$(st tail "$1" | wc -l)" -gt "$2" ]; }
drop_in() {
  user mkdir -p "$home/.config/systemd/user/$service.d"
  printf '%s\n' "$@" | user tee "$home/.config/systemd/user/$service.d/test.conf" > /dev/null
  ctl daemon-reload
}

# The room systemd, run as a service itself.
check_package() {
  local out
  out=$(user systemd-run --user --wait --pipe --collect --quiet --unit=room.service -p Type=notify -p Delegate=yes -p StandardError=journal \
    -E SYSTEMD_TEST_MANAGER=1 "$home/src/bin/systemd.test" -test.run TestInManager -test.v 2>&1)
  want "a group for a command: clone into it, kill it" '--- PASS: TestInManager/group' "$out"
  want "a scope for a command with limits: $(grep -o 'a scope takes.*' <<< "$out")" '--- PASS: TestInManager/scope' "$out"
  want "limits: in force with controllers, refused without" '--- PASS: TestInManager/limits' "$out"
  await sh -c "journalctl TASK=bash-7 --no-pager -q | grep -q told"
  out=$(journalctl TASK=bash-7 -o json --no-pager -q)
  want "the journal has fields" '"OWNER":"o-2".*|"SCOPE":"/review"' "$out"
  want "the journal has levels" '"PRIORITY":"4"' "$out"
  want "the journal has the message, without a time" '"MESSAGE":"told the journal task=bash-7 owner=o-2 scope=/review n=1"' "$out"
}

check_install() {
  local out id
  # A daemon that a client started, with a task: the service takes both over.
  id=$(user "$home/src/bin/sidetask" run -c 'while echo tick; do sleep 0.1; done')
  want "doctor advises the service where it can be had" 'then it is there from your login on' "$(user "$home/src/bin/sidetask" doctor)"
  want "without units a command starts the daemon" '"supervisor": "autostart"' "$(user "$home/src/bin/sidetask" status --json)"
  out=$(user "$home/src/bin/sidetask" install --systemd 2>&1)
  want "install --systemd" 'sidetask.socket is enabled; the daemon runs as a service' "$out"
  want "... took over from the daemon of before" 'its tasks go on' "$out"
  goes_on "... with its task" "$id"
  out=$(st install --systemd)
  want "install again changes nothing" 'sidetask.service is up to date' "$out"
  lacks "... and restarts nothing" 'has ended|is installed' "$out"
  out=$(user systemd-analyze --user verify "$home/.config/systemd/user/$service" "$home/.config/systemd/user/$socket" 2>&1)
  want "systemd-analyze --user verify is silent" '^$' "$out"
  out=$(user systemd-analyze --user --no-pager security $service 2>&1 | tail -1)
  want "systemd-analyze --user security: ${out##*: }" 'exposure level' "$out"
  want "socket 0600, ours" "^srw------- $uid\$" "$(stat -c '%A %u' "$runtime/sidetask/sidetask.sock")"
  want "... in a folder 0700" "^drwx------ $uid\$" "$(stat -c '%A %u' "$runtime/sidetask")"
  st kill "$id" > /dev/null
  st wait "$id" > /dev/null
}

check_activation() {
  local start out
  ctl stop $service
  want "the socket stays when the service stops" '^active$' "$(prop $socket ActiveState)"
  want "... which is not running" '^inactive$' "$(prop $service ActiveState)"
  start=$(now)
  want "the first client starts it: $(only run --wait true > /dev/null && echo "$(($(now) - start)) ms")" '^active$' "$(prop $service ActiveState)"
  want "STATUS= says tasks and owners" 'tasks running, [0-9]+ owners' "$(prop $service StatusText)"
  out=$(user sidetask daemon 2>&1)
  want "never two daemons: a second one ends (status 75)" '^75$' "$?"
  want "... and says which it met" "sidetask.sock|$(pid)" "$out"
  ctl stop $service
  user sh -c 'for i in 1 2 3 4 5 6 7 8; do sidetask status --json & done; wait' > "$work/many" 2>&1
  want "eight clients at once start one" '^1$' "$(grep -o '"pid": [0-9]*,$' "$work/many" | sort -u | wc -l)"
}

check_tasks() {
  local out id
  out=$(only run -f -- env)
  lacks "a task has nothing of the service's environment" '^(NOTIFY_SOCKET|LISTEN_|WATCHDOG_|INVOCATION_ID|JOURNAL_STREAM|MANAGERPID|SYSTEMD_EXEC_PID|MEMORY_PRESSURE)' "$out"
  out=$(only run -f -c 'ls /proc/$$/fd; :' | tr '\n' ' ')
  want "... and no descriptors but its own" '^0 1 2 $' "$out"
  want "the daemon has a leaf of its own" '/sidetask.service/daemon$' "$(cat "/proc/$(pid)/cgroup")"
  out=$(only run -f -- cat /proc/self/cgroup)
  want "a command has a control group of its own" '/sidetask.service/task-' "$out"
  id=$(st run -c 'setsid sh -c "trap \"\" TERM HUP; sleep 600" & (setsid setsid sleep 600 &); exec sleep 600')
  await sh -c "[ \$(pgrep -c -u $uid -x sleep) = 3 ]"
  st kill "$id" > /dev/null
  st wait "$id" > /dev/null
  yes "kill leaves nobody, whatever its session" await sh -c "! pgrep -u $uid -x sleep"
  yes "... and no control group" await sh -c "! ls -d /sys/fs/cgroup$um/app.slice/$service/task-* 2> /dev/null"
  id=$(st run -- true)
  st wait "$id" > /dev/null
  await sh -c "journalctl _UID=$uid SYSLOG_IDENTIFIER=sidetask --no-pager -q -o cat | grep -q serving"
  out=$(journalctl "_SYSTEMD_USER_UNIT=$service" -o json --no-pager -q)
  yes "a task's end is in the journal, under its id" await sh -c "journalctl _UID=$uid TASK=$id OWNER=operator SCOPE=/ --no-pager -q -o cat | grep -q 'a task has ended.*exit code: 0'"
  want "the daemon's log is in the journal, with levels" '"PRIORITY":"6".*|"MESSAGE":"serving' "$out"
  lacks "... without times of its own" '"MESSAGE":"[^"]*(time=|\\"time\\"|[0-9]{2}:[0-9]{2}:[0-9]{2})' "$out"
}

check_reload() {
  local out before
  before=$(pid)
  user mkdir -p "$home/.config/sidetask"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[log]\nlevel = "debug"'
  yes "systemctl reload" ctl reload $service
  want "... is done when it returns, same process" "^$before\$" "$(pid)"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[log]\nlevel = "loud"'
  ctl reload $service > "$work/reload" 2>&1
  want "a refused configuration fails systemctl reload" '^[1-9]' "$?"
  want "... leaves the service as it is" "^active $before\$" "$(prop $service ActiveState) $(pid)"
  yes "... and is in STATUS=" await status_says 'config.toml:2'
  user rm "$home/.config/sidetask/config.toml"
  yes "the file taken away again" ctl reload $service
}
status_says() { grep -q -- "$1" <<< "$(prop $service StatusText)"; }

check_restart() {
  local before id short meanwhile out start
  id=$(st run -c 'i=0; while echo tick $((i += 1)); do sleep 0.1; done')
  short=$(st run -c 'sleep 1; exit 3')
  before=$(pid)
  (for _ in 1 2 3 4 5 6 7 8; do user sidetask --no-autostart status --json; sleep 0.1; done) > "$work/meanwhile" 2>&1 &
  meanwhile=$!
  user timeout 240 sidetask wait "$short" > /dev/null 2>&1 &
  local waiting=$!
  start=$(now)
  yes "systemctl restart" ctl restart $service
  out=$(($(now) - start))
  wait $meanwhile
  want "... in $out ms; all 8 connections meanwhile are answered" '^8$' "$(grep -c '"supervisor": "systemd"' "$work/meanwhile")"
  yes "... another process" another "$before"
  goes_on "... the task goes on" "$id"
  wait $waiting
  want "... a client that waits over it has the command's own status" '^3$' "$?"
  want "... no line is lost or twice" '^ok$' "$(st tail "$id" | awk '{ if ($2 != NR) bad = 1 } END { print bad ? "bad" : "ok" }')"
  lacks "... nothing is said of left-over processes as of a failure" 'status=219|Failed to attach' "$(journalctl --user-unit=$service --no-pager -q -o cat)"
  st kill "$id" > /dev/null
}

# An editor's proxy goes on over a restart and a crash: the agent is woken, once.
check_editor() {
  local how
  for how in restart crash; do
    : > "$work/editor"
    # Its command ends after its turn and after what happens here, however long those take.
    user rm -f "$home/go"
    user "$home/src/bin/editor" -prompt "run \`until [ -e $home/go ]; do sleep 0.1; done; echo built ok\`" -- sidetask acp -- "$home/src/bin/agent" > "$work/editor" 2>&1 &
    local editor=$!
    await grep -q 'end of the turn' "$work/editor"
    if [ $how = restart ]; then ctl restart $service; else kill -KILL "$(pid)"; fi
    user touch "$home/go"
    wait $editor
    want "an editor over a $how: its agent is woken, once" '^1$' "$(grep -c 'the agent is woken' "$work/editor")"
    want "... with the end of its command" 'built ok' "$(cat "$work/editor")"
  done
  await another 0
}

check_failure() {
  local before id fed
  id=$(st run -c 'while echo tick; do sleep 0.1; done')
  before=$(pid)
  kill -KILL "$before"
  yes "a crash: another process comes" await another "$before"
  goes_on "... the task goes on" "$id"
  drop_in '[Service]' WatchdogSec=20s # a daemon that is just not scheduled for a while does not hang
  ctl restart $service
  before=$(pid) fed=$(prop $service WatchdogTimestampMonotonic)
  yes "the watchdog is fed" await fed_since "$fed"
  want "... by the same process" "^$before active\$" "$(pid) $(prop $service ActiveState)"
  kill -STOP "$before"
  yes "a hang: the watchdog ends it, another comes" await another "$before"
  goes_on "... the task goes on" "$id"
  user rm -r "$home/.config/systemd/user/$service.d"
  ctl daemon-reload
  ctl restart $service
  st kill "$id" > /dev/null
}

fed_since() { [ "$(prop $service WatchdogTimestampMonotonic)" != "$1" ]; }

check_binary() {
  local before id out
  id=$(st run -c 'while echo tick; do sleep 0.1; done')
  before=$(pid)
  out=$(user "$home/src/new/sidetask" install --systemd 2>&1)
  want "a new binary is installed over the running one" 'bin/sidetask is installed' "$out"
  want "... it is the daemon's now" '"daemon": "v99.0.0"' "$(st status --json)"
  goes_on "... the task goes on" "$id"
  before=$(pid)
  yes "daemon restart" st daemon restart
  want "... keeps the process" "^$before\$" "$(pid)"
  want "... and the service" '^active$' "$(prop $service ActiveState)"
  goes_on "... and the task" "$id"
  want "... and the control groups" '/sidetask.service/task-' "$(only run -f -- cat /proc/self/cgroup)"
  want "doctor finds nothing wrong" '^0$' "$(st doctor > "$work/doctor"; echo $?)"
  lacks "... at all" '^error' "$(cat "$work/doctor")"
  st kill "$id" > /dev/null
}

check_stop() {
  local id short
  id=$(st run -c 'while echo tick; do sleep 0.1; done')
  user rm -f "$home/go"
  short=$(st run -c "until [ -e $home/go ]; do sleep 0.1; done; exit 7")
  yes "systemctl stop" ctl stop $service
  user touch "$home/go"
  await sh -c "! pgrep -u $uid -f 'until .*/go'"
  st wait "$short" > /dev/null
  want "what ended while no daemon ran has its own status" 'exit code: 7' "$(state "$short")"
  goes_on "onStop=auto: what runs goes on" "$id"
  user mkdir -p "$home/.config/sidetask"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[daemon]\nonStop = "cancel"'
  yes "onStop=cancel by reload" ctl reload $service
  yes "... systemctl stop" ctl stop $service
  yes "... ends what runs" await sh -c "! pgrep -u $uid -f 'while echo tick'"
  want "... as killed" '^killed' "$(state "$id")"
  user rm "$home/.config/sidetask/config.toml"
  ctl restart $service
}

# Where the units were stopped a client starts a daemon of its own. Started again they take its place, whichever is
# started and whoever asks first, and its tasks go on.
check_rival() {
  local id out rival unit
  id=$(only run -c 'while echo tick; do sleep 0.1; done')
  for unit in $service $socket $socket $service $socket; do
    ctl reset-failed $socket $service # the count of starts, which is limited
    ctl stop $socket $service
    rival=$(st status --json | jq .pid)
    want "the units stopped: a client starts a daemon" '"supervisor": "autostart"' "$(st status --json)"
    yes "... systemctl start $unit" ctl start $unit
    # At once: while the daemon of before may still be about to end.
    want "... a client at that moment is served" "^[0-9]" "$(st ls --json | jq '.tasks | length')"
    yes "... the service has taken over" await serves
    want "... by itself, of another process" "^active active\$" "$(prop $socket ActiveState) $(prop $service ActiveState)$([ "$(pid)" = "$rival" ] && echo same)"
    goes_on "... the task goes on" "$id"
  done
  out=$(st doctor)
  lacks "... doctor finds nothing wrong" '^error' "$out"
  ctl reset-failed $service # and the count of starts that is limited
  # One that hangs does not notice, and so cannot make way: what to do is said, and helps.
  ctl reset-failed $socket $service
  ctl stop $socket $service
  rival=$(st status --json | jq .pid)
  kill -STOP "$rival"
  ctl start $service > /dev/null 2>&1
  want "a daemon of before that hangs: a client is told what to do" "end it with .kill -9 $rival. .*its tasks go on" "$(st ls)"
  want "... and so is the journal" "kill -9 $rival" "$(journalctl _UID=$uid _COMM=sidetask --no-pager -q -o cat | tail -5)"
  want "... doctor says it, too" "kill -9 $rival" "$(st doctor)"
  kill -KILL "$rival"
  want "... done so, the service serves" '"supervisor": "systemd"' "$(st status --json)"
  goes_on "... the task goes on" "$id"
  st kill "$id" > /dev/null
}
serves() { [ "$(st status --json | jq -r .supervisor)" = systemd ]; }

# Tasks have their grace at a stop, also one longer than the unit's time.
check_drain() {
  local id start
  user mkdir -p "$home/.config/sidetask"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[daemon]\nonStop = "cancel"\n[commands]\nstopGraceMs = 14000'
  drop_in '[Service]' TimeoutStopSec=10s WatchdogSec=20s
  ctl restart $service
  id=$(st run -c 'trap "" TERM; while echo tick; do sleep 0.1; done')
  await more_lines "$id" 1
  start=$(now)
  ctl stop $service
  start=$(($(now) - start))
  want "a stop that waits for tasks asks for more time" '^ok success$' "$([ $start -ge 13500 ] && echo ok || echo "$start ms") $(prop $service Result)"
  want "... and ends them" '^killed' "$(state "$id")"
  user rm -r "$home/.config/systemd/user/$service.d" "$home/.config/sidetask/config.toml"
  ctl daemon-reload
  ctl restart $service
}

check_configuration() {
  local before out
  user mkdir -p "$home/.config/sidetask"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[commands]\npidsMax = 100'
  ctl reload $service
  if grep -qw pids "/sys/fs/cgroup$um/app.slice/cgroup.controllers"; then
    check_limits
  else
    want "pidsMax without its controller refuses a start" 'pidsMax \(controller pids\) cannot be enforced here' "$(st run -- true)"
    printf '%6s      NOTE  %s\n' '' "limits themselves are untested here: version 1 has the controllers (scripts/test-systemd-vm has them)"
  fi
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< 'nonsense = 1'
  before=$(pid)
  want "a broken configuration: install --systemd takes nothing from the daemon" 'config.toml:1:1' "$(st install --systemd)"
  want "... which goes on" "^$before\$" "$(pid)"
  ctl stop $service
  out=$(user sidetask run -- true 2>&1)
  want "a broken configuration at the start: the client says so (status 78)" '^78$' "$?"
  want "... with the place" 'config.toml:1:1' "$out"
  out=$(st doctor)
  want "... doctor says that none can start" 'error    daemon   none runs, and none can start until the configuration is mended' "$out"
  lacks "... and advises nothing that cannot help" 'daemon restart' "$out"
  want "... and the service is not started over and over" '^[0-9]$|^10$' "$(prop $service NRestarts)"
  user rm "$home/.config/sidetask/config.toml"
  want "corrected, the next client starts it" '^active$' "$(st run --wait true; prop $service ActiveState)"
}

# Limits where the controllers are: scripts/test-systemd-vm.
check_limits() {
  local id out
  want "pidsMax: a command in a scope of its own" '/sidetask-[0-9]+-[0-9]+\.scope$' "$(only run -f -- grep 0:: /proc/self/cgroup)"
  out=$(st run -f -c 'for i in $(seq 200); do sleep 5 & done; wait')
  want "... which it cannot outgrow" 'Resource temporarily unavailable' "$out"
  user tee "$home/.config/sidetask/config.toml" > /dev/null <<< $'[commands]\nmemoryMax = "64M"\ncpuMax = "20%"'
  yes "memoryMax and cpuMax by reload" ctl reload $service
  id=$(only run -c 'x=a; while :; do x=$x$x; done')
  st wait "$id" > /dev/null
  want "... a command out of memory is said to be" '^failed out of memory' "$(state "$id")"
  want "... with its peak" '^6[0-9]{7}$' "$(st ls -a --json | jq -r --arg id "$id" '.tasks[] | select(.id == $id) | .rssMax')"
  id=$(only run -c 'x=; for i in 1 2 3; do bash -c "y=a; while :; do y=\$y\$y; done"; done; echo survived')
  st wait "$id" > /dev/null
  want "... one that gets over it is not" '^completed exit code: 0' "$(state "$id")"
  id=$(only run --timeout 3s -c 'while :; do :; done')
  st wait "$id" > /dev/null
  want "... a busy loop gets a fifth of a processor" '^([1-9]|[0-9]{2}|[1-9][0-9]{2}|1[0-4][0-9]{2})$' "$(st ls -a --json | jq -r --arg id "$id" '.tasks[] | select(.id == $id) | .cpuMs')"
  id=$(only run -c 'while echo tick; do sleep 0.1; done')
  ctl restart $service
  goes_on "... a command in a scope goes on over a restart" "$id"
  st kill "$id" > /dev/null
  st wait "$id" > /dev/null
  yes "... and its scope is gone with it" await sh -c "! ls -d /sys/fs/cgroup$um/app.slice/sidetask-*.scope 2> /dev/null"
}

# A service that cannot run at all is given up, and so is its socket; clients help themselves. install repairs it.
check_repair() {
  local id out
  ctl stop $service
  drop_in '[Service]' ExecStart= ExecStart=/bin/false
  st ls > /dev/null
  yes "a service that cannot run is given up" await failed
  out=$(st doctor)
  want "... doctor says so, and what to do" 'sidetask.socket has failed .*service-start-limit-hit|sidetask.service has failed' "$out"
  want "... with the command for it" "reset-failed 'sidetask\.\*'" "$out"
  id=$(only run -c 'while echo tick; do sleep 0.1; done')
  want "... a client starts a daemon instead" '"supervisor": "autostart"' "$(st status --json)"
  want "... doctor says that, too" 'is not the service' "$(st doctor)"
  user rm -r "$home/.config/systemd/user/$service.d"
  want "install --systemd repairs it" 'the daemon runs as a service' "$(st install --systemd)"
  goes_on "... with the task" "$id"
  st kill "$id" > /dev/null
}
failed() { [ "$(prop $socket ActiveState)" = failed ]; }

check_uninstall() {
  local out id
  id=$(st run -- sleep 600)
  out=$(user sidetask uninstall 2>&1)
  want "uninstall refuses while tasks run" 'sidetask uninstall --kill' "$out"
  yes "... and changes nothing" running "$id"
  out=$(user sidetask uninstall --kill 2>&1)
  want "uninstall --kill says where the data stay" 'stay in ~/.local/state/sidetask' "$out"
  want "... leaves nothing else" '^$' "$(find "$home/.local/bin" "$home/.config/systemd" -type f -o -type l)"
  yes "... nor a process" await sh -c "! pgrep -u $uid -f 'sidetask|sleep 600'"
  want "... nor a unit" '^$' "$(ctl list-units --all --no-legend 'sidetask*')"
}

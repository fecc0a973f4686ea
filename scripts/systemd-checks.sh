# shellcheck shell=bash disable=SC2154
# The checks of scripts/test-systemd, which has the words used here: user, ctl, prop, want, lacks, yes, await.

checks() {
  check_package
}

# The room systemd, run as a service itself.
check_package() {
  local out
  out=$(user systemd-run --user --wait --pipe --collect --quiet --unit=room.service -p Type=notify -p Delegate=yes -p StandardError=journal \
    -E SYSTEMD_TEST_MANAGER=1 "$home/src/bin/systemd.test" -test.run TestInManager -test.v 2>&1)
  want "a group for a command: clone into it, kill it" '--- PASS: TestInManager/group' "$out"
  want "a scope for a command with limits: $(grep -o 'a scope takes.*' <<< "$out")" '--- PASS: TestInManager/scope' "$out"
  want "limits without controllers are refused" '--- PASS: TestInManager/limits' "$out"
  await 10 sh -c "journalctl TASK=bash-7 --no-pager -q | grep -q told"
  out=$(journalctl TASK=bash-7 -o json --no-pager -q)
  want "the journal has fields" '"OWNER":"o-2".*|"SCOPE":"/review"' "$out"
  want "the journal has levels" '"PRIORITY":"4"' "$out"
  want "the journal has the message, without a time" '"MESSAGE":"told the journal task=bash-7 owner=o-2 scope=/review n=1"' "$out"
}

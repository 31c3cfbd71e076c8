#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every ```sh block of README.md in order, as CI does; stops at the first command that fails. A window is opened on a
# virtual display and closed after ten seconds. `./run test` itself is left out: CI has already run it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md | grep -v '^\./run test$' |
while IFS= read -r command; do
  printf '\n$ %s\n' "$command"
  if [[ $command == build/bin/plumb-gui* && $command != *--render* ]]; then
    status=0
    # shellcheck disable=SC2086
    timeout 10 xvfb-run -a $command </dev/null || status=$?
    [[ $status -eq 124 ]] || { echo "the window did not stay open (exit code $status)"; exit 1; }
  else
    bash -c "$command" </dev/null
  fi
done
printf '\nevery command of README.md works\n'

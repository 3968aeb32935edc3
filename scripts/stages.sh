# For .ci/run and scripts/nightly: source it, call stage for each stage and report_stages at the end.

mkdir -p build
failures=build/stage-failures.log
: >"$failures"
timings=()
total_passed=0
total_failed=0

# stage NAME COMMAND...: runs it; a failure does not end the script.
stage() {
  local name=$1 status=0 begin=$SECONDS counts passed=0 failed=0 log=build/stage.log
  shift
  printf '\n=== %s: %s\n' "$name" "$*"
  "$@" 2>&1 | tee "$log" || status=$?
  counts=$(tail -n 1 "$log" | grep -Eo '[0-9]+ passed, [0-9]+ failed' || true)
  if [[ -n $counts ]]; then
    read -r passed _ failed _ <<<"$counts"
  elif ((status == 0)); then
    passed=1
  fi
  if ((status != 0 && failed == 0)); then failed=1; fi
  if ((status != 0)); then
    { printf '\n=== %s failed, its last lines\n' "$name" && tail -n 60 "$log"; } >>"$failures"
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
  timings+=("$(printf '%5d s  exit %-3d %s' $((SECONDS - begin)) "$status" "$name")")
}

# Fails if a stage has failed.
report_stages() {
  cat "$failures"
  printf '\n=== timing\n'
  printf '%s\n' "${timings[@]}"
  printf '%5d s  in all\n\n' "$SECONDS"
  echo "$total_passed passed, $total_failed failed"
  ((total_failed == 0))
}

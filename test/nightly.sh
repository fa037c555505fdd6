#!/usr/bin/env bash
# nightly.sh runs what CI runs and what CI leaves out, one after the other, and writes the page docs/nightly.md: which commit, what ran, how long it
# took, and with which result. Searches for live rates (make bench-live), of an hour and more, are not in it. It goes on after a failure, and ends
# with 1 if there was one. What the page says of the same sources is not run again, so a run that was stopped goes on, also in another checkout that
# has its page. Logs are in .nightly.
#   nightly.sh --beyond-ci   names what CI leaves out
#   nightly.sh --evidence    tells how far the product has moved since the commits that the pages of figures name; exit code 1: it has
set -uo pipefail
cd "$(dirname "$0")/.."

# What runs: in CI or beyond it, its name, its command. beside: while the next one runs, at the lowest priority, since it waits for nothing.
steps='ci|what CI runs: all checks and tests|bash .ci/run
beside|10,000 seeds and the small worlds|nice -n 19 go test -count=1 -v -timeout 80m ./consumer/rollup -run ^(TestSimulation|TestSmallWorlds)$ -sim.seeds 10000
beyond|all faults|go test -count=1 -v -timeout 80m ./test/faults -faults.all -faults.table ../../.nightly/faults.md
beyond|memory of consumers, load by load|go test -count=1 -v -timeout 120m ./test/e2e -run ^TestFootprint$ -footprint.all
beyond|a snapshot without a pause is torn|env FOOTFALL_TEST_CONTROLS=1 go test -count=1 -v ./test/e2e -run ^TestASnapshotWithoutAPauseIsTorn$
beyond|three nodes of Cassandra, one lost|env FOOTFALL_TEST_FAULTS=1 go test -count=1 -v ./deployments/stack/stacktest -run ^TestThreeNodes
beyond|lines broken on purpose|make breaks
beyond|fuzzing, half a minute each|bash test/nightly.sh --fuzz 30s
beyond|accessibility of all pages|bash test/nightly.sh --axe
beyond|the producer under load|make load
beyond|the pages under load|make look
beyond|speed beside others|make bench'

# What figures are about. A change of tests, of tools or of prose makes none of them old.
product=(consumer producer internal models migrations configs go.mod go.sum ':!*_test.go' ':!*/memstore/*' ':!*/storetest/*' ':!*/cqltest/*' ':!*/dialtest/*'
  ':!*/modelstest/*' ':!*/linkstest/*')

sources() { # the commit, with -dirty if more than pages differ from it, which these steps write
  echo "$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- ':!*.md' || echo -dirty)"
}

page=docs/nightly.md

holds() { # whether the page has a step's result, without a failure, of these sources
  local row commit
  row=$(grep -F "| $1 |" $page 2> /dev/null) && [[ $row != *'**failed**'* ]] || return 1
  commit=$(cut -d '|' -f 3 <<< "$row" | tr -d ' ')
  git merge-base --is-ancestor "$commit" HEAD 2> /dev/null && git diff --quiet "$commit" -- ':!*.md'
}

evidence() { # a table; 1: some page is older than the product
  local old=0 page commit commits moved
  printf '| page | measured | files of the product changed since |\n| --- | --- | ---: |\n'
  for page in docs/faults.md docs/benchmarks.md docs/benchmarks-periodic.md docs/benchmarks-live.md docs/capacity.md; do
    commits=$(grep -oE 'of commit [0-9a-f]{7,40}(-dirty)?' "$page" | cut -d' ' -f3 | sort -u)
    for commit in ${commits:-none}; do
      moved='it names no commit of this history'
      if git merge-base --is-ancestor "$commit" HEAD 2> /dev/null; then moved=$(git diff --name-only "$commit" -- "${product[@]}" | wc -l); fi
      [ "$moved" = 0 ] || old=1
      echo "| $page | $commit | $moved |"
    done
  done
  return $old
}

fuzz() { # every fuzz test for so long
  local failed=0 file name
  for file in $(git grep -l '^func Fuzz' -- '*_test.go'); do
    for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
      go test "./$(dirname "$file")" -run "^$name\$" -fuzz "^$name\$" -fuzztime "$1" || failed=1
    done
  done
  return $failed
}

axe() { # axe-core comes from npm
  mkdir -p .tools/axe && (cd .tools/axe && npm pack --silent axe-core@4.14.1 > /dev/null && tar -xzf axe-core-*.tgz package/axe.min.js) || return 1
  go test -count=1 -v ./reader/page -run '^TestInABrowser' -page.axe "$PWD/.tools/axe/package/axe.min.js"
}

run() { # one step, and its row
  local name=$1 log=.nightly/$2.log begun=$SECONDS code=0 result=ok skipped command
  shift 2
  echo "$(date -u +%H:%M) $name: $log"
  command=${*//|/\\|}
  "$@" > "$log" 2>&1 9>&- || code=$?
  skipped=$(sed -n 's/^ *--- SKIP: \([^ ]*\).*/\1/p' "$log" | sort -u | paste -sd ' ')
  grep -q '^NOT CHECKED' "$log" && result="ok, but $(grep -m 1 '^NOT CHECKED' "$log")"
  grep -q '| \*\*no\*\* |' "$log" && result="$result; goals that are not reached: $(grep -c '| \*\*no\*\* |' "$log")"
  if [ $code -ne 0 ]; then
    result="**failed** ($(sed -n 's/^ *--- FAIL: \([^ ]*\).*/\1/p' "$log" | sort -u | paste -sd ' '))"
  fi
  flock .nightly/page.lock bash test/nightly.sh --row "$name" \
    "| $name | $commit | $(date -u +'%-d %B %Y, %H:%M') | \`$command\` | $(((SECONDS - begun + 30) / 60)) min | $result${skipped:+; skipped: $skipped} |"
}

write() { # the page, with a new row of a step, and how far the product has moved
  local rows name
  rows=$(grep -s '^| .* min |' $page | grep -vF "| $1 |"; echo "$2")
  {
    printf '# The last nightly run\n\nWritten by `make nightly`, on %s processors (%s), %s. A row is of the commit that it names.\n\n' \
      "$(nproc)" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(go version | cut -d' ' -f3)"
    printf '| what | commit | ended, UTC | command | took | result |\n| --- | --- | --- | --- | ---: | --- |\n'
    while IFS='|' read -r _ name _; do grep -F "| $name |" <<< "$rows"; done <<< "$steps"
    printf '\nHow far the product has moved since its figures were measured:\n\n'
    evidence
  } > .nightly/page.md
  mv .nightly/page.md $page
}

case ${1:-} in
--beyond-ci)
  sed -n 's/^be[a-z]*|\([^|]*\).*/\1/p' <<< "$steps" | paste -sd ';' | sed 's/;/; /g'
  exit
  ;;
--evidence) evidence; exit ;;
--fuzz) fuzz "$2"; exit ;;
--axe) axe; exit ;;
--row) write "$2" "$3"; exit ;;
'') ;;
*) echo "usage: nightly.sh [--beyond-ci | --evidence]" >&2; exit 2 ;;
esac

commit=$(sources)
mkdir -p .nightly
exec 9> .nightly/lock
flock --nonblock 9 || { echo 'nightly.sh: another one runs here' >&2; exit 1; }
export CI=true # no test may skip because a server or a tool is missing
go run ./deployments/stackctl status > /dev/null 2>&1 || down='make down' # leave servers that were up before
pid=
trap '[ -z "$pid" ] || kill -- -$pid 2> /dev/null; ${down:-true}' EXIT
trap 'exit 130' INT TERM # not the next step
make up 9>&- || exit 1 # servers that stay would keep the lock
n=0 beside=
while IFS='|' read -r kind name command <&3; do
  n=$((n + 1))
  if holds "$name"; then
    [ -z "$beside" ] || run "${beside[@]}"
    beside=
    continue
  fi
  [[ $commit = *-dirty ]] || git diff --quiet "$commit" -- ':!*.md' || { echo 'nightly.sh: the sources have changed' >&2; exit 1; }
  read -r -a words <<< "$command"
  if [ "$kind" = beside ]; then
    beside=("$name" $n "${words[@]}")
    continue
  fi
  if [ -n "$beside" ]; then
    set -m # a group of its own, to be stopped with all that it started
    run "${beside[@]}" &
    pid=$!
    set +m
  fi
  run "$name" $n "${words[@]}"
  beside=
  wait
  pid=
done 3<<< "$steps"
write '' ''
echo "$page says how it went"
! grep -qF '**failed**' $page

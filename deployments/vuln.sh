#!/usr/bin/env bash
# Asks the Go vulnerability database about the code and modules that we call. Its first argument is govulncheck.
# Exit codes: 0 nothing is known, or nobody could be asked (it says NOT CHECKED); 1 something is known, or the check itself failed.
# GOVULNDB is another database, such as file:///srv/vulndb where the public one cannot be reached.
set -uo pipefail
tool=$1
shift
if [ ! -x "$tool" ]; then
  echo "NOT CHECKED for known vulnerabilities: there is no $tool, and it could not be built (see above)" >&2
  exit 0
fi
printed=$("$tool" -db "${GOVULNDB:-https://vuln.go.dev}" "${@:-./...}" 2>&1)
code=$?
case $code in
0) echo "$printed" ;;
3) # its own code for what it found
  echo "$printed" >&2
  exit 1
  ;;
*)
  echo "$printed" >&2
  case $printed in
  *"fetching vulnerabilities"*)
    echo "NOT CHECKED for known vulnerabilities: the database cannot be reached; set GOVULNDB to a copy of it" >&2
    exit 0
    ;;
  esac
  exit 1
  ;;
esac

#!/bin/sh
# Opens a report in a headless Chromium and navigates from the verdict to the failing turn, with the mouse and with the
# keyboard. Without an argument it uses the sample report of the tests, and one with hostile texts.
#
#   crates/report/tests/browser/run.sh [REPORT.html] [FOLDER FOR PICTURES]
set -eu
if [ $# -ge 1 ]; then
    GABFEST_REPORT_HTML=$(realpath "$1")
    export GABFEST_REPORT_HTML
fi
if [ $# -ge 2 ]; then
    mkdir -p "$2"
    GABFEST_SCREENSHOTS=$(realpath "$2")
    export GABFEST_SCREENSHOTS
fi
export GABFEST_BROWSER_REQUIRED=1
cd "$(dirname "$0")/../../../.."
exec cargo test -p gabfest-report --test it browser:: -- --nocapture --test-threads=1

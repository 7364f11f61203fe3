#!/usr/bin/env bash
# Checks everything in deploy/: validates each file, runs the image's content, sends telemetry to a third-party collector,
# starts compose.yaml and kubernetes/ as processes, and runs the commands of the workflow. A missing checker is an error if CI
# is set, and otherwise a warning.
set -euo pipefail
cd "$(dirname "$0")/.."
missing() {
  echo "NOT CHECKED: $1" >&2
  [ -z "${CI:-}" ] || exit 1
}
# Names a part, and the seconds that the part before it took.
began=$SECONDS
say() {
  [ -z "${part:-}" ] || echo "-- deploy: $((SECONDS - began)) s"
  part=$* began=$SECONDS
  echo "-- deploy: $*"
}
place=$(mktemp -d)
# The image's user must be able to read its content.
chmod 755 "$place"
trap 'rm -rf "$place"' EXIT

# One virtual environment for all Python checkers; a changed list makes a new one.
list=deploy/check/requirements.txt
tools=${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/checkers-$(sha256sum <"$list" | cut -c1-12)
if [ ! -e "$tools/complete" ]; then
  rm -rf "$tools"
  if python3 -m venv "$tools" >/dev/null 2>&1 &&
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$list" >/dev/null 2>&1; then
    touch "$tools/complete"
  fi
fi
if [ ! -e "$tools/complete" ]; then
  missing "the checkers of $list could not be installed"
  exit 0
fi
PATH=$tools/bin:$PATH

say "Dockerfile, compose.yaml, the GitHub workflows, the manifests"
hadolint deploy/Dockerfile
check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml
compose-lint deploy/compose.yaml >"$place/lint" || { cat "$place/lint" >&2; exit 1; }
check-jsonschema --quiet --builtin-schema vendor.github-workflows deploy/github-actions.yml .github/workflows/*.yml
zizmor --offline --no-progress --quiet --persona auditor deploy/github-actions.yml .github/workflows >"$place/zizmor" 2>&1 || { cat "$place/zizmor" >&2; exit 1; }

say "the overlays of kubernetes/"
for overlay in deploy/kubernetes/overlays/*; do
  rendered="$place/${overlay##*/}.yaml"
  kubectl kustomize "$overlay" >"$rendered"
  # It knows no objects of KEDA and of the Prometheus operator, which are checked below.
  kubernetes-validate --strict --quiet "$rendered" >"$place/validated" 2>&1 || { cat "$place/validated" >&2; exit 1; }
done
# Every connection is encrypted there.
if grep -nF http:// "$place"/{one-tls,fleet,fleet-with-database}.yaml | grep -vF -e shop-agent -e prometheus-operated >&2; then exit 1; fi
kubernetes-validate --strict --quiet deploy/kubernetes/read-reports.yaml
python -B deploy/check/custom_resources.py "$place"/fleet*.yaml
python -B deploy/check/prometheus_rule.py

say "the configurations of Prometheus and Alertmanager, the units of systemd"
if command -v promtool >/dev/null; then
  # The configuration has the file names of the container.
  sed "s#/etc/prometheus/rules#$PWD/grafana/rules#" deploy/compose/prometheus.yaml >"$place/prometheus.yaml"
  promtool check config "$place/prometheus.yaml" >"$place/promtool" || { cat "$place/promtool" >&2; exit 1; }
else
  missing "promtool is not installed (Debian: prometheus)"
fi
if command -v amtool >/dev/null; then
  amtool check-config deploy/compose/alertmanager.yaml >"$place/amtool" 2>&1 || { cat "$place/amtool" >&2; exit 1; }
  # Every alert has one of these severities.
  for severity in $(sed -n 's/.*severity: \([a-z]*\).*/\1/p' grafana/rules/alerts.yml | sort -u); do
    receiver=$(amtool config routes test --config.file=deploy/compose/alertmanager.yaml alertname=GabfestNoWorkers "severity=$severity" 2>/dev/null)
    echo "alerts with severity $severity go to $receiver"
    [ "$receiver" = "people-$severity" ]
  done
else
  missing "amtool is not installed (Debian: prometheus-alertmanager)"
fi
if command -v systemd-analyze >/dev/null; then
  for unit in deploy/*.service; do
    # The unit's path of the program does not exist here.
    sed "s#/usr/local/bin/gabfest#$PWD/target/debug/gabfest#" "$unit" >"$place/$(basename "$unit")"
  done
  # It exits with 0 even if it ignores unknown keys, and prints a message instead.
  systemd-analyze verify "$place"/*.service >"$place/verified" 2>&1 || { cat "$place/verified" >&2; exit 1; }
  if grep -F gabfest- "$place/verified" >&2; then exit 1; fi
  for unit in deploy/*.service; do
    # 40 is an exposure of 4.0 of 10.
    systemd-analyze security --offline=true --threshold=40 "$unit" >"$place/exposure" 2>&1 || { cat "$place/exposure" >&2; exit 1; }
    grep -o 'Overall exposure.*: [0-9.]* [A-Z]*' "$place/exposure"
  done
else
  missing "systemd-analyze is not installed (Debian: systemd)"
fi

say "a static program, as in the image"
cargo rustc --quiet --package gabfest --bin gabfest -- -C target-feature=+crt-static
cp target/debug/gabfest "$place/gabfest"

if ! command -v bwrap >/dev/null; then
  missing "bwrap is not installed (Debian: bubblewrap)"
  exit 0
fi
# A separate network: no port conflicts, and no access to the outside.
alone=(unshare --net)
[ "$(id -u)" = 0 ] || alone=(unshare --map-root-user --net)
if ! "${alone[@]}" true 2>/dev/null; then
  missing "this machine gives no network of its own to a process (unshare --net)"
  exit 0
fi
checked() { # script
  mkdir "$place/$1"
  "${alone[@]}" "$tools/bin/python" -B "deploy/check/$1.py" "$place/gabfest" "$place/$1"
}
say "names, rights and policies of kubernetes/"
mkdir "$place/manifests"
python -B deploy/check/manifests.py "$place/gabfest" "$place/manifests"
if command -v promtool >/dev/null; then python -B deploy/check/keda.py "$place"; else missing "promtool is not installed"; fi
say "a run in the image's content"
checked run_in_image
say "spans, figures and log records at a collector"
checked otlp
say "the commands of the GitHub workflow"
checked github_actions
say "the commands of docs/operations.md: with systemd, as processes"
checked units
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  missing "PostgreSQL is not installed (Debian: postgresql)"
  exit 0
fi
say "compose.yaml as processes"
if command -v prometheus >/dev/null && command -v prometheus-alertmanager >/dev/null; then
  checked compose
else
  missing "prometheus or prometheus-alertmanager is not installed"
fi
say "the commands of docs/operations.md: from an empty database to a nightly report"
checked operations
say "the commands of docs/operations.md: on Kubernetes, as processes"
checked kubernetes
echo "-- deploy: $((SECONDS - began)) s"

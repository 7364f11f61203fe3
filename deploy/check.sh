#!/usr/bin/env bash
# Everything in deploy/ is checked: each file by its validator, the image's content by a run in it, telemetry by a collector of
# others, compose.yaml and kubernetes/ by starting what they say as processes, the workflow by following its commands. A checker
# that is missing is an error where CI is set, and a loud line elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
missing() {
  echo "NOT CHECKED: $1" >&2
  [ -z "${CI:-}" ] || exit 1
}
say() { echo "-- deploy: $*"; }
place=$(mktemp -d)
# The image's user has to reach what is in it.
chmod 755 "$place"
trap 'rm -rf "$place"' EXIT

# One environment for all checkers of the Python index; a changed list makes a new one.
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

say "Dockerfile, compose.yaml, the GitHub workflow, the manifests"
hadolint deploy/Dockerfile
check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml
compose-lint deploy/compose.yaml >"$place/lint" || { cat "$place/lint" >&2; exit 1; }
check-jsonschema --quiet --builtin-schema vendor.github-workflows deploy/github-actions.yml
kubectl kustomize deploy/kubernetes >"$place/manifests.yaml"
kubernetes-validate --strict --quiet "$place/manifests.yaml"

say "Prometheus' configuration and rules, the units of systemd"
if command -v promtool >/dev/null; then
  # The names of files in the configuration are those in the container.
  sed "s#/etc/prometheus/rules#$PWD/grafana/rules#" deploy/compose/prometheus.yaml >"$place/prometheus.yaml"
  promtool check config "$place/prometheus.yaml" >"$place/promtool" || { cat "$place/promtool" >&2; exit 1; }
else
  missing "promtool is not installed (Debian: prometheus)"
fi
if command -v systemd-analyze >/dev/null; then
  for unit in deploy/*.service; do
    # The program is looked for where the unit says; here it is elsewhere.
    sed "s#/usr/local/bin/gabfest#$PWD/target/debug/gabfest#" "$unit" >"$place/$(basename "$unit")"
  done
  # It ends with 0 where it ignores what it does not understand, and says so.
  systemd-analyze verify "$place"/*.service >"$place/units" 2>&1 || { cat "$place/units" >&2; exit 1; }
  if grep -F gabfest- "$place/units" >&2; then exit 1; fi
else
  missing "systemd-analyze is not installed (Debian: systemd)"
fi

# The Dockerfile's own flag on what is built already: only the last step is done again.
cargo rustc --quiet --package gabfest --bin gabfest -- -C target-feature=+crt-static
cp target/debug/gabfest "$place/gabfest"
cargo build --quiet --package gabfest

if ! command -v bwrap >/dev/null; then
  missing "bwrap is not installed (Debian: bubblewrap)"
  exit 0
fi
# A network of its own: no port is taken, and nothing outside is reached.
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
say "a run in the image's content"
checked run_in_image
say "spans, figures and log records at a collector"
checked otlp
say "compose.yaml as processes"
if command -v prometheus >/dev/null; then checked compose; else missing "prometheus is not installed"; fi
say "kubernetes/ as processes"
checked kubernetes
say "the commands of the GitHub workflow"
checked github_actions

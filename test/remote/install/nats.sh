#!/usr/bin/env bash
# nats-server out of Debian's package, linked into the folder given. Does nothing where it is there.
set -euo pipefail
folder="$1"
[ -x "$folder/nats-server" ] && exit 0
if ! command -v nats-server >/dev/null; then
  apt-get install -y --no-install-recommends nats-server >/dev/null ||
    { apt-get update && apt-get install -y --no-install-recommends nats-server; } >/dev/null
fi
ln -sf "$(command -v nats-server)" "$folder/nats-server"

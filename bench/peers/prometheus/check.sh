#!/bin/sh
# Checks what /metrics shows with Prometheus's own promtool, lint included: apt-get install prometheus
set -eu
cd "$(dirname "$0")/../../.."
text=$(mktemp)
trap 'rm -f "$text"' EXIT
node_modules/.bin/node bench/peers/prometheus/write.ts >"$text"
echo "$(grep -c '^# TYPE' "$text") names, $(grep -vc '^#' "$text") series"
promtool check metrics <"$text"
echo ok

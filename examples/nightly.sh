#!/usr/bin/env bash
# Releases today's export of tickets: bash nightly.sh [DATE]
# Run it once a night, and once more after a kill, a full disk or a power cut: it goes on where it stopped, and does
# nothing where the night is done. Next to it lies export.csv, the whole table as it is tonight.
set -euo pipefail
umask 077
date=${1:-$(date +%F)}
night=nights/$date tickets=private/$date.csv
mkdir -p nights private

# Made once, and kept: whoever has own.key can remove the noise; sender.pub goes to who receives the releases.
if [ ! -e own.key ] && [ -n "$(ls nights)" ]; then
  echo "own.key is missing. Restore it: a new key gives every old row a second form." >&2
  exit 2
fi
[ -e own.key ] || { head -c 16 /dev/urandom > new.key && mv new.key own.key; }
[ -e sender.pub ] || wordveil report --new-key sender.key

# What the night releases does not change any more once it is in private/; what goes out is in nights/. The rows are
# numbered: names for them. If rows are ever removed or moved, or a field has a line break in it, name a column of the
# table with --ids instead.
if [ ! -e "$tickets" ]; then
  awk 'NR == 1 { print "row," $0 } NR > 1 { print NR - 1 "," $0 }' export.csv > new.csv
  mv new.csv "$tickets"
fi

wordveil sanitize "$tickets" --column text --keep product --key-file own.key --ids row --resume --quiet \
  --output "$night.csv" --report "$night.json"
wordveil report "$night.csv" --verify "$night.json" --sign sender.key
wordveil report "$night.csv" --verify "$night.json" --public-key sender.pub

# Runs a server and outlives whoever asked for it. Standard input is a pipe that the asker holds:
# when it closes, for whatever reason, the server is stopped and its folder removed.
#
# Set before this text: folder, stop (signals, the gentlest first), init and serve (functions).
exec 3<&0 </dev/null >>"$folder/log" 2>&1
cd "$folder" || exit 1

# A file appears whole or not at all.
put() { echo "$2" >"$1.new" && mv "$1.new" "$1"; }

watch() {
    while read -r word <&3; do
        if [ "$word" = keep ]; then put keep yes; exit 0; fi
    done
    put stopping yes
    # Preparing a folder ends by itself; only a server has to be told.
    while [ ! -e pid ] && [ ! -e exited ]; do sleep 0.05; done
    for signal in $stop KILL; do
        [ -e exited ] && exit 0
        server=$(cat pid)
        family="$server $(cat "/proc/$server/task/$server/children")"
        # Processes that somebody has stopped would hear nothing else.
        kill -s CONT $family
        # Children that were killed too late would outlive their server.
        [ "$signal" = KILL ] || family=$server
        kill -s "$signal" $family
        tries=0
        while [ ! -e exited ] && [ $tries -lt 60 ]; do sleep 0.05; tries=$((tries + 1)); done
    done
}
watch &
watcher=$!
exec 3<&-

if init && [ ! -e stopping ]; then
    serve &
    put pid $!
    wait $!
fi
put exited $?
wait $watcher
cd /
[ -e "$folder/keep" ] || rm -rf "$folder"

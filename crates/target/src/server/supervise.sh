# Runs a server and outlives whoever asked for it. Standard input is a pipe that the asker holds:
# when it closes, for whatever reason, the server is stopped and its folder removed.
#
# Set before this text: folder, stop (signals, the gentlest first), init, serve and
# serve_again (functions).
#
# When whoever asked dies while the server is paused, the system hangs up on all of this group; the
# server shall be stopped even then.
trap '' HUP
exec 3<&0 </dev/null >>"$folder/log" 2>&1
cd "$folder" || exit 1

# A file appears whole or not at all.
put() { echo "$2" >"$1.new" && mv "$1.new" "$1"; }

# The server and its children, if it runs.
family() {
    [ -e pid ] || return 0
    server=$(cat pid)
    echo "$server $(cat "/proc/$server/task/$server/children")"
}

# Brings the server down, by these signals in turn. Until it is said to start again, its end is not
# the end of all. What is killed is killed with its children: one that survives would hold what the
# next server needs.
bring_down() {
    put down yes
    for signal in "$@"; do
        members=$(family)
        [ "$signal" = KILL ] || members=${members%% *}
        kill -s "$signal" $members
        tries=0
        while [ -e pid ] && [ $tries -lt 100 ]; do sleep 0.02; tries=$((tries + 1)); done
        [ -e pid ] || return 0
    done
}

obey() {
    case $1 in
    keep) put keep yes ;;
    pause) kill -s STOP $(family) ;;
    resume) kill -s CONT $(family) ;;
    kill) bring_down KILL ;;
    stop) bring_down $stop KILL ;;
    start) rm -f settled down ;;
    settled) put settled yes ;;
    revive) put revive yes ;;
    esac
    put answered "$2"
}

watch() {
    while read -r word number <&3; do obey "$word" "$number"; done
    if [ -e keep ]; then rm -f down; exit 0; fi
    put stopping yes
    # Preparing a folder ends by itself; only a server has to be told.
    while [ ! -e pid ] && [ ! -e exited ]; do sleep 0.05; done
    for signal in $stop KILL; do
        [ -e exited ] && exit 0
        members=$(family)
        # Processes that somebody has stopped would hear nothing else.
        kill -s CONT $members
        # Children that were killed too late would outlive their server.
        [ "$signal" = KILL ] || members=${members%% *}
        kill -s "$signal" $members
        tries=0
        while [ ! -e exited ] && [ $tries -lt 60 ]; do sleep 0.05; tries=$((tries + 1)); done
    done
}
watch &
watcher=$!
exec 3<&-

code=1
if init; then
    # How often a start is tried again after it was brought down, until it has answered: the killed one
    # may still be leaving. After that, its end is its own.
    again=0
    revived=0
    serve=serve
    while [ ! -e stopping ]; do
        $serve &
        put pid $!
        wait $!
        code=$?
        rm -f pid
        if [ -e down ]; then
            while [ -e down ] && [ ! -e stopping ]; do sleep 0.02; done
            again=20
            serve=serve_again
        elif [ $again -gt 0 ] && [ ! -e settled ]; then
            again=$((again - 1))
            sleep 0.2
        elif [ -e revive ] && [ ! -e stopping ] && [ $revived -lt 1000 ]; then
            # It ended by itself, and is wanted again.
            revived=$((revived + 1))
            serve=serve_again
            sleep 0.2
        else
            break
        fi
    done
fi
put exited $code
wait $watcher
cd /
[ -e "$folder/keep" ] || rm -rf "$folder"

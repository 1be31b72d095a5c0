#!/bin/sh
# Install the agent on many machines over SSH, enroll it and start its service (docs/agents.md, "Many machines").
#
#     deploy/install-agents.sh https://virtlab.example.org my-study machines.txt < token
#
# Each line of machines.txt is an SSH destination that is root, and options of `enroll`, such as:
#     root@vm-a --host athlon
# With KEY, packages are only installed if they are signed with this key, which the agent of this checkout verifies.
set -eu

# --install LINE: install on one machine, with FOLDER, SERVER and STUDY from the environment.
if [ "$1" = --install ]; then
    set -f
    # shellcheck disable=SC2086 # words of the line
    set -- $2
    machine=$1
    shift
    kind=$(ssh -o BatchMode=yes "$machine" 'command -v dpkg >/dev/null && echo deb || echo rpm' </dev/null)
    ssh -o BatchMode=yes "$machine" "set -e; folder=\$(mktemp -d); cd \$folder; cat > virtlab-agent.$kind
        if command -v dpkg; then DEBIAN_FRONTEND=noninteractive apt-get install -y ./virtlab-agent.deb
        elif command -v dnf; then dnf install -y ./virtlab-agent.rpm
        elif command -v zypper; then zypper --non-interactive --no-gpg-checks install ./virtlab-agent.rpm
        else rpm -U ./virtlab-agent.rpm; fi
        rm -r \$folder" <"$FOLDER/virtlab-agent.$kind"
    ssh -o BatchMode=yes "$machine" "set -e
        runuser -u virtlab-agent -- env HOME=/var/lib/virtlab-agent virtlab-agent enroll --server '$SERVER' \\
            --study '$STUDY' --token - $*
        systemctl enable virtlab-agent
        [ ! -d /run/systemd/system ] || systemctl restart virtlab-agent" <"$FOLDER/token"
    exit
fi

# --one LINE NUMBER: the same, and report the result.
if [ "$1" = --one ]; then
    if sh "$0" --install "$2" >"$FOLDER/$3.log" 2>&1; then
        echo "installed: $2"
    else
        echo "FAILED: $2: $(tail -n 1 "$FOLDER/$3.log")"
        exit 1
    fi
    exit
fi

SERVER=${1%/} STUDY=$2 FOLDER=$(mktemp -d)
export SERVER STUDY FOLDER
trap 'rm -rf "$FOLDER"' EXIT
cat >"$FOLDER/token"
agents=$(dirname "$0")/..
for name in virtlab-agent.deb virtlab-agent.rpm; do
    curl -fsS -o "$FOLDER/$name" "$SERVER/agent/$name" -o "$FOLDER/$name.minisig" "$SERVER/agent/$name.minisig"
    [ -z "${KEY:-}" ] || PYTHONPATH=$agents python3 -m agents verify --key "$KEY" "$FOLDER/$name" >&2
done
# Eight at a time.
grep -Ev '^ *(#|$)' "$3" | awk '{ print $0; print NR }' | xargs -d '\n' -n 2 -P 8 sh "$0" --one

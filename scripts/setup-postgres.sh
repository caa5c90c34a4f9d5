#!/usr/bin/env bash
# Installs PostgreSQL, for the tests of the book (crates/book/tests, crates/forebay/tests/cli/book.rs).
# They start private databases of their own; the service that the package brings is not used.
# Idempotent: with it there it ends at once.
set -euo pipefail

there() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; }
there && exit
fail() {  # cause, where, next step
    printf 'setup-postgres: %s\n  where: %s\n  next:  %s\n' "$1" "$2" "$3" >&2
    exit 1
}
command -v apt-get >/dev/null || fail "no PostgreSQL, and no apt-get" "this machine" \
    "install PostgreSQL 13 or newer with its programs (initdb, pg_ctl)"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
echo "setup-postgres: apt-get install postgresql (60 MB, half a minute, once)"
# The package would make and start a database of the system.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    apt-get -qq update && apt-get -qq install -y --no-install-recommends postgresql openssl >/dev/null
' || fail "apt-get install postgresql failed" "apt" "run it by hand and see what it says"
there || fail "PostgreSQL is installed and its programs are not found" "/usr/lib/postgresql" \
    "put the folder with initdb into PATH"

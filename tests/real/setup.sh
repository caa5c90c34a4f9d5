#!/bin/bash
# Installs what the cases under tests/real need, and nothing else; run it as often as you like.
# Lost if it failed: in CI every case whose tool is missing is a failure.
# It is not the project's build: the binary is made by cargo, the demo's venv by setup-demo.sh.
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
TOOLS=$ROOT/target/tools
mkdir -p "$TOOLS/bin"

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

say() { echo "setup: $*" >&2; }

# Debian package and a command (or file) that shows it is there.
apt_table() {
    cat <<'TABLE'
acl                  setfacl
attr                 setfattr
build-essential      gcc
busybox-static       /bin/busybox
curl                 curl
dmsetup              /usr/sbin/dmsetup
e2fsprogs            /usr/sbin/mkfs.ext4
charliecloud         ch-run
clang                clang
bubblewrap           bwrap
default-jre-headless java
fuse3                fusermount3
git                  git
iproute2             ip
libacl1-dev          /usr/include/sys/acl.h
maven                mvn
crun                 crun
p7zip-full           7z
podman               podman
python3              /usr/bin/python3
python3-venv         /usr/share/doc/python3-venv
munge                munged
rclone               rclone
rsync                rsync
slurm-client         sbatch
slurmctld            slurmctld
slurmd               slurmd
spades               rnaspades.py
sra-toolkit          fastq-dump
unzip                unzip
util-linux           setpriv
xfsprogs             /usr/sbin/mkfs.xfs
zip                  zip
TABLE
}

missing=()
while read -r package witness; do
    case $witness in
        /*) [ -e "$witness" ] || missing+=("$package") ;;
        *) command -v "$witness" >/dev/null || missing+=("$package") ;;
    esac
done < <(apt_table)
if [ ${#missing[@]} -gt 0 ]; then
    say "apt: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get -qq -o DPkg::Lock::Timeout=600 update
    $sudo apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends \
        "${missing[@]}" >/dev/null
fi

# The ordinary user of the cases, with one supplementary group it shares with nobody else.
if ! getent passwd forebay-test >/dev/null; then
    say "user forebay-test"
    $sudo groupadd -f forebay-lab
    $sudo useradd --system --no-create-home --home-dir /nonexistent --shell /bin/bash \
        --user-group --groups forebay-lab forebay-test
fi

for crate in pjdfstest fsx; do
    [ -x "$TOOLS/bin/$crate" ] && continue
    case $crate in pjdfstest) version=0.2.2 ;; fsx) version=0.3.2 ;; esac
    say "cargo install $crate $version"
    # Its own target directory: the project's build keeps its cache.
    CARGO_TARGET_DIR=$TOOLS/build cargo install --quiet --locked --root "$TOOLS" \
        "$crate" --version "$version"
    rm -rf "$TOOLS/build"
done

if [ ! -x "$TOOLS/nextflow/nextflow" ]; then
    say "Nextflow 24.10.0"
    rm -rf "$TOOLS/nextflow"
    mkdir -p "$TOOLS/nextflow/pom"
    cat > "$TOOLS/nextflow/pom/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>forebay</groupId><artifactId>nextflow-jars</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>24.10.0</version>
    </dependency>
  </dependencies>
</project>
POM
    mvn -q -B -f "$TOOLS/nextflow/pom/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$TOOLS/nextflow/lib"
    cat > "$TOOLS/nextflow/nextflow.new" <<'LAUNCH'
#!/bin/bash
# Nextflow from its jars, without a download of its own.
here=$(cd "$(dirname "$0")" && pwd)
opens=()
for p in java.lang java.io java.nio java.net java.util java.util.concurrent.locks \
    java.util.concurrent.atomic java.lang.invoke java.util.regex sun.nio.ch sun.nio.fs \
    jdk.internal.vm sun.net.www.protocol.http sun.net.www.protocol.https; do
    opens+=(--add-opens "java.base/$p=ALL-UNNAMED")
done
export NXF_OFFLINE=true NXF_DISABLE_CHECK_LATEST=true NXF_PLUGINS_DEFAULT=false
export NXF_ANSI_LOG=false NXF_HOME=${NXF_HOME:-$HOME/.nextflow}
exec java -Xmx512m "${opens[@]}" -cp "$here/lib/*" nextflow.cli.Launcher "$@"
LAUNCH
    chmod +x "$TOOLS/nextflow/nextflow.new"
    mv "$TOOLS/nextflow/nextflow.new" "$TOOLS/nextflow/nextflow"
fi

if [ ! -x "$ROOT/.venv/bin/snakemake" ] && [ -f "$ROOT/scripts/setup-demo.sh" ]; then
    bash "$ROOT/scripts/setup-demo.sh"
fi

# Python packages of these versions, in a folder of their own: FOLDER, what is said, pip's option for
# what they need themselves, packages.
python_packages() {
    local folder=$TOOLS/$1 said=$2 needs=$3
    shift 3
    [ "$(cat "$folder/version" 2> /dev/null)" != "$*" ] || return 0
    say "$said"
    rm -rf "$folder"
    "$ROOT/.venv/bin/pip" install --quiet --disable-pip-version-check "$needs" --target "$folder" "$@"
    echo "$*" > "$folder/version"
}
# What builds the wheel of Snakemake's logger plugin, without a network.
python_packages python-build "setuptools" --no-deps setuptools==80.9.0
# Engines that are Python packages, with all that they need.
python_packages python-engines "Toil, cwltool and Ruffus (200 MB, once)" --no-warn-conflicts \
    "toil[cwl]==9.6.0" ruffus==3.0.0
# With which OpenTelemetry's own messages read what `forebay export --format otlp` writes.
python_packages python-otlp "OpenTelemetry's messages" --no-deps \
    opentelemetry-proto==1.45.2 protobuf==7.36.2
# Beside the venv: where Slurm is not installed, Snakemake would not start with it.
python_packages snakemake-slurm "Snakemake's plugin for Slurm (60 MB, once)" --no-deps \
    snakemake-executor-plugin-slurm==2.8.0 snakemake-executor-plugin-slurm-jobstep==0.6.1 \
    throttler==1.2.3 pandas==3.1.1 python-dateutil==2.9.0.post0 six==1.17.0

#!/usr/bin/env bash
# Makes what is released, in target/packages: a static binary for each machine, and around it a tar file,
# a Debian package and a wheel for pip; then their checksums. Cross-compiles with Zig's C compiler,
# which brings its own C library: nothing of the machine that builds gets in.
#
#   scripts/dist.sh                 all of it
#   ARCHES=x86_64 scripts/dist.sh   for some machines only (x86_64 aarch64)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Not target/dist, where cargo has what the profile `dist` runs while it builds.
dist=target/packages
tools=target/tools/dist
say() { printf 'dist: %s\n' "$*"; }

setup() {
    [ -x "$tools/bin/cargo-zigbuild" ] || {
        python3 -m venv "$tools"
        "$tools/bin/pip" install -q --disable-pip-version-check cargo-zigbuild==0.24.1 ziglang==0.17.1
    }
    local arch
    for arch; do
        rustup -q target add "$arch-unknown-linux-musl" 2> /dev/null || {
            echo "dist: rustup target add $arch-unknown-linux-musl failed" >&2
            exit 1
        }
    done
}

binary() {  # ARCH
    FOREBAY_COMMIT="$(git log -1 --format='%h, %cs' 2> /dev/null)" \
        PATH="$PWD/$tools/bin:$PATH" "$tools/bin/cargo-zigbuild" zigbuild --profile dist --locked \
        -p forebay --target "$1-unknown-linux-musl"
    mkdir -p "$dist/bin"
    cp "${CARGO_TARGET_DIR:-target}/$1-unknown-linux-musl/dist/forebay" "$dist/bin/forebay-$1"
    cp packaging/container/forebay-worker "$dist/bin/"
}

# What every package has beside the binary; the program itself writes most of it.
tree() {  # PREFIX
    local forebay=$dist/bin/forebay-$(uname -m)
    mkdir -p "$1"/share/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,forebay/sites,forebay/rules,doc/forebay}
    "$forebay" manual --man "$1/share/man/man1"
    gzip -9nf "$1"/share/man/man1/*.1
    "$forebay" completions bash > "$1/share/bash-completion/completions/forebay"
    "$forebay" completions zsh > "$1/share/zsh/site-functions/_forebay"
    "$forebay" completions fish > "$1/share/fish/vendor_completions.d/forebay.fish"
    "$forebay" manual --schema rules > "$1/share/forebay/rules.schema.json"
    "$forebay" manual --schema site > "$1/share/forebay/site.schema.json"
    cp sites/*.toml "$1/share/forebay/sites"
    cp examples/rules/*.toml "$1/share/forebay/rules"
    cp README.md LICENSE-MIT LICENSE-APACHE "$1/share/doc/forebay"
    gzip -9nc CHANGELOG.md > "$1/share/doc/forebay/changelog.gz"
}

tar_file() {  # ARCH
    local name=forebay-$version-linux-$1
    rm -rf "${dist:?}/$name"
    mkdir -p "$dist/$name/bin"
    cp "$dist/bin/forebay-$1" "$dist/$name/bin/forebay"
    tree "$dist/$name"
    tar -C "$dist" --owner=0 --group=0 --sort=name -czf "$dist/$name.tar.gz" "$name"
    rm -rf "${dist:?}/$name"
}

deb() {  # ARCH
    local arch root
    arch=$([ "$1" = x86_64 ] && echo amd64 || echo arm64)
    root=$dist/deb
    rm -rf "$root"
    mkdir -p "$root"/{DEBIAN,usr/bin,usr/lib/systemd/system,etc/forebay/mounts}
    cp "$dist/bin/forebay-$1" "$root/usr/bin/forebay"
    tree "$root/usr"
    mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
    cat LICENSE-MIT LICENSE-APACHE > "$root/usr/share/doc/forebay/copyright"
    rm "$root"/usr/share/doc/forebay/LICENSE-*
    cp packaging/systemd/forebay@.service packaging/systemd/forebay-metrics.* "$root/usr/lib/systemd/system"
    cp packaging/debian/prerm "$root/DEBIAN"
    sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$(du -sk "$root/usr" | cut -f1)/" \
        packaging/debian/control > "$root/DEBIAN/control"
    find "$root" -type d -exec chmod 755 {} +
    chmod 755 "$root/usr/bin/forebay" "$root/DEBIAN/prerm"
    dpkg-deb --root-owner-group --build "$root" "$dist/forebay_${version}_$arch.deb" > /dev/null
    rm -rf "$root"
}

wheel() {  # ARCH
    rm -rf "$dist/tree"
    tree "$dist/tree"
    python3 scripts/wheel.py "$version" "$1" "$dist/bin/forebay-$1" "$dist/tree/share" "$dist"
    rm -rf "$dist/tree"
}

arches=(${ARCHES:-x86_64 aarch64})
setup "${arches[@]}"
rm -rf "$dist"
for arch in "${arches[@]}"; do
    say "binary for $arch"
    binary "$arch"
done
for arch in "${arches[@]}"; do
    tar_file "$arch"
    wheel "$arch"
    if command -v dpkg-deb > /dev/null; then deb "$arch"; else say "no dpkg-deb: no .deb"; fi
done
(cd "$dist" && sha256sum bin/* *.tar.gz *.whl $(ls *.deb 2> /dev/null) > SHA256SUMS)
say "in $dist:"
(cd "$dist" && ls -sh1 bin/* *.tar.gz *.whl $(ls *.deb 2> /dev/null))

#!/usr/bin/env bash
# Installs what users install, each in an empty place without Go and without the network, and
# has the first conversation there by the guide's own lines (docs/guide/first-hour.md) with the
# demo model: the archive, the Debian package, the npm packages and the container image.
#
# What `make snapshot` has made in dist is taken as it is. Without it the same files are put
# together here, from the lists in .goreleaser.yaml, without goreleaser, which takes long to
# build. As root the empty place is a root of its own in namespaces without a network, which
# holds sh, git and cat; otherwise it is a fresh HOME, and a PATH to these.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GO="${GO:-go}"
say() { echo "install-test: $*" >&2; }
fail() { say "$*"; exit 1; }
[ "$(uname)" = Linux ] || fail "this is for Linux"
for program in dpkg-deb node npm git ldd unshare; do
	command -v "$program" >/dev/null || fail "it needs $program"
done
arch=$($GO env GOARCH)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Namespaces need root, and a system that lets it.
rooted=
mkdir "$work/proc"
if [ "$(id -u)" = 0 ] && unshare --mount --pid --net --fork mount -t proc proc "$work/proc" 2>/dev/null; then
	rooted=yes
else
	say "no roots of their own here: fresh HOMEs only"
fi

# listed prints the source and, if there is one, the destination of each file that a part of
# .goreleaser.yaml lists.
listed() {
	sed -n "/^$1:/,/^[a-z]/s/^ *- { src: \"\{0,1\}\([^\",} ]*\)\"\{0,1\}\(, dst: \"\{0,1\}\([^\",} ]*\)\)\{0,1\}.*/\1 \3/p" .goreleaser.yaml
}

# place copies what a part lists below a folder.
place() {
	local from to files=0
	while read -r from to; do
		to=$2/${to:-$from} files=$((files + 1))
		case $from in
		*'*'*) mkdir -p "$to" && cp ${from%/*}/* "$to/" ;;
		*) mkdir -p "$(dirname "$to")" && cp "$from" "$to" ;;
		esac
	done < <(listed "$1")
	[ $files -gt 3 ] || fail "the list of $1 in .goreleaser.yaml cannot be read"
}

# stand_ins makes what goreleaser would, for this processor, as $archive, $deb and $npm.
stand_ins() {
	local version=0.0.1-test parts=$work/parts
	packaging/prepare.sh
	mkdir -p "$parts"
	local build=($GO build -trimpath -buildvcs=false -ldflags "-s -w -X main.released=$version")
	"${build[@]}" -o "$parts/terret" ./cmd/terret
	# Another checkout of the same commit makes the same bytes.
	mkdir "$work/elsewhere"
	git ls-files -z | tar --null -T - -cf - | tar -C "$work/elsewhere" -xf -
	(cd "$work/elsewhere" && "${build[@]}" -o "$parts/again" ./cmd/terret)
	cmp "$parts/terret" "$parts/again" || fail "the program differs with the folder that it is built in"
	say "built in two folders: the same bytes"
	rm -rf "$parts/again" "$work/elsewhere"

	local folder=$parts/terret_${version}_linux_$arch
	mkdir "$folder"
	cp "$parts/terret" "$folder/"
	place archives "$folder"
	archive=$folder.tar.gz
	tar -C "$parts" -I 'gzip -1' -cf "$archive" "$(basename "$folder")"
	rm -rf "$folder"

	folder=$parts/deb
	mkdir -p "$folder/DEBIAN" "$folder/usr/bin"
	cp "$parts/terret" "$folder/usr/bin/"
	place nfpms "$folder"
	cat >"$folder/DEBIAN/control" <<-END
		Package: terret
		Version: $version
		Architecture: $arch
		Maintainer: Terret <https://github.com/terret-dev/terret/issues>
		Depends: $(sed -n '/^nfpms:/,/^[a-z]/s/^ *dependencies: \[\(.*\)\]/\1/p' .goreleaser.yaml)
		Description: One harness for every coding agent
	END
	deb=$parts/terret.deb
	dpkg-deb -Zgzip -z1 --root-owner-group --build "$folder" "$deb" >/dev/null
	rm -rf "$folder"

	mkdir "$parts/dist"
	echo "{\"version\": \"$version\"}" >"$parts/dist/metadata.json"
	echo "[{\"type\": \"Binary\", \"goos\": \"linux\", \"goarch\": \"$arch\", \"path\": \"terret\"}]" >"$parts/dist/artifacts.json"
	node packaging/npm/build.mjs "$parts/dist"
	npm=$parts/dist/npm
	program=$parts/terret
}

archive=$(ls dist/terret_*_linux_"$arch".tar.gz 2>/dev/null || true)
if [ -n "$archive" ]; then
	say "takes what is in dist"
	deb=$(ls dist/terret_*_"$arch".deb) npm=$PWD/dist/npm
	program=$(ls -d dist/terret_linux_"$arch"*/terret)
else
	say "there is no dist (make snapshot): puts the parts together without goreleaser"
	stand_ins
fi

# The guide's own lines, and what it says they print.
lines() {
	awk -v want="$1" '/^```/ { open = open == "" ? ($0 == "```" ? "none" : $0) : ""; next } open == want' docs/guide/first-hour.md
}
{ echo 'set -eu'; lines '```sh'; } >"$work/first-hour.sh"
lines '```output' >"$work/expected"
grep -q 'terret run' "$work/first-hour.sh" && [ -s "$work/expected" ] || fail "the guide's first hour cannot be read"

# empty makes an empty place: a root with sh, git and cat, and what they are linked with.
empty() {
	local name path lib
	mkdir -p "$1"/{usr/bin,usr/lib,tmp,proc,dev,etc,home/ann/project,var/lib/dpkg/{info,updates}}
	ln -s usr/bin "$1/bin"
	for name in sh git cat env; do
		path=$(readlink -f "$(command -v $name)")
		cp "$path" "$1/usr/bin/$name"
		ldd "$path" | grep -o '/[^ ]*' | while read -r lib; do
			mkdir -p "$1$(dirname "$lib")"
			cp -L "$lib" "$1$lib"
		done
	done
	printf 'Package: git\nStatus: install ok installed\nVersion: 1:2.40\nArchitecture: %s\nMaintainer: x\nDescription: x\n\n' "$arch" >"$1/var/lib/dpkg/status"
}

# converse has the guide's conversation in a place, with programs from a PATH in it.
converse() {
	local name=$1 root=$2 path=$3 out=$work/out
	cp "$work/first-hour.sh" "$root/tmp/"
	shift 3
	if [ -n "$rooted" ]; then
		unshare --mount --pid --net --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && cd "$0" && exec chroot "$0" "$@"' \
			"$root" /usr/bin/env -i HOME=/home/ann USER=ann "PATH=$path" "$@" sh -c 'cd && cd project && exec sh /tmp/first-hour.sh' >"$out" 2>&1 || failed "$name" $?
	else
		local each here=
		for each in ${path//:/ }; do here+=$root$each:; done
		(cd "$root/home/ann/project" && exec env -i HOME="$root/home/ann" USER=ann PATH="${here%:}" TMPDIR="$root/tmp" "${@//=\//=$root\/}" sh "$root/tmp/first-hour.sh") >"$out" 2>&1 || failed "$name" $?
	fi
	said "$name" "$out"
}

failed() { cat "$work/out" >&2; fail "$1: the first hour ended with exit code $2"; }

# said holds that the guide's output is in what was printed; … stands for anything.
said() {
	local line
	while read -r line; do
		[ -z "$line" ] || [ "$line" = … ] || grep -q "^$(sed 's/[][\.*^$]/\\&/g; s/…/.*/g' <<<"$line") *$" "$2" ||
			{ cat "$2" >&2; fail "$1: nothing is printed like: $line"; }
	done <"$work/expected"
	say "$1: $(grep -m 1 '^terret ' "$2"), first conversation held"
}

try_archive() {
	local root=$work/archive
	empty "$root"
	mkdir "$root/opt"
	tar -C "$root/opt" --strip-components=1 -xzf "$archive"
	[ -s "$root/opt/man/man1/terret.1" ] && [ -s "$root/opt/completions/terret.bash" ] && [ -s "$root/opt/LICENSE" ] || fail "the archive has no manual page, completion or licence"
	converse "archive" "$root" /opt:/usr/bin
}

try_deb() {
	local root=$work/debian
	empty "$root"
	if [ -n "$rooted" ]; then
		dpkg --root="$root" --log=/dev/null -i "$deb" >"$work/out" 2>&1 || failed "Debian package" $?
	else
		dpkg-deb -x "$deb" "$root"
	fi
	[ -s "$root/usr/lib/systemd/user/terret.service" ] && [ -s "$root/usr/share/man/man1/terret.1" ] || fail "the Debian package has no unit or manual page"
	converse "Debian package" "$root" /usr/bin
}

# The packages stand for what the registry would give; npm may not ask it. Node.js is not in
# the empty place, so this is a fresh HOME, with a PATH that leads to no Go.
try_npm() {
	local root=$work/npm each cpu=x64
	[ "$arch" != arm64 ] || cpu=arm64
	empty "$root"
	for each in node npm npx; do ln -s "$(command -v $each)" "$root/usr/bin/$each"; done
	local clean=(env -i HOME="$root/home/ann" USER=ann PATH="$root/usr/bin" TMPDIR="$root/tmp" npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false)
	mkdir "$root/opt"
	(
		cd "$root/opt"
		"${clean[@]}" npm install --loglevel=error "$npm"/terret-dev-cli-linux-$cpu-*.tgz "$npm"/terret-dev-cli-[0-9]*.tgz
		"${clean[@]}" npx terret version
	) >"$work/out" 2>&1 || failed "npm packages" $?
	grep -q '^terret ' "$work/out" || failed "npm packages" 0
	cd "$root/home/ann/project"
	"${clean[@]}" PATH="$root/opt/node_modules/.bin:$root/usr/bin" sh "$work/first-hour.sh" >"$work/out" 2>&1 || failed "npm packages" $?
	cd - >/dev/null
	said "npm packages" "$work/out"
}

# The image's own files are put over the empty place, which stands for its base.
try_image() {
	local root=$work/image layer
	empty "$root"
	(cd tools && $GO run ./image -program "$1" -base scratch -arch "$arch" -o "$work/image.tar")
	mkdir "$work/layers"
	tar -C "$work/layers" -xf "$work/image.tar"
	for layer in $(grep -o '"Layers":\[[^]]*\]' "$work/layers/manifest.json" | grep -o '[^",[]*\.tar\.gz'); do
		tar -C "$root" -xzf "$work/layers/$layer"
	done
	converse "image" "$root" /usr/local/bin:/usr/bin TERRET_HOME=/data
}

try_archive
try_deb
try_npm
try_image "$(realpath "$program")"

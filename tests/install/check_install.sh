#!/bin/sh
# check_install.sh BUILD VERSION DAEMON FLAGS -- installs to a temporary prefix and builds a program against nothing else.
# FLAGS are the build's own instrumentation, which a program that links the archive needs too.
set -eu
build=$1 version=$2 daemon=$3 flags=$4
here=$(cd "$(dirname "$0")" && pwd)
command -v pkg-config >/dev/null || { echo "no pkg-config here"; exit 77; }
fail() { echo "install: $*" >&2; exit 1; }

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix/a" >/dev/null
mv "$prefix/a" "$prefix/moved" # what is installed names no path that it had before
prefix_now=$prefix/moved

PKG_CONFIG_PATH=$(dirname "$(find "$prefix_now" -name transposed.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion transposed)" = "$version" ] || fail "transposed.pc is not of version $version"

# Every header stands alone, in C and in C++, without a macro of the build's.
for header in "$prefix_now"/include/transposed/*.h; do
  name=transposed/$(basename "$header")
  for language in c c++; do
    # shellcheck disable=SC2046 # words are what pkg-config means
    printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
      cc -x $language -Wall -Wextra -Wundef -Werror -D_GNU_SOURCE -fsyntax-only $(pkg-config --cflags transposed) - ||
      fail "$name does not compile alone as $language"
  done
done

# shellcheck disable=SC2046,SC2086
cc -std=c11 -Wall -Wextra -Werror $flags -o "$prefix/consumer" "$here/consumer.c" \
  $(pkg-config --cflags --libs transposed)
said=$("$prefix/consumer")
[ "$said" = "$version blocked: 1 4 2 5 3 6" ] || fail "the program said '$said'"

if [ "$daemon" = 1 ]; then
  case $("$prefix_now/bin/transposed" version) in
    *"$version"*) ;;
    *) fail "bin/transposed does not say $version" ;;
  esac
  head -1 "$prefix_now/share/man/man1/transposed.1" | grep -q "\"transposed $version\"" || fail "there is no manual page of version $version"
  bash -n "$prefix_now/share/bash-completion/completions/transposed" || fail "the completion is no script"
  unit=$prefix_now/lib/systemd/system/transposed.service
  grep -q "^ExecStart=$prefix/a/bin/transposed serve" "$unit" || fail "the unit does not start the daemon of its prefix"
fi
[ -s "$prefix_now/share/doc/transposed/LICENSE" ] || fail "there is no licence"
echo "install: $said"

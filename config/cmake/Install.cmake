# cmake --install: the daemon, its unit and example configuration, and libtransposed for other programs.

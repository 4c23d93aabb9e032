"""Running compiled code: C compilers, emulators, levels of this machine."""

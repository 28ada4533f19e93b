"""The commands, a file each: they read flags, call the library, and print. No torch until one runs."""

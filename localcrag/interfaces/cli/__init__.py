"""The command line: `main` reads the arguments, and each other module has one or more commands."""

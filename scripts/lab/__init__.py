"""The laboratory: scripts that train, measure and attack localcrag. README.md lists them."""

"""The server of the app: its launch, its access checks, and files handed over by later starts."""

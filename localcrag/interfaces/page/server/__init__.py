"""The server of the app: its launch, its access checks, and the hand-over of files from later starts."""

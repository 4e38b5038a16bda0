"""Child processes of localcrag: the app's side (child.py) and the confined worker's side (worker.py)."""

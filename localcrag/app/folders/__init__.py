"""Folders that collections follow: bound, looked at, brought in step and watched."""

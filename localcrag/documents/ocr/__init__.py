"""Text recognition of scans and pictures, in a process of its own."""

from localcrag.privacy.process import silence

silence()  # The modules here import libraries that read these switches when they are imported.

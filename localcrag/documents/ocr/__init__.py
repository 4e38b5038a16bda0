"""Text recognition of scans and pictures, in a separate process."""

from localcrag.privacy.process import silence

silence()  # The libraries imported by these modules read these switches on import.

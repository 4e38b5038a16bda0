"""Models that run on this computer."""

from localcrag.privacy.process import silence

silence()  # The modules here import libraries that read these switches when they are imported.

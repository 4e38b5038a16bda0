"""Speed: what is measured of a version of localcrag, and two versions compared in one run."""

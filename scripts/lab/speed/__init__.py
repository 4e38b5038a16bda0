"""Speed: measure one version of localcrag, and compare two versions in one run."""

"""Every passage of the documents is looked at: for all there is of something, and for summaries."""

"""The steps of the flow, one folder each; what they share lies beside the folders."""

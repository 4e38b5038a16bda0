"""What the answering language model is trained on, and the file that its adapter becomes."""

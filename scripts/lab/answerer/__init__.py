"""Train and evaluate the LoRA adapter of the language model that answers."""

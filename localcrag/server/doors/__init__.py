"""The doors of every server here: who gets in, how much may come in, and what is said to the others."""

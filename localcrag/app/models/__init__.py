"""Models and hardware: the list of models, loading and unloading them, CPU, memory and GPU."""

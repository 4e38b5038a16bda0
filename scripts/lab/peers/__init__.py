"""localcrag beside other programs that answer from documents: each in an environment and a process of its own."""

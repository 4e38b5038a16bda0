"""Tables in documents: parse them, plan what to compute for a question, and compute it exactly."""

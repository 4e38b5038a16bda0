"""Tables in documents: parse them, plan what a question asks of them, and compute it exactly."""

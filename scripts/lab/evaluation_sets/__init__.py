"""Make evaluation sets from labelled data: documents, questions and recorded web results."""

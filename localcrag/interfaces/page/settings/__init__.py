"""The settings screen: answers, web search, models, stored data, past questions, and labels."""

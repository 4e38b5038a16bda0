"""The server of the page: how it starts, and what stands between a connection and Gradio."""

"""The web interface, built with Gradio: it displays the app's state and passes on a person's actions."""

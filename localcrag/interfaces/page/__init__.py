"""The web interface, built with Gradio: it displays the app's state and passes on the user's actions."""

"""The app's web interface, built with Gradio: it displays the state of `app/`, and passes on what a person does."""

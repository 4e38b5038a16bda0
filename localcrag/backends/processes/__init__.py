"""Processes of the app's own: started, asked and limited."""

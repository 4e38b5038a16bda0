"""The desktop: the menu entry and “Open with” of each system, and a window of Chromium's."""

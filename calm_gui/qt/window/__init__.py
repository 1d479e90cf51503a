"""The main window and what belongs to it alone: menus, tools, question bar, status bar."""

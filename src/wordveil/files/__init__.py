"""How files are laid out and written, whatever they hold."""

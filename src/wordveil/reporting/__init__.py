"""Reports for people: JSON and self-contained HTML pages."""

"""From private to released: fitting, the sanitizer, runs over files, explanations and reports."""

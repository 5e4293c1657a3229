"""What is promised: guarantees as values, their composition, certificates, releases."""

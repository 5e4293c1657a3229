"""What a promise means: explained, and calibrated."""

"""Files that are there whole or not at all, and what an interrupted run leaves to be continued."""

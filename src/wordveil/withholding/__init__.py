"""Withholding: a release in which every token that is not on a public list becomes what its kind says.

text --tokens--> spellings and places --rule--> kept tokens, and kinds --law--> released text

Nothing here detects anything: no verdict asks what a hidden token means.
"""

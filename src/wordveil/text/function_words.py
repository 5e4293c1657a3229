"""A public list of English function words: determiners, pronouns, prepositions, auxiliaries, conjunctions, particles.

Kept in place, they make a release read as English, and they are a public fact about the language. They are not
harmless: which of them stand where is disclosed, and tells style, number, tense, negation and the pronouns of the
persons spoken of. A release that keeps them assumes that the texts it compares agree in them. Found without regard to
case, so "Will" and "US" stay as "will" and "us"; "may" is left out for the month.
"""

from __future__ import annotations

_DETERMINERS = (
    "a an the this that these those each every either neither some any no another both all such what which whose"
)
_PRONOUNS = (
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself "
    "we us our ours ourselves they them their theirs themselves one oneself who whom whoever whatever whichever "
    "someone somebody something anyone anybody anything everyone everybody everything nobody nothing"
)
_PREPOSITIONS = (
    "about above across after against along among around as at before behind below beneath beside besides between "
    "beyond by despite down during except for from in inside into like near of off on onto out outside over per "
    "since than through throughout till to toward towards under until up upon via with within without"
)
_CONJUNCTIONS = "and or but nor so yet because although though unless while whereas whether if once"
_AUXILIARIES = (
    "am is are was were be been being have has had having do does did doing done can could might must shall should "
    "will would ought cannot"
)
_PARTICLES = (
    "not never there here then when where why how also too very just only even still again already more most much "
    "many less least few little own other others same else ever rather quite almost"
)
_CONTRACTIONS = (
    "i'm i've i'll i'd you're you've you'll you'd he's he'll he'd she's she'll she'd it's it'll we're we've we'll "
    "we'd they're they've they'll they'd that's there's what's who's let's isn't aren't wasn't weren't haven't "
    "hasn't hadn't don't doesn't didn't can't couldn't mustn't shouldn't won't wouldn't needn't"
)

FUNCTION_WORDS = frozenset(
    " ".join((_DETERMINERS, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _AUXILIARIES, _PARTICLES, _CONTRACTIONS)).split()
)
"""The words, in lower case; compared without regard to case."""

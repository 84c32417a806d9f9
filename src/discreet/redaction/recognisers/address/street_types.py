"""What streets are called in English."""

from discreet.redaction.recognisers.address.grammar import words
from discreet.redaction.words import any_of

PLAIN_TYPES = words(
    "street st str avenue ave av road rd boulevard blvd lane ln drive dr court ct terrace ter place pl circle cir way highway"
    " hwy parkway pkwy crescent cres cr close mews gardens gdns esplanade esp parade pde expressway expy freeway fwy turnpike"
    " tpke causeway cswy trail trl alley aly row wynd"
)
"""Types of street that are rarely anything else."""

OTHER_TYPES = words(
    "anex annex arcade bayou beach bend bluff bluffs bottom branch bridge brook brooks burg burgs bypass byp camp canyon cape"
    " center centre ctr centers circles cliff cliffs club common commons corner corners course courts cove cv coves creek"
    " crest crossing xing crossroad curve dale dam divide drives estate estates extension ext extensions fall falls ferry"
    " field fields flat flats ford fords forest forge forges fork forks fort garden gateway glen glens green greens grove"
    " groves harbor harbour harbors haven heights hts hill hills hollow inlet island islands isle junction jct junctions key"
    " keys knoll knolls lake lakes landing light lights loaf lock locks lodge loop manor manors meadow meadows mill mills"
    " mission motorway mount mountain mountains neck orchard oval overpass park parks parkways pass passage path pike pine"
    " pines plain plains plaza plz point points port ports prairie quay radial ramp ranch rapid rapids rest ridge ridges river"
    " roads route rue run shoal shoals shore shores skyway spring springs spur spurs square sq squares stravenue stream"
    " streets summit throughway trace track trafficway tunnel underpass union unions valley valleys via viaduct view views"
    " village villages ville vista walk walks wall ways well wells strand broadway yard yards wharf rise chase drove gate"
    " end vale circuit cct promenade"
)
"""The other suffixes of USPS Publication 28 (appendix C1) and those of Royal Mail and Australia Post."""

DIRECTIONS = words("n s e w ne nw se sw north south east west northeast northwest southeast southwest")

COURTS = words("high supreme district federal crown food tennis appeal appeals basketball county family")
"""What stands before "court" where it is no street."""

NO_STREETS = frozenset(
    (
        *(f"{kind} court" for kind in COURTS),
        *(f"{kind} courts" for kind in COURTS),
        *("disk drive", "hard drive", "flash drive", "test drive", "king drive", "disk drives", "hard drives"),
        *("flash drives", "test drives", "same way", "right way", "one way", "only way", "no way", "half way"),
    )
)
"""Names that only end like one of a street."""

SMALL_WORDS = words(
    "street st avenue ave road rd boulevard blvd lane ln drive court ct terrace place circle parkway highway crescent"
)
"""Those that people write in small letters."""
SMALL_TYPES = any_of(sorted(SMALL_WORDS), caseless=True)
ROADS = words("highway hwy route rte road fm cr sr rural avenue ave")
"""Those that a number may follow."""

NO_NAMES = any_of(
    "a|the|down|of|from|on|in|into|along|to|my|your|our|their|his|her|this|that|and|or|at|minute|minutes|min|mile|miles|"
    "block|blocks|km|cars|people|house|houses|more|different|times|other|new|busy|best|day|days|hour|hours",
    caseless=True,
)
"""Words after a number that begin no name of a street."""

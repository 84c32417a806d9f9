"""What streets are called in English."""

from discreet.redaction.recognisers.address.grammar import words

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

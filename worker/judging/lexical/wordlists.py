"""Words the judge has to know by heart: lists, nothing else."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """A list of words, written as they are read."""
    return frozenset(text.split())


#: Words that say nothing about a product by themselves.
FUNCTION_WORDS = words(
    """
    a about above after again ago all almost along already also although always am among an and another
    any anyone anything are aren around as at away back be became because become been before being below
    between bit both but by can cannot could couldn d did didn do does doesn doing don done down during
    each either else enough etc even ever every everyone everything few first for from further get gets
    getting given go goes going gone got had hadn has hasn have haven having he her here hers herself
    him himself his how however i if in instead into is isn it its itself just keep kept kind let like
    likely little ll lot lots m ma made make makes making many may maybe me might mine more moreover
    most much must my myself need needs neither never no nobody none nor not nothing now o of off often
    on once one one's ones only onto or other others our ours ourselves out over own per perhaps put
    quite rather re really s same second seem seemed seems several shall she should shouldn since so
    some someone something sometimes somewhat soon sort still such t take taken takes than that the
    their theirs them themselves then there therefore these they thing things third this those though
    three through throughout thus till to together too took toward towards two under unless until up
    upon us use used uses using usually ve very was wasn way we well went were weren what whatever when
    where whereas whether which while who whole whom whose why will with within without won would wouldn
    y yes yet you your yours yourself
    """
)

#: Words of shopping and of summaries: true of any product, so using them covers nothing.
GENERIC_WORDS = words(
    """
    absolutely actually additionally advantage advantages amazing appreciate appreciated arguably aspect
    aspects aware awesome bad basically best better big bought brand brands buy buyer buyers buying buys
    came certain certainly choice choices choose choosing chosen circumstances clearly come comes
    compare compared comparing comparison con conclusion cons consider consideration considered
    considering consumer consumers countless customer customers day days decide decided decision
    definitely depend depending depends different disappointed disappointment downside downsides
    drawback drawbacks end enjoy enjoyed especially essentially everyday excellent expect expectation
    expectations expected experience experienced experiences express expressed factor factors fantastic
    feature features feedback feel feels felt find finds found furthermore general generally give gives
    good great happy helpful highlight highlighted highlights hope hoped hopefully hopes idea ideal
    ideas important importantly impression impressions include included includes including indicate
    indicates individual issue issues item items know known knows life lifestyle like liked likes look
    looking looks love loved loves loving make market matter matters mention mentioned mentions mind
    minds month months need needless needs negative new nice note noted notes noting numerous obviously
    offer offered offering offers old opinion opinions option options order ordered ordinary overall
    part particular particularly people perfect person personal place pleased popular positive praise
    praised preference preferences pro probably problem problems product product's products pros provide
    provided provides providing purchase purchased purchases purchasing reader readers recommend
    recommendation recommended recommends remember report reported review reviewed reviewer reviewers
    reviews said satisfaction satisfied saw say saying says see seen shop shopper shoppers shopping
    simply situation situations small solid start started strong suggest suggested suggests suitable
    suited summarise summarize summary sure thing think thought time times today tomorrow top tried
    truly try trying typical typically ultimately user users various want wanted wants week weeks wisely
    wonderful work worked working works world worst worth year years
    """
)

#: Words that turn what follows into its opposite.
NEGATIONS = words(
    """
    ain't aint aren't arent barely can't cannot cant couldn't couldnt didn't didnt doesn't doesnt don't
    dont hadn't hadnt hardly hasn't hasnt haven't havent isn't isnt lack lacked lacking lacks neither
    never no nobody none nor not nothing scarcely shouldn't shouldnt wasn't wasnt weren't werent without
    won't wont wouldn't wouldnt
    """
)

#: Words that make the next opinion stronger, and weaker.
BOOSTERS = words(
    """
    absolutely completely consistently especially exceptionally extremely highly incredibly most much
    particularly really remarkably so super too totally truly very
    """
)
DAMPERS = words("bit fairly kinda little marginally occasionally rather slightly somewhat sort")

#: Opinion words of product reviews which vaderSentiment lacks or, being made for tweets, reads otherwise.
PRAISE = words(
    """
    accurate affordable ample authentic breathable bright budget-friendly compact consistent convenient
    crisp durable effortless excel excels fast flawless flawlessly fresh generous handy hassle-free
    highly-rated immersive lightweight long-lasting portable premium punchy quick quiet recommend
    recommended recommends reliable responsive rich roomy seamless sharp sleek smooth snappy soft
    spacious sturdy stylish tasty user-friendly value-for-money versatile vibrant vivid waterproof
    well-made worth
    """
)
BLAME = words(
    """
    bland blurry breaking breaks broke broken bug buggy bugs bulky complain complained complaint
    complaints con cons costly crack cracked cracks cramped defective dim dirty downside downsides
    drains drawback drawbacks expensive fade faded fades failed fails faulty flimsy glitch glitches
    glitchy grainy heats inaccurate inconsistent lacking lacks lag lagging laggy lags leak leaked
    leaking leaks leaky loud mediocre noisy overheat overheating overheats overpriced peel peeling peels
    pricey refund returned rude short-lived slow sluggish soggy stale stiff stopped stops subpar tinny
    uncomfortable underwhelming unreliable unresponsive
    """
)
#: Names of things, though vaderSentiment hears an opinion in them.
NEUTRAL = words("alarm battle cut fire hand like low number party play playing share shares stop")

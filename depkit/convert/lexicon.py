"""The words that the converters from Penn trees know: only those of closed classes.

For every other word the converters know only its tag and its position in the tree. Sources: the
classes of Quirk et al. (1985); the tag definitions of Santorini (1990); the definitions of the
relations in de Marneffe and Manning, Stanford typed dependencies manual (2008, revised 2013).
"""

from functools import lru_cache

# Forms of the verbs that make copulas, passives and compound tenses, by the verb's name.
VERBS = {
    "be": "be am is are was were been being 's 're 'm ai s m r",
    "have": "have has had having 've 'd",
    "do": "do does did done doing",
    "get": "get gets got gotten getting",
    "become": "become becomes became becoming remain remains remained remaining seem"
    " seems seemed seeming stay stays stayed staying",
    "resemble": "resemble resembles resembled",
    "ask": "ask asks asked asking tell tells told telling order orders ordered ordering urge urges"
    " urged urging persuade persuades persuaded persuading invite invites invited inviting beg begs"
    " begged begging advise advises advised advising warn warns warned warning remind reminds"
    " reminded reminding teach teaches taught teaching convince convinces convinced convincing"
    " encourage encourages encouraged encouraging instruct instructs instructed instructing",
    "know": "know knows knew known knowing wonder wonders wondered wondering understand understands"
    " understood understanding remember remembers remembered remembering forget forgets forgot"
    " forgotten forgetting explain explains explained explaining imagine imagines imagined"
    " imagining decide decides decided deciding determine determines determined determining"
    " discover discovers discovered discovering realize realizes realized realizing learn learns"
    " learned learning figure figures figured figuring",
    "force": "force forces forced forcing allow allows allowed allowing enable enables enabled"
    " enabling permit permits permitted permitting cause causes caused causing compel compels"
    " compelled compelling",
    "let": "let lets letting make makes made making help helps helped helping",
    "say": "say says said saying see sees saw seen seeing find finds found finding hear hears heard"
    " hearing guess guesses guessed guessing care cares cared caring discuss discusses discussed"
    " discussing",
    "watch": "watch watches watched watching feel feels felt feeling notice notices noticed"
    " noticing",
}
# Words whose name is their form; the keys only group them.
SELF_NAMED = {
    "modals": "will would can could may might must shall should ought need 'll wo ca",
    "prepositions": "about above across after against along among around as at because before"
    " behind below beneath beside besides between beyond but by concerning considering despite"
    " down during except excluding following for from in including inside into like near of off"
    " on onto opposite out outside over past per plus regarding since than through throughout to"
    " toward towards under underneath unlike until up upon versus vs. via with within without"
    " according due instead such rather prior compared based next depending pending barring",
    "subordinators": "if whether that although though unless while whereas once so lest till"
    " provided",
    "conjunctions": "and or but nor & plus yet both either neither not only minus v. vs",
    "determiners": "a an the this these those some any no each every all half such many what"
    " which whatever whichever another quite",
    "pronouns": "i you he she it we they me him her us them who whom whose whoever itself himself"
    " herself themselves ourselves myself yourself one ones there none something anything nothing"
    " everything someone anyone everyone nobody somebody everybody",
    "question words": "when where why how whenever wherever however",
    "particles": "away back forward together apart ahead aside along",
    "adverbs": "n't never very too also just even still already almost nearly roughly"
    " approximately about around more most less least fewer well far much ago later earlier then"
    " now here maybe perhaps especially particularly mainly ever else otherwise long soon again"
    " enough further alone early late daily weekly once twice at",
    "times": "time times second seconds minute minutes hour hours day days week weeks month months"
    " quarter quarters year years decade decades century centuries weekend weekends morning"
    " mornings afternoon afternoons evening evenings night nights noon midnight period moment",
    "vague": "kind sort",
    "others": "last same other own certain several few little lot matter addition fact case order"
    " course"
    " 's ' $ # % us$ c$ a$ - -- : ; , . ? ! `` '' -lrb- -rrb- etc. ok yes no well oh please",
}
# Names of times, by the name of their class. Other nouns of time are in SELF_NAMED.
TIMES = {
    "weekday": "monday tuesday wednesday thursday friday saturday sunday mon. tue. tues. wed. thu."
    " thurs. fri. sat. sun.",
    "month-name": "january february march april may june july august september october november"
    " december jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec.",
    "season": "spring summer fall autumn winter",
    "today": "today tomorrow yesterday tonight",
}
# Parts of names: words before the name of a person, and words that only other names contain.
NAMES = {
    "title": "mr. mrs. ms. dr. mr mrs ms dr prof. professor president senator sen. gov. governor"
    " rep. congressman congresswoman judge minister chancellor ambassador secretary mayor king"
    " queen prince princess pope sir lord lady gen. capt. captain col. colonel sgt. sergeant lt."
    " lieutenant maj. adm. admiral rev. sheikh ayatollah",
    "institution": "inc. inc corp. corp corporation co. company ltd. ltd llc plc group partners"
    " bank exchange trust fund holdings industries international systems services service energy"
    " gas power control street st. avenue ave ave. road rd. lane drive square boulevard highway"
    " bridge city county province state states republic kingdom valley island islands bay lake"
    " river sea ocean coast beach mountain park garden gardens airport hotel inn cafe restaurant"
    " hospital clinic university college school institute academy museum library gallery church"
    " center centre house hall court senate congress parliament cabinet department ministry agency"
    " bureau office commission committee council board authority administration government party"
    " union association society foundation organization league club front army navy force forces"
    " guard police war act treaty law news times post journal press network radio tv world europe"
    " asia africa america korea vietnam carolina dakota zealand",
    "direction": "north south east west northern southern eastern western central united new",
}
# Adjectives with an infinitive that is not their subject: `It is ready to eat`.
PERSONAL = {
    "personal": "ready able unable likely unlikely sure certain glad happy willing unwilling due"
    " bound eager free afraid sorry quick slow prepared",
}
NUMBERS = {
    "hundred": "hundred thousand million billion trillion hundreds thousands millions billions"
    " trillions dozen dozens",
    "number": "zero one two three four five six seven eight nine ten eleven twelve thirteen"
    " fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty"
    " seventy eighty ninety",
}
# Emoticons, with brackets as in text, and as -LRB- and -RRB-.
_FACES = ":) :( ;) :D ^_^ :-) :-( ;-) (: ): =) =( :O :P ;P :/ -_- :-D :-P <3"
EMOTICONS = {
    "emoticon": f"{_FACES} {_FACES.replace(')', '-RRB-').replace('(', '-LRB-')}".lower(),
}


def _name_words() -> dict[str, str]:
    """Map every word in the tables above to its name."""
    names: dict[str, str] = {}
    for group in (NUMBERS, TIMES, VERBS, NAMES, PERSONAL, EMOTICONS):
        for name, words in group.items():
            names |= dict.fromkeys(words.split(), name)
    for words in SELF_NAMED.values():
        names |= {word: word for word in words.split() if word not in names}
    return names


_NAMES = _name_words()


@lru_cache(maxsize=1 << 14)
def closed_class(word: str) -> str:
    """Return the name of a closed-class word (be for `were`, than for `than`), else ""."""
    return _NAMES.get(word.lower().replace("’", "'"), "")

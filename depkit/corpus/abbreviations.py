"""Abbreviations of many languages, in lower case and without the full stop.

Treebanks are too small to have them all. Each tokenizer also has those of its own that its
treebanks support, see `training.text_rules`. Left out are frequent words of some language, such as
the Norwegian *min* and the Polish *lat*.
"""

# After these, a capital letter can follow the full stop without a space.
UNSPACED = frozenset(
    "approx apr aprox art ekskl engl env evt evtl excl exkl feat geb gem gen ifm incl inkl jud"
    " kpt lat loc maks max min obr okr pow prof prov resp roz sbr tel woj wyd"
    " ген гор грн нем пос род руб тел".split()
)

# After these, a number does not begin a sentence, nor does a lower-case letter.
BEFORE_NUMBERS = frozenset(
    "approx aprox env ca cca máx mín maks макс прибл fig figs eq eqs chap vol vols pp arts"
    " artt kap hfst rozdz rys obr odst písm alin cfr vgl vrt jfr srov zob bkz hlm pág págs"
    " pagg blz стр рис табл гл изд стор ibid réf nr núm nro tel tél tlf tfno jan kl klo godz"
    " febr apr aug sept okt oct nov dec янв фев авг сент окт нояб janv févr juil déc tammik".split()
)

# After these, a lower-case letter does not begin a sentence; a capital letter can.
BEFORE_LOWER_CASE = BEFORE_NUMBERS | frozenset(
    # measures, `and so on`, references, persons, places, institutions and others
    "hrs yrs lbs oz tbsp tsp temp avg hab std jh jhs mio mrd jew entspr allg sog bzgl inkl"
    " zzgl ggf usw uvm osv jne yms mfl mv itd itp atd apod tzn tzw mln mld milj mill stk szt"
    " kpl tsk msk rkl hod stol tis tys млн млрд тыс тис шт коп кв сек хв рр гг вв др обл enz"
    " etc ecc vb dll dsb dkk abb bnd uppl utg vyd wyd hrsg aufl див dept depto dpto govt"
    " assoc univ corp inc ltd ltda cia dép orig misc esp mme mlle mgr sra hra inż avv geom"
    " exmo excmo nar enl ang iflg vedr ult popř příp např resp evtl ekv esim bijv evt excl"
    " exkl incl ekskl зв ін грн мин напр см ср ej".split()
)

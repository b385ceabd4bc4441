"""Abbreviations of many languages, in lower case and without the full stop.

Treebanks are too small to have them all. A tokenizer has more, which were chosen by its treebanks,
see `training.text_rules`.
"""

# After these, a capital letter can follow the full stop without a space.
UNSPACED = frozenset(
    "approx apr aprox art ekskl engl env evt evtl excl exkl feat geb gem gen ifm incl inkl jud"
    " kpt lat loc maks max min obr okr pow prof prov resp roz sbr tel woj wyd"
    " ген гор грн нем пос род руб тел".split()
)

# A sentence can end after some of these, but not if a lower-case letter or a digit follows.
INNER = UNSPACED | frozenset(
    # measures, times, quantities, and `and so on`
    "hrs yrs lbs oz tbsp tsp temp avg hab seg std jh jhs mio mrd jew entspr allg sog bzgl inkl"
    " exkl zzgl ggf usw uvm osv jne yms mfl mv itd itp atd apod aj tzn tzw mln mld mil milj mill"
    " stk szt kpl tsk msk rkl tl klo kl godz hod stol tis tys млн млрд тыс тис шт коп кв сек хв"
    " рр гг вв др табл обл enz etc ecc vb dll dsb dkk"
    # references
    " fig figs eq eqs sec ch chap vol vols ed eds pp art arts artt kap hfst rozdz rys obr tab odst"
    " písm alin lim cf cfr vgl vrt jfr jf srov por zob bkz hlm pág págs pag pagg blz sid str стр"
    " рис гл изд стор див ibid réf ref abb bd bind bnd uppl utg vyd wyd nr núm num nro hrsg aufl"
    # persons, places, institutions and others
    " dept depto dpto govt assoc univ corp inc ltd ltda cia cie est orig misc esp ext tél tlf tfno"
    " mme mlle mgr sr sra hr fr hra ing inż avv dott geom exmo excmo syn nar synt geb ur zm род ум"
    " enl ang iflg vedr gem lt ult popř příp např resp ev evtl eventuell env aprox máx mín maks"
    " min max ca cca env ekv esim bijv evt excl incl div зв напр макс мин бл ок см ср янв фев авг"
    " сент окт нояб дек jan feb febr mar apr aug sept okt oct nov dec janv févr juil déc dép tammik"
    " ex ej".split()
)

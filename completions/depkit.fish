# depkit's completion for fish: made by python -m depkit.cli.pages, not by hand.
# Put it into ~/.config/fish/completions.

function __depkit_at --description 'Whether the subcommand is this one, or there is none as yet'
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if not string match -q -- '-*' $word
            test "$word" = "$argv[1]"
            return
        end
    end
    test -z "$argv[1]"
end

function __depkit_directories
    __fish_complete_directories (string replace -r '^-[^=]*=' '' -- (commandline -ct))
end

complete -c depkit -f
complete -c depkit -n '__depkit_at ""' -a train -d 'Train a parser'
complete -c depkit -n '__depkit_at ""' -a parse -d 'Parse text or treebanks: a tree for each sentence'
complete -c depkit -n '__depkit_at ""' -a eval -d 'Score parsed files against a gold file: attachment, exact matches, tags; in percent'
complete -c depkit -n '__depkit_at ""' -a analyze -d 'Break scores down by distance, depth, relation and more, for one system or several'
complete -c depkit -n '__depkit_at ""' -a show -d 'Draw the trees of a CoNLL-U, CoNLL-X or CoNLL-09 file'
complete -c depkit -n '__depkit_at ""' -a info -d 'Tell what depkit runs on here, or what a model is'
complete -c depkit -n '__depkit_at ""' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at ""' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "train"' -F
complete -c depkit -n '__depkit_at "train"' -l output -s o -r -f -a '(__depkit_directories)' -d 'The model directory to make.'
complete -c depkit -n '__depkit_at "train"' -l dev -r -F -d 'The treebank that chooses the best epoch.'
complete -c depkit -n '__depkit_at "train"' -l dev-split -r -f -d 'Instead: this share of TRAIN, evenly spread, e.g. 0.1.'
complete -c depkit -n '__depkit_at "train"' -l recipe -r -f -a 'bilstm en-ewt li2019-bilstm li2019-selfatt selfatt' -d 'bilstm, selfatt, li2019-bilstm, ...'
complete -c depkit -n '__depkit_at "train"' -l config -r -F -d 'A TOML file over the recipe.'
complete -c depkit -n '__depkit_at "train"' -l set -r -f -d 'One setting over both, e.g. encoder.layers=4; repeatable.'
complete -c depkit -n '__depkit_at "train"' -l init -r -f -a 'en-ewt (__depkit_directories)' -d 'Start from this model: its parts, weights, words, tokenizer.'
complete -c depkit -n '__depkit_at "train"' -l seed -r -f -d 'Random seed.'
complete -c depkit -n '__depkit_at "train"' -l seeds -r -f -d 'Train so many, from --seed on; mean and deviation.'
complete -c depkit -n '__depkit_at "train"' -l epochs -r -f -d 'At most so many epochs.'
complete -c depkit -n '__depkit_at "train"' -l patience -r -f -d 'Stop after so many epochs without a gain.'
complete -c depkit -n '__depkit_at "train"' -l max-time -r -f -d 'At most so long, e.g. 90s, 10m, 2h.'
complete -c depkit -n '__depkit_at "train"' -l resume -d 'Go on with the run in the output.'
complete -c depkit -n '__depkit_at "train"' -l device -r -f -a 'auto cpu cuda mps' -d 'auto, cpu, cuda, cuda:N or mps.'
complete -c depkit -n '__depkit_at "train"' -l threads -r -f -d 'CPU threads; all cores if not given.'
complete -c depkit -n '__depkit_at "train"' -l encoding -r -f -d 'The input files\' encoding, e.g. latin-1.'
complete -c depkit -n '__depkit_at "train"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "train"' -l verbose -s v -d 'Say more on stderr.'
complete -c depkit -n '__depkit_at "train"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "train"' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "parse"' -F
complete -c depkit -n '__depkit_at "parse"' -l model -r -f -a 'en-ewt (__depkit_directories)' -d 'A model directory, or a bundled model\'s name.'
complete -c depkit -n '__depkit_at "parse"' -l input -r -f -a 'text lines tokens conllu conllx conll09' -d 'By default CoNLL formats are told by name or content, and all else is text; lines: one sentence a line; tokens: likewise, with spaces between tokens.'
complete -c depkit -n '__depkit_at "parse"' -l tags -r -f -a 'keep predict' -d 'Keep or predict all tags; by default empty tag columns are filled in.'
complete -c depkit -n '__depkit_at "parse"' -l decode -r -f -a 'mst eisner argmax' -d 'mst, eisner (projective) or argmax (maybe no tree); else the model\'s.'
complete -c depkit -n '__depkit_at "parse"' -l root -r -f -a 'auto single multi' -d 'How many children the root may have; auto is the model\'s way.'
complete -c depkit -n '__depkit_at "parse"' -l format -r -f -a 'conllu json' -d 'json: an object a line, with character offsets; else CoNLL, as the input, CoNLL-U for text.'
complete -c depkit -n '__depkit_at "parse"' -l output -s o -r -F -d 'The file to write, - for stdout.'
complete -c depkit -n '__depkit_at "parse"' -l output-dir -r -f -a '(__depkit_directories)' -d 'Write each file under its own name into this directory.'
complete -c depkit -n '__depkit_at "parse"' -l device -r -f -a 'auto cpu cuda mps' -d 'auto, cpu, cuda, cuda:N or mps.'
complete -c depkit -n '__depkit_at "parse"' -l batch-tokens -r -f -d 'Words, padding included, that are scored at once.'
complete -c depkit -n '__depkit_at "parse"' -l threads -r -f -d 'CPU threads; all cores if not given.'
complete -c depkit -n '__depkit_at "parse"' -l encoding -r -f -d 'The input files\' encoding, e.g. latin-1.'
complete -c depkit -n '__depkit_at "parse"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "parse"' -l verbose -s v -d 'Say more on stderr.'
complete -c depkit -n '__depkit_at "parse"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "parse"' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "eval"' -F
complete -c depkit -n '__depkit_at "eval"' -l punct -r -f -a 'keep ptb ptb7 ctb unicode upos deprel' -d 'Which gold words to leave out: keep (none), ptb (XPOS `` \'\' : , .), ptb7 (also -LRB- -RRB-), ctb (XPOS PU), unicode (forms all punctuation, as the CoNLL scripts), upos (PUNCT), deprel (punct), or tags:A,B,... of XPOS.'
complete -c depkit -n '__depkit_at "eval"' -l subtypes -r -f -a 'keep drop' -d 'drop cuts relations at the first colon: nsubj:pass, nsubj.'
complete -c depkit -n '__depkit_at "eval"' -l align -d 'The CoNLL 2018 evaluation, for other tokens, words and sentences of the same text: Tokens, Sentences, Words, UPOS ... MLAS, BLEX.'
complete -c depkit -n '__depkit_at "eval"' -l relations -d 'Also precision, recall and F1 of each relation.'
complete -c depkit -n '__depkit_at "eval"' -l confidence -d '95% intervals: 1,000 bootstrap samples of sentences.'
complete -c depkit -n '__depkit_at "eval"' -l test -r -f -a 'ar bootstrap mcnemar' -d 'Test each later PRED against the first: paired approximate randomisation or bootstrap over sentences (10,000 trials), or McNemar\'s test over words; p values are adjusted by Holm\'s method.'
complete -c depkit -n '__depkit_at "eval"' -l seed -r -f -d 'Of the random numbers in intervals and tests.'
complete -c depkit -n '__depkit_at "eval"' -l format -r -f -a 'text json latex markdown csv' -d 'How to print.'
complete -c depkit -n '__depkit_at "eval"' -l json -d 'The same as --format json.'
complete -c depkit -n '__depkit_at "eval"' -s b -l metric -r -f -a 'UAS LAS LA UEM LEM RA CLAS UPOS XPOS FEATS Lemmas Tokens Sentences Words UFeats AllTags MLAS BLEX' -d 'Print this number alone, a line a system: UAS, LAS, LA, UEM, LEM, RA, CLAS, UPOS, XPOS, FEATS, Lemmas, Tokens, Sentences, Words, UFeats, AllTags, MLAS, BLEX.'
complete -c depkit -n '__depkit_at "eval"' -l encoding -r -f -d 'The input files\' encoding, e.g. latin-1.'
complete -c depkit -n '__depkit_at "eval"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "eval"' -l verbose -s v -d 'Say more on stderr.'
complete -c depkit -n '__depkit_at "eval"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "eval"' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "analyze"' -F
complete -c depkit -n '__depkit_at "analyze"' -l by -r -f -a 'distance signed-distance direction depth branching siblings projectivity deprel base-deprel upos xpos feats length position frequency oov' -d 'What to group by; given twice or more, crossed. There are distance (|head - dependent|), signed-distance (head - dependent), direction (the side on which the head stands), depth (arcs up to the root\'s dependent), branching (dependents of the word), siblings (other dependents of its head), projectivity (whether the head dominates all words between), deprel (relation), base-deprel (relation without subtype), upos (gold UPOS), xpos (gold XPOS), feats (each gold feature), length (words in the sentence), position (number in the sentence), frequency (occurrences of the form in --train FILE), oov (whether --train FILE has the form).'
complete -c depkit -n '__depkit_at "analyze"' -l bins -r -f -d 'Bins of a --by of numbers, in their order: 1,2,3-6,7- or, of negative numbers, ..-3,-2..2; each for every number.'
complete -c depkit -n '__depkit_at "analyze"' -l preset -r -f -a 'li2019 mcdonald-nivre conllx' -d 'Tables of the literature instead of --by: li2019 (distance 1, 2, 3, 4, 5-6, 7-10, 11-), mcdonald-nivre (sentence length, distance, depth), conllx (those of the CoNLL-X script).'
complete -c depkit -n '__depkit_at "analyze"' -l metric -r -f -a 'UAS LAS LA UPOS XPOS FEATS Lemmas bin' -d 'What has to be right: UAS, LAS, LA, UPOS, XPOS, FEATS, Lemmas, bin (the bin is the same, whatever the head, as in the CoNLL-X script\'s tables).'
complete -c depkit -n '__depkit_at "analyze"' -l confusion -r -f -a 'deprel upos xpos head' -d 'What is taken for what, the most frequent first: deprel, upos, xpos, head (the heads\' gold UPOS).'
complete -c depkit -n '__depkit_at "analyze"' -l worst -r -f -d 'The N sentences with most errors.'
complete -c depkit -n '__depkit_at "analyze"' -l top -r -f -d 'How many confusions.'
complete -c depkit -n '__depkit_at "analyze"' -l rer -d 'Relative error reduction of F1 against the first PRED.'
complete -c depkit -n '__depkit_at "analyze"' -l confidence -d '95% intervals: 1,000 bootstrap samples of sentences.'
complete -c depkit -n '__depkit_at "analyze"' -l test -r -f -a 'ar bootstrap' -d 'Test each later PRED\'s F1 against the first\'s, bin by bin: paired approximate randomisation or bootstrap over sentences, adjusted by Holm\'s method over the table.'
complete -c depkit -n '__depkit_at "analyze"' -l seed -r -f -d 'Of the random numbers in intervals and tests.'
complete -c depkit -n '__depkit_at "analyze"' -l train -r -F -d 'A training file, for --by frequency and --by oov.'
complete -c depkit -n '__depkit_at "analyze"' -l plot -r -F -d 'Draw the tables into a .svg, .png or .pdf file instead (needs depkit[plot]).'
complete -c depkit -n '__depkit_at "analyze"' -l punct -r -f -a 'keep ptb ptb7 ctb unicode upos deprel' -d 'Which gold words to leave out: keep (none), ptb (XPOS `` \'\' : , .), ptb7 (also -LRB- -RRB-), ctb (XPOS PU), unicode (forms all punctuation, as the CoNLL scripts), upos (PUNCT), deprel (punct), or tags:A,B,... of XPOS.'
complete -c depkit -n '__depkit_at "analyze"' -l subtypes -r -f -a 'keep drop' -d 'drop cuts relations at the first colon: nsubj:pass, nsubj.'
complete -c depkit -n '__depkit_at "analyze"' -l format -r -f -a 'text json latex markdown csv' -d 'How to print.'
complete -c depkit -n '__depkit_at "analyze"' -l json -d 'The same as --format json.'
complete -c depkit -n '__depkit_at "analyze"' -l encoding -r -f -d 'The input files\' encoding, e.g. latin-1.'
complete -c depkit -n '__depkit_at "analyze"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "analyze"' -l verbose -s v -d 'Say more on stderr.'
complete -c depkit -n '__depkit_at "analyze"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "analyze"' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "show"' -F
complete -c depkit -n '__depkit_at "show"' -l style -r -f -a 'arcs tree' -d 'arcs above the words, or an indented tree, a word a line.'
complete -c depkit -n '__depkit_at "show"' -l sentence -r -f -d 'Show this one: its number from 1, or its sent_id.'
complete -c depkit -n '__depkit_at "show"' -l width -r -f -d 'Where to wrap.'
complete -c depkit -n '__depkit_at "show"' -l diff -r -F -d 'Show what is wrong in this file, given FILE is right.'
complete -c depkit -n '__depkit_at "show"' -l all -d 'With --diff, also show sentences without an error.'
complete -c depkit -n '__depkit_at "show"' -l color -r -f -a 'auto always never' -d 'With --diff; auto: on a terminal, unless NO_COLOR is set.'
complete -c depkit -n '__depkit_at "show"' -l svg -r -F -d 'Write a picture instead, - for stdout.'
complete -c depkit -n '__depkit_at "show"' -l encoding -r -f -d 'The input files\' encoding, e.g. latin-1.'
complete -c depkit -n '__depkit_at "show"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "show"' -l verbose -s v -d 'Say more on stderr.'
complete -c depkit -n '__depkit_at "show"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "show"' -l debug -d 'Show the traceback of an error.'
complete -c depkit -n '__depkit_at "info"' -f -a 'en-ewt (__depkit_directories)'
complete -c depkit -n '__depkit_at "info"' -l json -d 'Print one JSON object.'
complete -c depkit -n '__depkit_at "info"' -l quiet -s q -d 'Say nothing but errors.'
complete -c depkit -n '__depkit_at "info"' -l verbose -s v -d 'Print a model\'s recipe, too, as TOML.'
complete -c depkit -n '__depkit_at "info"' -l help -d 'Show this message and exit.'
complete -c depkit -n '__depkit_at "info"' -l debug -d 'Show the traceback of an error.'

# depkit's completion for bash: made by python -m depkit.cli.pages, not by hand.
# Source it in ~/.bashrc, or put it at ~/.local/share/bash-completion/completions/depkit.

# Print what an option ($2) or the argument at a place ($2, from 0) of a subcommand ($1) takes.
_depkit_value() {
    case $1 in
        "")
            case $2 in
            esac
            ;;
        "train")
            case $2 in
                -o | --output) echo "directory" ;;
                --dev | --config | --features | --dev-features | [0-9]*) echo "file" ;;
                --dev-split | --seed | --seeds | --epochs | --patience | --max-time | --threads | --encoding) echo "free" ;;
                --recipe) echo "words bilstm en-ewt finetune kk2018-factored li2019-bert li2019-bilstm li2019-elmo li2019-selfatt selfatt small tagger" ;;
                --set) echo "words about= training.epochs= training.patience= training.batch_tokens= training.updates= training.accumulate= training.rate= training.context_rate= training.layer_decay= training.beta1= training.beta2= training.epsilon= training.weight_decay= training.clip= training.warmup= training.schedule= training.decay= training.decay_updates= training.select= training.precision= training.save_every= training.storage= tokenizer.enabled= tokenizer.embedding= tokenizer.size= tokenizer.dropout= tokenizer.epochs= tokenizer.batch_characters= tokenizer.rate= distillation.weight= distillation.text= family= inputs.word= inputs.word_min_count= inputs.word_unknown= inputs.lowercase= inputs.tag= inputs.tag_column= inputs.char= inputs.char_kind= inputs.char_embedding= inputs.char_dropout= inputs.combine= inputs.part_dropout= inputs.dropout= inputs.lexicon= inputs.vectors.file= inputs.vectors.combine= inputs.vectors.keep= inputs.vectors.tune= inputs.vectors.scale= inputs.vectors.width= inputs.context.source= inputs.context.model= inputs.context.revision= inputs.context.layers= inputs.context.top= inputs.context.pooling= inputs.context.size= inputs.context.dropout= inputs.context.tune= inputs.context.overlap= inputs.context.checkpointing= inputs.context.digest= inputs.context.available= inputs.context.width= encoder.kind= encoder.layers= encoder.size= encoder.dropout= encoder.recurrent_dropout= encoder.heads= encoder.head_size= encoder.feedforward= encoder.attention_dropout= encoder.feedforward_dropout= encoder.residual_dropout= encoder.positions= encoder.norm_first= encoder.window= encoder.relaxed= encoder.attend= scorer.dropout= scorer.predict= scorer.tag_hidden= scorer.arc= scorer.label= decoder.algorithm= decoder.root= decoder.root_label=" ;;
                --init) echo "model" ;;
                --device) echo "words auto cpu cuda mps" ;;
            esac
            ;;
        "ensemble")
            case $2 in
                -o | --output | --reuse) echo "directory" ;;
                --dev | --config | --features | --dev-features | [0-9]*) echo "file" ;;
                --dev-split | --folds | --seed | --epochs | --patience | --max-time | --threads | --encoding) echo "free" ;;
                --recipes) echo "words bilstm en-ewt finetune kk2018-factored li2019-bert li2019-bilstm li2019-elmo li2019-selfatt selfatt small tagger" ;;
                --mean) echo "words arithmetic geometric" ;;
                --set) echo "words about= training.epochs= training.patience= training.batch_tokens= training.updates= training.accumulate= training.rate= training.context_rate= training.layer_decay= training.beta1= training.beta2= training.epsilon= training.weight_decay= training.clip= training.warmup= training.schedule= training.decay= training.decay_updates= training.select= training.precision= training.save_every= training.storage= tokenizer.enabled= tokenizer.embedding= tokenizer.size= tokenizer.dropout= tokenizer.epochs= tokenizer.batch_characters= tokenizer.rate= distillation.weight= distillation.text= family= inputs.word= inputs.word_min_count= inputs.word_unknown= inputs.lowercase= inputs.tag= inputs.tag_column= inputs.char= inputs.char_kind= inputs.char_embedding= inputs.char_dropout= inputs.combine= inputs.part_dropout= inputs.dropout= inputs.lexicon= inputs.vectors.file= inputs.vectors.combine= inputs.vectors.keep= inputs.vectors.tune= inputs.vectors.scale= inputs.vectors.width= inputs.context.source= inputs.context.model= inputs.context.revision= inputs.context.layers= inputs.context.top= inputs.context.pooling= inputs.context.size= inputs.context.dropout= inputs.context.tune= inputs.context.overlap= inputs.context.checkpointing= inputs.context.digest= inputs.context.available= inputs.context.width= encoder.kind= encoder.layers= encoder.size= encoder.dropout= encoder.recurrent_dropout= encoder.heads= encoder.head_size= encoder.feedforward= encoder.attention_dropout= encoder.feedforward_dropout= encoder.residual_dropout= encoder.positions= encoder.norm_first= encoder.window= encoder.relaxed= encoder.attend= scorer.dropout= scorer.predict= scorer.tag_hidden= scorer.arc= scorer.label= decoder.algorithm= decoder.root= decoder.root_label=" ;;
                --device) echo "words auto cpu cuda mps" ;;
            esac
            ;;
        "distill")
            case $2 in
                --train | --dev | --config | [1-9]*) echo "file" ;;
                -o | --output) echo "directory" ;;
                --dev-split | --seed | --epochs | --patience | --max-time | --batch-tokens | --threads | --encoding) echo "free" ;;
                --recipe) echo "words bilstm en-ewt finetune kk2018-factored li2019-bert li2019-bilstm li2019-elmo li2019-selfatt selfatt small tagger" ;;
                --set) echo "words about= training.epochs= training.patience= training.batch_tokens= training.updates= training.accumulate= training.rate= training.context_rate= training.layer_decay= training.beta1= training.beta2= training.epsilon= training.weight_decay= training.clip= training.warmup= training.schedule= training.decay= training.decay_updates= training.select= training.precision= training.save_every= training.storage= tokenizer.enabled= tokenizer.embedding= tokenizer.size= tokenizer.dropout= tokenizer.epochs= tokenizer.batch_characters= tokenizer.rate= distillation.weight= distillation.text= family= inputs.word= inputs.word_min_count= inputs.word_unknown= inputs.lowercase= inputs.tag= inputs.tag_column= inputs.char= inputs.char_kind= inputs.char_embedding= inputs.char_dropout= inputs.combine= inputs.part_dropout= inputs.dropout= inputs.lexicon= inputs.vectors.file= inputs.vectors.combine= inputs.vectors.keep= inputs.vectors.tune= inputs.vectors.scale= inputs.vectors.width= inputs.context.source= inputs.context.model= inputs.context.revision= inputs.context.layers= inputs.context.top= inputs.context.pooling= inputs.context.size= inputs.context.dropout= inputs.context.tune= inputs.context.overlap= inputs.context.checkpointing= inputs.context.digest= inputs.context.available= inputs.context.width= encoder.kind= encoder.layers= encoder.size= encoder.dropout= encoder.recurrent_dropout= encoder.heads= encoder.head_size= encoder.feedforward= encoder.attention_dropout= encoder.feedforward_dropout= encoder.residual_dropout= encoder.positions= encoder.norm_first= encoder.window= encoder.relaxed= encoder.attend= scorer.dropout= scorer.predict= scorer.tag_hidden= scorer.arc= scorer.label= decoder.algorithm= decoder.root= decoder.root_label=" ;;
                --input) echo "words text lines tokens conllu conllx conll09" ;;
                --device) echo "words auto cpu cuda mps" ;;
                0) echo "model" ;;
            esac
            ;;
        "parse")
            case $2 in
                --model) echo "model" ;;
                --mean) echo "words arithmetic geometric" ;;
                --input) echo "words text lines tokens conllu conllx conll09" ;;
                --tags) echo "words keep predict" ;;
                --decode) echo "words mst eisner argmax" ;;
                --root) echo "words auto single multi" ;;
                --format) echo "words conllu conllx conll09 json" ;;
                -o | --output | --features | [0-9]*) echo "file" ;;
                --output-dir) echo "directory" ;;
                --set) echo "words encoder.window= encoder.relaxed= encoder.attend= inputs.context.model=" ;;
                --device) echo "words auto cpu cuda mps" ;;
                --batch-tokens | --threads | --encoding) echo "free" ;;
            esac
            ;;
        "tag")
            case $2 in
                --model) echo "model" ;;
                --mean) echo "words arithmetic geometric" ;;
                --input) echo "words text lines tokens conllu conllx conll09" ;;
                --tags) echo "words missing predict" ;;
                --format) echo "words conllu conllx conll09 json" ;;
                -o | --output | --features | --config | [0-9]*) echo "file" ;;
                --output-dir | --work) echo "directory" ;;
                --folds | --epochs | --seed | --batch-tokens | --threads | --encoding) echo "free" ;;
                --recipe) echo "words bilstm en-ewt finetune kk2018-factored li2019-bert li2019-bilstm li2019-elmo li2019-selfatt selfatt small tagger" ;;
                --set) echo "words about= training.epochs= training.patience= training.batch_tokens= training.updates= training.accumulate= training.rate= training.context_rate= training.layer_decay= training.beta1= training.beta2= training.epsilon= training.weight_decay= training.clip= training.warmup= training.schedule= training.decay= training.decay_updates= training.select= training.precision= training.save_every= training.storage= tokenizer.enabled= tokenizer.embedding= tokenizer.size= tokenizer.dropout= tokenizer.epochs= tokenizer.batch_characters= tokenizer.rate= distillation.weight= distillation.text= family= inputs.word= inputs.word_min_count= inputs.word_unknown= inputs.lowercase= inputs.tag= inputs.tag_column= inputs.char= inputs.char_kind= inputs.char_embedding= inputs.char_dropout= inputs.combine= inputs.part_dropout= inputs.dropout= inputs.lexicon= inputs.vectors.file= inputs.vectors.combine= inputs.vectors.keep= inputs.vectors.tune= inputs.vectors.scale= inputs.vectors.width= inputs.context.source= inputs.context.model= inputs.context.revision= inputs.context.layers= inputs.context.top= inputs.context.pooling= inputs.context.size= inputs.context.dropout= inputs.context.tune= inputs.context.overlap= inputs.context.checkpointing= inputs.context.digest= inputs.context.available= inputs.context.width= encoder.kind= encoder.layers= encoder.size= encoder.dropout= encoder.recurrent_dropout= encoder.heads= encoder.head_size= encoder.feedforward= encoder.attention_dropout= encoder.feedforward_dropout= encoder.residual_dropout= encoder.positions= encoder.norm_first= encoder.window= encoder.relaxed= encoder.attend= scorer.dropout= scorer.predict= scorer.tag_hidden= scorer.arc= scorer.label= decoder.algorithm= decoder.root= decoder.root_label=" ;;
                --device) echo "words auto cpu cuda mps" ;;
            esac
            ;;
        "eval")
            case $2 in
                --punct) echo "words keep ptb ptb7 ctb unicode upos deprel" ;;
                --subtypes) echo "words keep drop" ;;
                --test) echo "words ar bootstrap mcnemar" ;;
                --seed | --encoding) echo "free" ;;
                --format) echo "words text json latex markdown csv" ;;
                -b | --metric) echo "words UAS LAS LA UEM LEM RA CLAS UPOS XPOS FEATS Lemmas Tokens Sentences Words UFeats AllTags MLAS BLEX" ;;
                0 | [1-9]*) echo "file" ;;
            esac
            ;;
        "analyze")
            case $2 in
                --by) echo "words distance signed-distance direction depth branching siblings projectivity deprel base-deprel upos xpos feats length position frequency oov" ;;
                --bins | --worst | --top | --seed | --encoding) echo "free" ;;
                --preset) echo "words li2019 mcdonald-nivre conllx" ;;
                --metric) echo "words UAS LAS LA UPOS XPOS FEATS Lemmas bin" ;;
                --confusion) echo "words deprel upos xpos head" ;;
                --test) echo "words ar bootstrap" ;;
                --train | --plot | 0 | [1-9]*) echo "file" ;;
                --measure) echo "words precision recall f1" ;;
                --punct) echo "words keep ptb ptb7 ctb unicode upos deprel" ;;
                --subtypes) echo "words keep drop" ;;
                --format) echo "words text json latex markdown csv" ;;
            esac
            ;;
        "convert")
            case $2 in
                -o | --output | --tags | --merge | [0-9]*) echo "file" ;;
                --from) echo "words ptb conllx conll09 conllu" ;;
                --to) echo "words conllx conll09 conllu" ;;
                --dependencies) echo "words sd ud" ;;
                --encoding) echo "free" ;;
            esac
            ;;
        "check")
            case $2 in
                --train | [0-9]*) echo "file" ;;
                --max | --encoding) echo "free" ;;
            esac
            ;;
        "stats")
            case $2 in
                --encoding) echo "free" ;;
                [0-9]*) echo "file" ;;
            esac
            ;;
        "show")
            case $2 in
                --style) echo "words arcs tree" ;;
                --sentence | --width | --encoding) echo "free" ;;
                --diff | --svg | 0) echo "file" ;;
                --color) echo "words auto always never" ;;
            esac
            ;;
        "info")
            case $2 in
                0) echo "model" ;;
            esac
            ;;
    esac
}

# Print the options of a subcommand.
_depkit_options() {
    case $1 in
        "") echo "--version --help --debug" ;;
        "train") echo "--output --dev --dev-split --recipe --config --set --features --dev-features --init --seed --seeds --epochs --patience --max-time --resume --keep-state --device --threads --encoding --quiet --verbose --help --debug" ;;
        "ensemble") echo "--output --dev --dev-split --folds --recipes --mean --reuse --config --set --features --dev-features --seed --epochs --patience --max-time --keep-state --device --threads --encoding --quiet --verbose --help --debug" ;;
        "distill") echo "--train --output --dev --dev-split --recipe --config --set --input --seed --epochs --patience --max-time --resume --keep-state --device --batch-tokens --threads --encoding --quiet --verbose --help --debug" ;;
        "parse") echo "--model --mean --input --tags --decode --root --format --output --output-dir --prob --marginals --features --set --device --batch-tokens --threads --encoding --quiet --verbose --help --debug" ;;
        "tag") echo "--model --mean --input --tags --format --output --output-dir --features --folds --recipe --config --set --epochs --seed --work --resume --keep-state --device --batch-tokens --threads --encoding --quiet --verbose --help --debug" ;;
        "eval") echo "--punct --subtypes --align --relations --confidence --test --seed --format --json --metric --encoding --quiet --verbose --help --debug" ;;
        "analyze") echo "--by --bins --preset --metric --confusion --worst --calibration --agreement --top --rer --confidence --test --seed --train --plot --measure --punct --subtypes --format --json --encoding --quiet --verbose --help --debug" ;;
        "convert") echo "--output --from --to --dependencies --tags --predicted --merge --merge-tags --strict --encoding --quiet --verbose --help --debug" ;;
        "check") echo "--ud --train --max --all --json --encoding --quiet --verbose --help --debug" ;;
        "stats") echo "--json --encoding --quiet --verbose --help --debug" ;;
        "show") echo "--style --sentence --width --diff --all --color --svg --encoding --quiet --verbose --help --debug" ;;
        "info") echo "--json --quiet --verbose --help --debug" ;;
    esac
}

# Add to COMPREPLY what compgen makes of its options and the word; a file may have spaces.
_depkit_add() {
    local found
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(compgen "$@")
}

_depkit() {
    local word reply current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command="" option="" place=0 i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $option && $word == "=" ]]; then
            continue # --option=value comes as three words
        elif [[ $option ]]; then
            option=""
        elif [[ $word == -?* ]]; then
            [[ $(_depkit_value "$command" "$word") ]] && option=$word
        elif [[ ! $command ]]; then
            command=$word
        else
            place=$((place + 1))
        fi
    done
    [[ $option && $current == "=" ]] && current=""
    if [[ $previous == *[\<\>] ]]; then
        reply=file
    elif [[ $option ]]; then
        reply=$(_depkit_value "$command" "$option")
    elif [[ $current == -* ]]; then
        reply="words $(_depkit_options "$command")"
    elif [[ $command ]]; then
        reply=$(_depkit_value "$command" "$place")
    else
        reply="words train ensemble distill parse tag eval analyze convert check stats show info"
    fi
    COMPREPLY=()
    case $reply in
        file | directory | model) compopt -o filenames 2> /dev/null ;;
    esac
    case $reply in
        file) _depkit_add -f -- "$current" ;;
        directory) _depkit_add -d -- "$current" ;;
        model) _depkit_add -d -W "en-ewt" -- "$current" ;;
        "words "*) _depkit_add -W "${reply#words }" -- "$current" ;;
    esac
    [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2> /dev/null # KEY=, whose value follows
    return 0
}

complete -F _depkit depkit

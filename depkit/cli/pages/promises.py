"""The sections of depkit(1) about what users can rely on, as paragraphs."""

REPRODUCIBILITY = (
    "On a CPU, depkit parse and depkit tag write the same bytes again if the input files, the"
    " options, the number of threads, the model, the computer, and the versions of depkit and its"
    " libraries are the same.",
    "If any of these changes, a few words can get other annotations. Because of rounding,"
    " the result of a floating-point sum depends on its order, which depends on the batch size, the"
    " processor and the library. If two heads have almost the same score, either can be chosen, and"
    " probabilities can differ in their last digits. Such changes include another --batch-tokens,"
    " another order of the sentences, other files in the same command, and a lack of memory, after"
    " which batches are halved. On a GPU, even the same command can give"
    " slightly different scores.",
    "On a CPU, training gives the same weights again under the same conditions and with the same"
    " seed, also if it was interrupted and resumed; but --max-time ends it after as many updates as"
    " the time allows.",
    "A model that has a NaN or an infinite number among its weights is refused when it is loaded."
    " If the score of a head or of a constituent is NaN or infinite nevertheless, the command"
    " fails. Very small numbers (denormals) are not flushed to zero. On"
    " some processors, a model that has many of them is slow.",
)

SECURITY = (
    "You can read a treebank, a text, an archive, a file of vectors or a model directory from"
    " somebody else. The worst that it can cause is wrong results or a one-line error:",
    "No file is unpickled, and no code in a model directory is run. Weights are read only from"
    " safetensors files, and those of a transformer only from files in its own directory; settings"
    " of a transformer that name code, kernels or files are ignored or refused. An HDF5 file that"
    " refers to other files is refused.",
    "You can call depkit in a directory of somebody else. No module, configuration file or cache in"
    " it is used, neither by depkit nor by the processes that it starts, unless you name it. But"
    " python -m depkit is not safe there, because python -m imports from the current directory."
    " Call the command depkit instead, or python -P -m depkit, and torchrun with --no-python.",
    "Nothing is sent or downloaded, with two exceptions. If you name a model hf:USER/NAME, the"
    " files of a model directory, and no others, are downloaded from the Hugging Face hub. If a"
    " recipe, an option or a model names a transformer that is not a directory, its files are"
    " downloaded from there, unless they are part of the model. Files that have been downloaded"
    " before are not downloaded again. HF_HUB_OFFLINE=1 in the environment forbids both.",
    "With --distribute ray, text and trees are sent between the machines of the Ray cluster. A"
    " cluster that depkit starts accepts only programs that know its authentication token, a random"
    " number."
    " On a cluster of your own, anyone who can connect to it can run programs, unless it also has"
    " an authentication token (RAY_AUTH_MODE).",
    "Messages, and tables and drawings at a terminal, show control characters in an escaped form,"
    " so that a file cannot control the terminal. Output that is redirected to a file or a program"
    " is not changed: the text of the input remains as it was. In CSV, texts that a spreadsheet"
    " would run as formulas begin with an apostrophe.",
    "Memory is limited: a sentence, a tree or a line of text can have at most 16 MiB, also within"
    " an archive (DEPKIT_MAX_SENTENCE changes this limit), and the sizes in a model's configuration"
    " must be those of its weights. The time for reading a file is proportional to its"
    " uncompressed size, which can be a thousand times the size of an archive.",
    "A directory that is written is locked until the command ends, even by a crash, so that two"
    " commands cannot mix their files there. An output file appears only when it is complete."
    " Training refuses a directory that has files which are not of a training by depkit; parsing"
    " into a directory replaces only the files with the names of its output.",
    "What is not promised: that the predictions of a model from somebody else are good, or that a"
    " model does not reveal words of the treebank on which it was trained. The limits do not"
    " protect against errors in libraries that read files, such as those of HDF5; if you must"
    " expect attacks, use a container or another user account. Compiled code is cached in the"
    " directory of the installation, or in the user's cache directory, and is trusted: nobody else"
    " should be able to write there. Directories are not locked on Windows, nor on"
    " file systems without locks.",
    "Please report a file that breaks one of these promises as an issue in the repository of"
    " depkit, with the command, the output of depkit info and, if possible, the file.",
)

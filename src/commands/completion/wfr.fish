# fish completion for wfr. In ~/.config/fish/config.fish:  wfr completion fish | source

# Prints the files (only directories if argument 1 is "folders") whose path begins with argument 2, each prefixed with argument 3.
function __wfr_files
    set -l path (string escape -- $argv[2])
    if string match -q -- '~/*' $argv[2]
        set path '~/'(string escape -- (string sub -s 3 -- $argv[2]))
    end
    for file in (complete -C "'' $path" | string replace -r '\t.*' '')
        if test $argv[1] = files; or string match -q -- '*/' $file
            echo -- $argv[3]$file
        end
    end
end

function __wfr_complete
    set -l before (commandline -opc)
    # Assignments may precede the command.
    while string match -qr '^\w+=' -- "$before[1]"
        set -e before[1]
    end
    set -l token (commandline -ct)
    # It may have an open quotation mark.
    set -l word (string unescape -- $token; or string unescape -- $token'"'; or string unescape -- $token"'")
    for line in (command wfr __complete fish -- $before[2..] "$word" 2>/dev/null)
        set -l fields (string split \t -- $line)
        if test -z "$fields[1]"
            __wfr_files $fields[2] (string sub -s (math 1 + (string length -- $fields[3])) -- "$word") $fields[3]
        else
            echo -- $line
        end
    end
end

complete -c wfr -e
complete -c wfr -k -f -a '(__wfr_complete)'

#compdef wfr
# zsh completion for wfr. In ~/.zshrc, after compinit:  source <(wfr completion zsh)

# Completes files, or folders where $1 says so, behind $2, which is how the word begins once it is unquoted.
_wfr_files() {
  local -i length=0
  local -a from
  while (( length <= $#PREFIX )) && [[ ${(Q)PREFIX[1,length]} != "$2" ]]; do (( length++ )); done
  IPREFIX+=${PREFIX[1,length]}
  PREFIX=${PREFIX[length+1,-1]}
  # It stands for the home folder between quotation marks, too: wfr expands it itself.
  [[ $PREFIX == '~/'* ]] && IPREFIX+='~/' PREFIX=${PREFIX[3,-1]} from=(-W ~)
  if [[ $1 == folders ]]; then _path_files -/ $from; else _files $from; fi
}

_wfr() {
  local line value found=1
  local -a lines whole begun
  lines=("${(@f)$(command wfr __complete zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == $'\t'* ]]; then
      _wfr_files "${${line#?}%%$'\t'*}" "${line##*$'\t'}" && found=0
      continue
    fi
    # To _describe, a colon ends the value, and a backslash makes it an ordinary character.
    line=${line//\\/\\\\}
    value=${${line%%$'\t'*}//:/\\:}
    [[ $line == *$'\t'* ]] && line=$value:${line#*$'\t'} || line=$value
    if [[ $value == *= ]]; then begun+=("$line"); else whole+=("$line"); fi
  done
  (( $#whole )) && _describe -V -t values wfr whole && found=0
  (( $#begun )) && _describe -V -t values wfr begun -S '' && found=0
  return found
}

if [[ $funcstack[1] == _wfr ]]; then
  _wfr "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _wfr wfr
fi

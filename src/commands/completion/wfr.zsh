#compdef wfr
# zsh completion for wfr. In ~/.zshrc, after compinit:  source <(wfr completion zsh)

# Completes files (only directories if $1 is "folders") after $2, the unquoted start of the word.
_wfr_files() {
  local -i length=0
  local -a from
  while (( length <= $#PREFIX )) && [[ ${(Q)PREFIX[1,length]} != "$2" ]]; do (( length++ )); done
  IPREFIX+=${PREFIX[1,length]}
  PREFIX=${PREFIX[length+1,-1]}
  # wfr expands ~/ itself, so it is completed within quotation marks, too.
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
    # _describe ends the value at a colon that is not escaped.
    line=${line//\\/\\\\}
    value=${${line%%$'\t'*}//:/\\:}
    [[ $line == *$'\t'* ]] && line=$value:${line#*$'\t'} || line=$value
    if [[ $value == *[=@] ]]; then begun+=("$line"); else whole+=("$line"); fi
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

# bash completion for wfr, also for bash 3.2 of macOS. In ~/.bashrc:  eval "$(wfr completion bash)"

# Splits the line $1 into words as bash does, without expansion. Sets _wfr_words (the last is the one being typed),
# _wfr_quote (its open quotation mark) and _wfr_kept (its start, up to position $2).
_wfr_split() {
  local line=$1 char word='' open='' i
  _wfr_words=() _wfr_quote='' _wfr_kept=''
  for ((i = 0; i < ${#line}; i++)); do
    ((i == $2)) && _wfr_kept=$word
    char=${line:i:1}
    case $_wfr_quote$char in
      "''" | '""') _wfr_quote='' ;;
      "'"?) word+=$char ;;
      \"\\)
        # In double quotes, a backslash escapes only these characters.
        [[ ${line:i+1:1} == [\\\"\$\`] ]] && ((++i))
        word+=${line:i:1}
        ;;
      \\)
        ((++i))
        word+=${line:i:1} open=1
        ;;
      '"'?) word+=$char ;;
      [\'\"]) _wfr_quote=$char open=1 ;;
      [[:space:]])
        [[ $open ]] && _wfr_words+=("$word")
        word='' open='' _wfr_kept=''
        ;;
      *) word+=$char open=1 ;;
    esac
  done
  ((i == $2)) && _wfr_kept=$word
  _wfr_words+=("$word")
}

# Adds the files whose path begins with $2 (only directories if $1 is "folders") to _wfr_found, prefixed with $3.
_wfr_files() {
  local file kind=-f
  [[ $1 == folders ]] && kind=-d
  while IFS= read -r file; do
    [[ -d ${file/#\~\//$HOME/} ]] && file+=/
    _wfr_found+=("$3$file")
  done < <(compgen "$kind" -- "$2" | sort)
}

# Sets _wfr_reply to a candidate, escaped for the open quotation mark.
_wfr_quoted() {
  local value=$1 tilde=''
  case $_wfr_quote in
    "'") value=${value//\'/"'\''"} ;;
    '"')
      value=${value//\\/\\\\} value=${value//\"/\\\"}
      value=${value//\$/\\\$} value=${value//\`/\\\`}
      ;;
    *)
      [[ $value == \~/* ]] && tilde=\~/ value=${value#\~/}
      [[ $value ]] && printf -v value %q "$value"
      ;;
  esac
  _wfr_reply=$tilde$value
}

_wfr() {
  local _wfr_quote _wfr_kept _wfr_reply line word value
  local -a _wfr_words _wfr_found=()
  line=${COMP_LINE:0:COMP_POINT}
  # Readline replaces only $2, which begins after a quotation mark or a character of COMP_WORDBREAKS.
  _wfr_split "$line" "$((${#line} - ${#2}))"
  word=${_wfr_words[${#_wfr_words[@]} - 1]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      $'\t'*)
        line=${line#$'\t'} value=${line#*$'\t'}
        compopt -o filenames -o noquote 2>/dev/null
        _wfr_files "${line%%$'\t'*}" "${word:${#value}}" "$value"
        ;;
      *) _wfr_found+=("$line") ;;
    esac
  done < <(command wfr __complete bash -- "${_wfr_words[@]:1}" 2>/dev/null)
  for value in "${_wfr_found[@]}"; do
    # Readline itself marks the folders in a list.
    [[ ${#_wfr_found[@]} -gt 1 && -d ${value:${#_wfr_kept}} ]] && value=${value%/}
    _wfr_quoted "${value:${#_wfr_kept}}"
    COMPREPLY+=("$_wfr_reply")
  done
  compopt -o nosort 2>/dev/null
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/@] ]]; then
    compopt -o nospace 2>/dev/null
    # With a second candidate, readline does not close the quotation mark.
    [[ $_wfr_quote ]] && COMPREPLY+=("${COMPREPLY[0]}.")
  fi
}

complete -F _wfr wfr

# bash completion for wfr. In ~/.bashrc:  source <(wfr completion bash)

# Takes a line apart as bash would, but expands nothing: _wfr_words, of which the last is the one being written,
# _wfr_quote, the quotation mark that is open in it, and _wfr_kept, as much of it as stands before the position $2.
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
        # Between these, the backslash stands for itself before anything else.
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

# Adds the files whose path begins with $2, or only the folders where $1 says so, to _wfr_found, behind $3.
_wfr_files() {
  local path=$2 file
  [[ $path == \~/* ]] && path=$HOME/${path#\~/}
  while IFS= read -r -d '' file; do
    [[ $1 == folders && ! -d $file ]] && continue
    [[ -d $file ]] && file+=/
    _wfr_found+=("$3$2${file:${#path}}")
  done < <(
    set +f
    shopt -u failglob nocaseglob dotglob
    shopt -s nullglob
    GLOBIGNORE=
    for file in "$path"*; do printf '%s\0' "$file"; done
  )
}

# One of the candidates, as it is to stand between the quotation marks that are open.
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
  # Readline replaces $2: what a quotation mark or a character of COMP_WORDBREAKS stands before stays as it is.
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
    _wfr_quoted "${value:${#_wfr_kept}}"
    COMPREPLY+=("$_wfr_reply")
  done
  compopt -o nosort 2>/dev/null
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]]; then
    compopt -o nospace 2>/dev/null
    # A second candidate keeps readline from closing the quotation mark.
    [[ $_wfr_quote ]] && COMPREPLY+=("${COMPREPLY[0]}.")
  fi
}

complete -F _wfr wfr

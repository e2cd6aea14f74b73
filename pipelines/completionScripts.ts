/**
 * Completion scripts of the shells. Each hands the words so far to the hidden `millrace complete` and offers its lines; a candidate that ends with
 * `=`, `.` or `/` is not finished, and no space follows it.
 */

/** bash takes `=` and `:` for ends of words: the line is split at spaces instead, and what stands before the last such end is cut off. */
const bash = `_millrace() {
  local line="\${COMP_LINE:0:COMP_POINT}" word current candidate
  local -a words
  read -r -a words <<< "$line"
  [[ "$line" == *" " ]] && words+=("")
  word="\${words[-1]}"
  current="\${word##*[=:]}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ -n "$candidate" ]] && COMPREPLY+=("\${candidate#"\${word%"$current"}"}")
  done < <(millrace complete "\${words[@]:1}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -ge 1 && "\${COMPREPLY[0]}" == *[=./] ]] && compopt -o nospace
}
complete -o bashdefault -o default -F _millrace millrace`;

const zsh = `#compdef millrace
_millrace() {
  local -a found open closed
  found=("\${(@f)$(millrace complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  open=(\${(M)found:#*[=./]})
  closed=(\${found:#*[=./]})
  (( \${#open} )) && compadd -Q -S '' -- $open
  (( \${#closed} )) && compadd -Q -- $closed
  (( \${#open} + \${#closed} )) || _files
}
compdef _millrace millrace`;

const fish = `function __millrace_complete
    set -l words (commandline -opc) (commandline -ct)
    millrace complete $words[2..] 2>/dev/null
end
complete -c millrace -f -a '(__millrace_complete)'
complete -c millrace -n 'test -z "$(__millrace_complete)"' -F`;

export const completionScripts = { bash, zsh, fish } as const;

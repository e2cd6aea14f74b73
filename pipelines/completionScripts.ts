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

/**
 * zsh hands words over as they are typed, quotes included, and quotes a candidate where it needs it: `[` begins a pattern there. The script is for
 * `source`, also before compinit, and for a file `_millrace` on the fpath, which zsh runs as the function itself.
 */
const zsh = `#compdef millrace
_millrace() {
  local -a found open closed
  found=("\${(@f)$(millrace complete "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  open=(\${(M)found:#*[=./]})
  closed=(\${found:#*[=./]})
  (( \${#open} )) && compadd -S '' -- $open
  (( \${#closed} )) && compadd -- $closed
  (( \${#open} + \${#closed} )) || _files
}
if [[ "\${funcstack[1]}" == _millrace ]]; then
  _millrace "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit; compinit -i }
  compdef _millrace millrace
fi`;

/** fish gives the word at the cursor with the quote that opens it, and puts no space behind a candidate that is not finished by itself. */
const fish = `function __millrace_complete
    set -l word (commandline -ct | string replace -r '^["\\']' '')
    set -l words (commandline -opc)
    set -l found (millrace complete $words[2..] "$word" 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c millrace -f -a '(__millrace_complete)'`;

export const completionScripts = { bash, zsh, fish } as const;

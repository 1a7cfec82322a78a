#!/bin/bash
# A guestbook as a CGI program; README.md has the rules that all languages share. A form value is
# kept as hex digits from the first byte to the database, where it is bound as a blob literal: no
# quote, NUL or newline of a visitor is ever seen by the shell or by SQL.
set -u
LC_ALL=C
body_max=16384
database=${GUESTBOOK_DB:-/var/lib/guestbook/guestbook.db}

# Statements that print nothing; what follows them may print.
schema='.output /dev/null
.timeout 5000
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);
CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);
CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);
.output'

refuse() {  # STATUS [HEADER]
  printf 'Status: %s\r\n%sContent-Type: text/plain; charset=utf-8\r\n\r\n%s\n' \
    "$1" "${2:+$2$'\r\n'}" "$1"
  exit 0
}

sql() {  # STATEMENTS: runs them on the guestbook
  # For a new database. This fails if two requests create it at once; then the other one has switched it.
  [[ -s $database ]] ||
    sqlite3 -batch -init /dev/null "$database" 'PRAGMA journal_mode = WAL' >/dev/null 2>&1
  sqlite3 -batch -bail -init /dev/null "$database" <<<"$schema"$'\n'"$1"
}

escape_in_sql() {  # COLUMN: puts the SQL that escapes it for HTML into $escaped
  escaped="replace(replace(replace(replace(replace($1, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'),"
  escaped+=" '\"', '&quot;'), '''', '&#39;')"
}

list_entries() {
  local entries escaped who when what
  escape_in_sql name; who=$escaped
  escape_in_sql created; when=$escaped
  escape_in_sql message; what=$escaped
  entries=$(sql "SELECT '<li value=\"' || id || '\"><b>' || $who || '</b> <time>' ||
    $when || '</time><p>' || $what || '</p></li>'
    FROM entries ORDER BY id DESC LIMIT 100;") || refuse '500 Internal Server Error'
  printf 'Content-Type: text/html; charset=utf-8\r\n\r\n'
  [[ $REQUEST_METHOD == HEAD ]] && return
  printf '%s' '<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
' "${entries:+$entries$'\n'}" '</ol>
</body>
</html>
'
}

# The field names in hex, and the values found for them.
declare -A values=([6E616D65]='' [6D657373616765]='')
readonly name=6E616D65 message=6D657373616765

keep_pair() {  # what read_form has gathered; the first pair of a name counts
  [[ -n $equals ]] || { key=$part part=''; }
  [[ -n $key && -n ${values[$key]+known} && -z ${seen[$key]:-} ]] || return
  values[$key]=$part
  seen[$key]=yes
}

read_form() {  # the body's bytes as separate pairs of hex digits
  local -a bytes=("$@")
  local -A seen=()
  local -u byte part='' key='' equals=''
  local i digits high low hex_digit='^(3[0-9]|[46][1-6])$'
  for ((i = 0; i < ${#bytes[@]}; i++)); do
    byte=${bytes[i]}
    case $byte in
      26 | 3B)  # & and ;
        keep_pair
        part='' key='' equals=''
        continue ;;
      3D)  # =
        if [[ -z $equals ]]; then
          key=$part equals=yes part=''
          continue
        fi ;;
      2B) byte=20 ;;  # + is a space
      25)  # %: two hex digits follow, or it stands for itself
        high=${bytes[i + 1]:-} low=${bytes[i + 2]:-}
        if [[ $high =~ $hex_digit && $low =~ $hex_digit ]]; then
          printf -v digits "\x$high\x$low"
          byte=$digits
          ((i += 2))
        fi ;;
    esac
    part+=$byte
  done
  keep_pair
}

check_field() {  # HEX BYTES_MAX: text in UTF-8 (Unicode 15, table 3-7), no control characters
  local t='[89AB][0-9A-F]'
  local text="^(09|0A|0D|[2-6][0-9A-F]|7[0-9A-E]|(C[2-9A-F]|D[0-9A-F])$t|E0[AB][0-9A-F]$t"
  text+="|(E[1-9ABCEF])$t$t|ED[89][0-9A-F]$t|F0[9AB][0-9A-F]$t$t|F[123]$t$t$t|F48[0-9A-F]$t$t)+\$"
  ((${#1} <= 2 * $2)) && [[ $1 =~ $text ]] || refuse '400 Bad Request'
}

add_entry() {
  local form='^application/x-www-form-urlencoded([; ]|$)' length=${CONTENT_LENGTH:-}
  local -a bytes
  [[ ${CONTENT_TYPE:-} =~ $form && $length =~ ^[0-9]{1,9}$ ]] && ((10#$length <= body_max)) ||
    refuse '400 Bad Request'
  # shellcheck disable=SC2207
  bytes=($(od -An -v -tx1 -N "$((10#$length))"))
  ((${#bytes[@]} == 10#$length)) || refuse '400 Bad Request'
  read_form ${bytes[@]+"${bytes[@]}"}
  check_field "${values[$name]}" 100
  check_field "${values[$message]}" 2000
  sql ".parameter set @name x'${values[$name]}'
.parameter set @message x'${values[$message]}'
INSERT INTO entries (name, message) VALUES (CAST(@name AS TEXT), CAST(@message AS TEXT));" ||
    refuse '500 Internal Server Error'
  printf 'Status: 303 See Other\r\nLocation: %s\r\n\r\n' "${SCRIPT_NAME:-}"
}

case ${REQUEST_METHOD:-} in
  GET | HEAD) list_entries ;;
  POST) add_entry ;;
  *) refuse '405 Method Not Allowed' 'Allow: GET, HEAD, POST' ;;
esac
